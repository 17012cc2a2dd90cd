"""At the free optimum it is the noise that collapses, not the covariance (theory 7.3, 7.4, 13.9)."""

import math
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from scipy.optimize import OptimizeResult, minimize_scalar

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.claims._shared_cell import shared_cell
from corners.exact import FreeBounds, FreeOptimum, Start, find_free_optimum, shared_free_gradient

STARTS = 8
JITTER = 1e-4
STARVED = 0.99
"""Share of the noise in the variances from which a covariance counts as starved (theory 7.3)."""
WIDEST_DENSE = 4
"""A dense factor of more units takes longer than a claim may."""


@CLAIMS.register("variance_starvation")
@dataclass(frozen=True)
class VarianceStarvation(Claim):
    """The free optimum with a trained noise and a fixed prior precision, on targets of one noise level.

    The optimum over ``(μ, Σ, σ²)``, its value computed again by scipy's densities, is compared with the starved belief:
    ``Σ = εI`` with the mean and the noise that are best for it, found without :mod:`corners.exact`. With up to four
    units a dense covariance is looked at beside the diagonal one.
    """

    name: ClassVar[str] = "variance_starvation"
    statement: ClassVar[str] = (
        "With a trained noise the covariance starves: Σ goes to zero while σ² absorbs the variance."
    )
    formula: ClassVar[str] = "claimed: mean of σ²/Vₙ → 1 at the free optimum; found: → 0, σ² at its bound"
    claimed_in: ClassVar[str] = "paper v1 and v2, variance starvation; theory 7.3, 7.4, 13.9"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "VarianceStarvation":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Thirty rows of three tanh features with noise of one level."""
        return drawn_problem("30 rows, 3 tanh features, one noise level", rows=30, width=3, seed=0)

    def check(self, problem: Problem) -> Finding:
        """Share of the noise at the optimum, how far it lies below the starved belief, and the flat tail of ``σ²``."""
        families = ("diagonal", "dense") if problem.width <= WIDEST_DENSE else ("diagonal",)
        lowest = FreeBounds.of(problem.targets).log_noise_var[0]
        starved, starved_scale = _starved(problem)
        margins, said = [], []
        for family in families:
            found = _optimum(problem, family)
            share = float((found.noise_scale**2 / found.variances).mean())
            log_noise = 2.0 * math.log(found.noise_scale)
            margins += [
                at_most(f"{family}: share of the noise in the variances", share, STARVED),
                at_least(f"{family}: optimum below the starved belief", starved - found.value, 0.1, "nats"),
                at_most(f"{family}: difference from scipy's densities, relative", _miss(problem, found), 1e-8),
                at_most(f"{family}: slope in log σ² there, per row", abs(_slope(problem, found)), 1e-3, "nats"),
            ]
            said.append(
                f"{family} {starved - found.value:.2f} nats below, log σ² = {log_noise:.1f} and a share of "
                f"{share:.1e} of the variances"
            )
        sentence = (
            f"starved (Σ = εI, σ = {starved_scale:.3f}) F is {starved:.2f} nats; free optimum: "
            f"{'; '.join(said)} (bound of log σ²: {lowest:g}, starved from a share of {STARVED})"
        )
        return fails_if(tuple(margins), sentence)


def _optimum(problem: Problem, family: str) -> FreeOptimum:
    """Best of several starts; the dense family, slower, descends once from the noise that drew the targets."""
    return find_free_optimum(
        problem.features,
        problem.targets,
        problem.generator(),
        family=family,
        prior_precision=problem.prior_precision,
        jitter=JITTER,
        starts=STARTS if family == "diagonal" else Start(problem.prior_precision, problem.noise_scale),
    )


def _starved(problem: Problem) -> tuple[float, float]:
    """The least ``F`` with ``Σ = εI`` over mean and noise, and its noise scale; no formula of :mod:`corners.exact`."""
    features, targets, width = problem.features, problem.targets, problem.width
    covariance, overlap = JITTER * np.eye(width), JITTER + 1.0 / problem.prior_precision

    def objective(log_noise: float) -> float:
        weights = 1.0 / (math.exp(log_noise) + JITTER * (features**2).sum(axis=1))
        system = np.eye(width) / overlap + (features.T * weights) @ features
        mean = np.linalg.solve(system, features.T @ (weights * targets))
        return shared_cell(features, targets, mean, covariance, problem.prior_precision, math.exp(log_noise)).total

    low, high = FreeBounds.of(targets).log_noise_var
    grid = np.linspace(low, high, 81)
    start = float(grid[int(np.argmin([objective(float(place)) for place in grid]))])
    around = max(start - 0.3, low), min(start + 0.3, high)
    found = cast(OptimizeResult, minimize_scalar(objective, bounds=around, method="bounded"))
    return float(found.fun), math.exp(0.5 * float(found.x))


def _miss(problem: Problem, found: FreeOptimum) -> float:
    """How far scipy's densities are from the value that was found, relative."""
    dense = shared_cell(
        problem.features,
        problem.targets,
        found.mean,
        found.covariance.matrix(problem.width),
        found.prior_precision,
        found.noise_scale**2,
    )
    return relative_difference(found.value, dense.total)


def _slope(problem: Problem, found: FreeOptimum) -> float:
    """``∂F/∂ log σ²`` per row: the tail is flat whatever the data."""
    gradient = shared_free_gradient(
        problem.features, problem.targets, found.mean, found.covariance, found.prior_precision, found.noise_scale
    )
    return gradient.log_noise_var / problem.rows
