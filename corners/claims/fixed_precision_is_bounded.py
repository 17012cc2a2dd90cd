"""Holding the prior precision does not bound the free cells: a trained noise takes them down (theory 7.1.4)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import qr
from scipy.stats import norm

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_most, fails_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.claims._shared_cell import end_slope, shared_cell
from corners.exact import (
    Covariance,
    DiagonalCovariance,
    FactorCovariance,
    LowRankCovariance,
    NoCovariance,
    shared_free_terms,
)
from corners.types import Array, Float, Int

SHARES = np.array([1e-8, 1e-12])
"""Noise variances of the witnesses, in units of the targets' mean square."""


@CLAIMS.register("fixed_precision_is_bounded")
@dataclass(frozen=True)
class FixedPrecisionIsBounded(Claim):
    """Two witnesses at a fixed prior precision, followed as ``σ² → 0``.

    As many rows as units are interpolated by all three families, whose scales shrink with the noise. With more rows
    than units a dense belief without jitter interpolates ``H - 1`` of them and gives ``Σ`` the direction that is
    orthogonal to these: the others keep a finite variance. The values are computed a second time by scipy.
    """

    name: ClassVar[str] = "fixed_precision_is_bounded"
    statement: ClassVar[str] = (
        "With the prior precision held fixed and the noise trained, the free objective has a minimum."
    )
    formula: ClassVar[str] = (
        "F ~ (N/2) log σ² where H ≥ N; F ~ ((H-1)/2) log σ² where 2 ≤ H < N (dense, ε = 0), as σ² → 0"
    )
    claimed_in: ClassVar[str] = "paper v1 and v2, training of σ² beside a fixed α; theory 7.1.4"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "FixedPrecisionIsBounded":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Forty rows of five tanh features."""
        return drawn_problem("40 rows, 5 tanh features", rows=40, width=5, seed=4)

    def check(self, problem: Problem) -> Finding:
        """Slopes in ``log σ²`` of both witnesses."""
        order = _independent_rows(problem.features)
        rank = int(np.linalg.matrix_rank(problem.features))
        noise_vars = SHARES * max(float((problem.targets**2).mean()), 1.0)
        slopes, expected, oracle = {}, {}, 0.0
        for family in ("none", "diagonal", "dense"):
            name = f"{family}, {rank} rows alone"
            values, dense = zip(
                *(_interpolating(problem, order[:rank], family, each) for each in noise_vars), strict=True
            )
            slopes[name], expected[name] = end_slope(np.log(noise_vars), values), 0.5 * rank
            oracle = max(oracle, relative_difference(values[-1], dense[-1]))
        if 2 <= rank < problem.rows:
            name = f"dense, all {problem.rows} rows"
            values, dense = zip(*(_one_direction(problem, order[: rank - 1], each) for each in noise_vars), strict=True)
            slopes[name], expected[name] = end_slope(np.log(noise_vars), values), 0.5 * (rank - 1)
            oracle = max(oracle, relative_difference(values[-1], dense[-1]))
        margins = (
            *(
                at_most(f"{name}: slope in log σ² from {expected[name]:g}", abs(slope - expected[name]), 1e-2)
                for name, slope in slopes.items()
            ),
            at_most("largest difference from scipy's densities, relative", oracle, 1e-8),
        )
        said = ", ".join(f"{slope:.3f} ({name})" for name, slope in slopes.items())
        sentence = (
            f"α = {problem.prior_precision:g} is held, and as σ² falls to {noise_vars[-1]:.0e} F follows it with "
            f"slopes in log σ² of {said}: a positive one leads down for ever"
        )
        return fails_if(margins, sentence)


def _independent_rows(features: Float[Array, "N H"]) -> Int[Array, " N"]:
    """Rows in the order of pivoted QR: the first ones are as far from dependent as can be."""
    return np.asarray(qr(features.T, mode="r", pivoting=True)[-1])


def _interpolating(problem: Problem, rows: Int[Array, " R"], family: str, noise_var: float) -> tuple[float, float]:
    """``F`` on rows that the mean fits exactly, scales in proportion to the noise; by corners and by scipy."""
    features, targets = problem.features[rows], problem.targets[rows]
    mean = np.linalg.lstsq(features, targets, rcond=None)[0]
    lower = np.tril(problem.generator().normal(size=(problem.width, problem.width)))
    covariances: dict[str, Covariance] = {
        "none": NoCovariance(),
        "diagonal": DiagonalCovariance(np.full(problem.width, noise_var)),
        "dense": FactorCovariance(noise_var**0.5 * lower),
    }
    covariance = covariances[family]
    value = shared_free_terms(features, targets, mean, covariance, problem.prior_precision, noise_var**0.5).total
    matrix = covariance.matrix(problem.width)
    return value, shared_cell(features, targets, mean, matrix, problem.prior_precision, noise_var).total


def _one_direction(problem: Problem, rows: Int[Array, " R"], noise_var: float) -> tuple[float, float]:
    """``F`` on all rows: these are fitted exactly, ``Σ = c uuᵀ`` with ``u`` orthogonal to them; here and by scipy.

    ``c`` gives every other row a variance of at least the targets' mean square. The mean of least norm is orthogonal
    to ``u`` too, so its overlap is that of one stretched axis: ``½[H log 2π/α + log(1 + αc) + α‖μ‖²]``.
    """
    features, targets, alpha = problem.features, problem.targets, problem.prior_precision
    mean = np.linalg.lstsq(features[rows], targets[rows], rcond=None)[0]
    direction = np.linalg.svd(features[rows])[2][-1]
    residual, spread = targets - features @ mean, (features @ direction) ** 2
    residual[rows], spread[rows] = 0.0, 0.0
    others = np.delete(spread, rows)
    stretch = max(float((targets**2).mean()), 1.0) / max(float(others.min()), 1e-12 * float(others.max()))
    covariance = LowRankCovariance(np.zeros(problem.width), stretch**0.5 * direction[:, None])
    value = shared_free_terms(features, targets, mean, covariance, alpha, noise_var**0.5).total
    determinant = problem.width * np.log(2.0 * np.pi / alpha) + np.log1p(alpha * stretch)
    dense = 0.5 * (determinant + alpha * float(mean @ mean))
    return value, dense - float(norm.logpdf(residual, 0.0, np.sqrt(noise_var + stretch * spread)).sum())
