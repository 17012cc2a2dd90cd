"""When the gap between free cell and exact corner is the residual heteroscedasticity: four conditions (theory 3.9)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize

from corners.claims import CLAIMS
from corners.claims._base import CONDITIONAL, Claim, Condition, Finding, at_least, at_most, conditional_if
from corners.claims._problems import Problem
from corners.exact import (
    Evidence,
    FactorCovariance,
    corner_deficit,
    gaussian_plates,
    population_decomposition,
    prior_overlap,
)
from corners.types import Array

WEIGHTS = np.array([0.5, -1.0])
"""The true mean is ``ψᵀw`` with ``ψ = (1, x)``, ``x ~ U(-1, 1)``."""
ROWS = 6
DRAWS = 100_000


class Pair(NamedTuple):
    """A corner and a free cell on the grid: the true variances, theirs, and how far the corner's mean is off."""

    truth: Array
    corner: Array
    free: Array
    offset: Array


@CLAIMS.register("heteroscedasticity_gap")
@dataclass(frozen=True)
class HeteroscedasticityGap(Claim):
    """The gap between free cell and exact corner is the residual heteroscedasticity, under four conditions.

    Expected nats over a population whose variance is known: the gap equals ``T = ½[log E s² - E log s²]`` where all
    four are met, and each one dropped alone moves it. Every gap is found again by simulated targets.
    """

    name: ClassVar[str] = "heteroscedasticity_gap"
    statement: ClassVar[str] = (
        "The gap between the free cell and the exact corner is exactly the residual heteroscedasticity."
    )
    formula: ClassVar[str] = "E ℓ_corner - E ℓ_free = ½[log E s² - E log s²], s²(x) = E[(y-m)²|x]"
    claimed_in: ClassVar[str] = "paper, proposition 4; theory 3.9, 13.10"
    expected: ClassVar[str] = CONDITIONAL
    takes_data: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "HeteroscedasticityGap":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Six rows (1, x) under ``s² = 0.1 + (0.5 + 0.8x)²``, the noise at its mean: what a corner would see."""
        generator = np.random.default_rng(6)
        features = _rows(generator.uniform(-1.0, 1.0, ROWS))
        noise = np.sqrt(_inside(features)) * generator.standard_normal(ROWS)
        grid, shares = _population()
        scale = float(np.sqrt(shares @ _inside(grid)))
        return Problem("6 rows (1, x), variance in the family", features, features @ WEIGHTS + noise, 5.0, scale, 6)

    def check(self, problem: Problem) -> Finding:
        """The gap with all conditions met, then with one after the other dropped."""
        grid, shares = _population()
        pairs = _pairs(problem, grid, shares)
        totals = {name: 0.5 * float(np.log(shares @ p.truth) - shares @ np.log(p.truth)) for name, p in pairs.items()}
        gaps = {name: _gap(pair, shares) for name, pair in pairs.items()}
        misses = {name: gaps[name] - totals[name] for name in pairs}
        errors = max(_standard_errors(pair, shares, gaps[name], problem) for name, pair in pairs.items())
        bounds = {"another mean": 0.02, "s² outside of the family": 0.01, "leverage": 0.001, "noise twice c*": 0.05}
        bounds["the prior term"] = 0.01
        margins = (
            at_most("all four met: |gap - T|", abs(misses["all"]), 1e-7, "nats"),
            at_least("all four met: T", totals["all"], 0.1, "nats"),
            *(at_least(f"dropped, {name}: |gap - T|", abs(misses[name]), b, "nats") for name, b in bounds.items()),
            at_most(f"worst of {len(pairs)} gaps against {DRAWS} simulated targets", errors, 4.5, "standard errors"),
        )
        largest = float(_evidence(problem).leverage(problem.prior_precision, problem.noise_scale).max())
        condition = Condition(
            "one mean for both, a family that contains s²(x), leverage h ≈ 0 with σ² = E s², and no prior term in the "
            "free objective",
            at_most("largest leverage of the corner", largest, 0.01),
        )
        moved = ", ".join(f"{name} {misses[name]:+.3f}" for name in bounds)
        sentence = (
            f"with all four met the gap is T = {totals['all']:.4f} nats a plate to {abs(misses['all']):.0e}; dropping "
            f"one moves it from T by (nats): {moved}"
        )
        return conditional_if(margins, sentence, condition)


def _rows(x: Array) -> Array:
    return np.column_stack([np.ones_like(x), x])


def _inside(features: Array) -> Array:
    """``σ² + ψᵀΣψ`` for a singular ``Σ``: within the dense family."""
    return 0.1 + (0.5 * features[:, 0] + 0.8 * features[:, 1]) ** 2


def _population() -> tuple[Array, Array]:
    """Gauss-Legendre nodes of ``U(-1, 1)`` as rows, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(48)
    return _rows(nodes), weights / weights.sum()


