"""With a trained prior precision every shared cell falls without bound (theory 7.1.1-3, 13.6)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import norm

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.claims._shared_cell import end_slope, point_profile, shared_cell
from corners.exact import Evidence, LowRankCovariance, shared_closed_terms, shared_free_terms
from corners.types import Array, Float

DECADES = (6.0, 8.0)
"""How far ``α`` is taken above ``s²_max/σ²``, in powers of ten."""


@CLAIMS.register("shared_cells_are_bounded")
@dataclass(frozen=True)
class SharedCellsAreBounded(Claim):
    """Point belief, dense belief without jitter and shared closed cell fall with ``log α``; the evidence does not.

    The slopes are measured between two prior precisions far above ``s²_max/σ²``, and the values there are computed a
    second time from scipy's densities; for ``Σ = μμᵀ`` the overlap is written out by Sherman and Morrison.
    """

    name: ClassVar[str] = "shared_cells_are_bounded"
    statement: ClassVar[str] = "With a trained prior precision the objective of the shared cavity has a minimum."
    formula: ClassVar[str] = "F ~ -(H/2) log α (None; shared closed), F ~ -((H-1)/2) log α (Σ = μμᵀ, any μ) as α → ∞"
    claimed_in: ClassVar[str] = "paper v1, empirical Bayes in one pass; theory 7.1.1-3, 13.6"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "SharedCellsAreBounded":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty informative rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=3)

    def check(self, problem: Problem) -> Finding:
        """Slopes of three cells, and of the evidence, at the noise of the problem."""
        width = problem.width
        top = float(np.linalg.norm(problem.features, 2)) ** 2 / problem.noise_var
        precisions = top * 10.0 ** np.array(DECADES)
        log_precisions = np.log(precisions)
        expected = {"none": -0.5 * width, "shared closed": -0.5 * width}
        if width > 1:  # with one weight μμᵀ is the whole covariance, and this witness says nothing
            expected["dense, Σ = μμᵀ"] = -0.5 * (width - 1)
        values = {name: np.array([_value(problem, name, alpha) for alpha in precisions]) for name in expected}
        slopes = {name: end_slope(log_precisions, column) for name, column in values.items()}
        oracle = max(
            relative_difference(column[-1], _dense_value(problem, name, precisions[-1]))
            for name, column in values.items()
        )
        evidence = [
            -Evidence(problem.features, problem.targets).log_evidence(a, problem.noise_scale) for a in precisions
        ]
        null = -float(norm.logpdf(problem.targets, 0.0, problem.noise_scale).sum())
        margins = (
            *(
                at_most(f"{name}: slope in log α from {expected[name]:g}", abs(slope - expected[name]), 1e-3)
                for name, slope in slopes.items()
            ),
            at_most("largest difference from scipy's densities, relative", oracle, 1e-9),
            at_most("-log Z from its limit, the null model", abs(evidence[-1] - null), 1e-2, "nats"),
            at_least("fall of the slowest cell over the last two decades", _slowest(values), 1.0, "nats"),
        )
        said = ", ".join(f"{name} {slope:.3f}" for name, slope in slopes.items())
        sentence = (
            f"slopes in log α at α = {precisions[-1]:.0e}: {said}; -log Z has settled at {evidence[-1]:.2f} nats, the "
            "null model's, so no shared cell has a minimum and the evidence is bounded"
        )
        return fails_if(margins, sentence)


def _slowest(values: dict[str, Float[Array, " A"]]) -> float:
    return min(float(column[0] - column[-1]) for column in values.values())


def _mean(problem: Problem) -> Float[Array, " H"]:
    """Any mean would do; this one predicts as the posterior does."""
    cell = Evidence(problem.features, problem.targets)
    mean = cell.posterior(problem.prior_precision, problem.noise_scale).mean
    return mean if mean.any() else np.ones(problem.width)


def _value(problem: Problem, cell: str, prior_precision: float) -> float:
    """``F`` of a cell by :mod:`corners.exact`."""
    data = problem.features, problem.targets
    if cell == "dense, Σ = μμᵀ":
        mean = _mean(problem)
        covariance = LowRankCovariance(np.zeros(problem.width), mean[:, None])
        return shared_free_terms(*data, mean, covariance, prior_precision, problem.noise_scale).total
    family = "none" if cell == "none" else "dense"
    return shared_closed_terms(*data, prior_precision, problem.noise_scale, family=family).total


def _dense_value(problem: Problem, cell: str, prior_precision: float) -> float:
    """The same from scipy's densities and dense solves."""
    features, targets, noise_var = problem.features, problem.targets, problem.noise_var
    if cell == "none":
        return float(point_profile(features, targets, np.array([prior_precision]), noise_var)[0])
    if cell == "shared closed":
        covariance = np.linalg.inv(prior_precision * np.eye(problem.width) + features.T @ features / noise_var)
        mean = covariance @ features.T @ targets / noise_var
        return shared_cell(features, targets, mean, covariance, prior_precision, noise_var).total
    mean = _mean(problem)
    fitted = features @ mean
    reach = prior_precision * float(mean @ mean)
    overlap = 0.5 * (problem.width * np.log(2.0 * np.pi / prior_precision) + np.log1p(reach) + reach / (1.0 + reach))
    return float(overlap - norm.logpdf(targets, fitted, np.sqrt(noise_var + fitted**2)).sum())