def _evidence(problem: Problem) -> Evidence:
    return Evidence(problem.features, problem.targets)


def _pairs(problem: Problem, grid: Array, shares: Array) -> dict[str, Pair]:
    """Corner and free cell with all conditions met, and with each one dropped alone."""
    inside, outside, none = _inside(grid), np.exp(2.5 * grid[:, 1]), np.zeros(len(grid))
    best = population_decomposition(grid, inside, problem.generator(), weights=shares, starts=4)
    other = population_decomposition(grid, outside, problem.generator(), weights=shares, starts=4)
    constant = np.full(len(grid), best.best_constant)
    posterior = _evidence(problem).posterior(problem.prior_precision, problem.noise_scale)
    leverage = np.einsum("nh,hk,nk->n", grid, posterior.covariance, grid) / problem.noise_var
    free = best.fit.variances
    penalised = _with_prior_term(problem, grid, shares, inside)
    return {
        "all": Pair(inside, constant, free, none),
        "another mean": Pair(inside, constant, free, grid @ (posterior.mean - WEIGHTS)),
        "s² outside of the family": Pair(outside, np.full(len(grid), other.best_constant), other.fit.variances, none),
        "leverage": Pair(inside, constant * (1.0 + leverage), free, none),
        "noise twice c*": Pair(inside, 2.0 * constant, free, none),
        "the prior term": Pair(inside, constant, penalised, none),
    }


def _gap(pair: Pair, shares: Array) -> float:
    """``½E[IS(s², V_corner) - IS(s², V_free)] + ½E[δ²/V_corner]``: what the corner pays, nats a plate."""
    deficit = corner_deficit(pair.truth, pair.corner, pair.free, weights=shares)
    return deficit + 0.5 * float(shares @ (pair.offset**2 / pair.corner))


def _with_prior_term(problem: Problem, grid: Array, shares: Array, truth: Array) -> Array:
    """The variance function that minimises ``-log Z_w + N E ℓ`` at the true mean, ``N`` rows."""

    def parts(roots: Array) -> tuple[FactorCovariance, Array]:
        covariance = FactorCovariance(np.array([[roots[1], 0.0], [roots[2], roots[3]]]))
        return covariance, roots[0] ** 2 + 1e-12 + covariance.variances(grid)

    def objective(roots: Array) -> float:
        covariance, variances = parts(roots)
        data = 0.5 * float(shares @ (np.log(2.0 * np.pi * variances) + truth / variances))
        return prior_overlap(WEIGHTS, covariance, problem.prior_precision).value + problem.rows * data

    starts = (np.array([0.3, 0.5, 0.8, 0.1]), np.array([0.6, 0.1, 0.1, 0.3]), np.array([0.1, 0.8, 0.1, 0.8]))
    found = min((minimize(objective, start, method="L-BFGS-B") for start in starts), key=lambda each: each.fun)
    return parts(found.x)[1]


def _standard_errors(pair: Pair, shares: Array, gap: float, problem: Problem) -> float:
    """How far the mean difference of the two data terms on simulated targets is from the gap."""
    generator = problem.generator()
    at = generator.choice(len(shares), size=DRAWS, p=shares)
    residuals = np.sqrt(pair.truth[at]) * generator.standard_normal(DRAWS)
    corner = gaussian_plates(residuals, pair.offset[at], pair.corner[at] - 1e-9, np.sqrt(1e-9)).value
    free = gaussian_plates(residuals, np.zeros(DRAWS), pair.free[at] - 1e-9, np.sqrt(1e-9)).value
    difference = corner - free
    return float(abs(difference.mean() - gap) / (difference.std(ddof=1) / np.sqrt(DRAWS)))
