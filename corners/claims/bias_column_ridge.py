"""With a bias column the noise and the variance of the bias trade exactly (theory 7.3)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import HOLDS, Claim, Finding, at_least, at_most, holds_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.claims._shared_cell import shared_cell
from corners.exact import DiagonalCovariance, attribution_information, shared_free_terms
from corners.types import Array, Float

SHARES = (0.25, 0.5, 0.99)
"""How much of the noise variance is handed to the bias."""
ROUNDING = 1e-10


@CLAIMS.register("bias_column_ridge")
@dataclass(frozen=True)
class BiasColumnRidge(Claim):
    """Predictive variances, data terms and the Fisher information along the trade.

    A column of ones is put before the features, a user's too. The trade leaves the variance of every row, and so every
    data term, as it is (by :mod:`corners.exact` and by scipy), and the information over ``(log σ², log s₀)`` is zero in
    its direction. Without the column the same trade with a feature's weight shows.
    """

    name: ClassVar[str] = "bias_column_ridge"
    statement: ClassVar[str] = "With a bias column no data can tell the noise variance from the variance of the bias."
    formula: ClassVar[str] = "ψ₀ = 1: (σ², Σ₀₀) → (σ² - t, Σ₀₀ + t) leaves every Vₙ = σ² + ψₙᵀΣψₙ unchanged"
    claimed_in: ClassVar[str] = "paper v1, corollary 1; theory 7.3"
    expected: ClassVar[str] = HOLDS

    @classmethod
    def example(cls) -> "BiasColumnRidge":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Thirty rows of four tanh features."""
        return drawn_problem("30 rows, 4 tanh features", rows=30, width=4, seed=12)

    def check(self, problem: Problem) -> Finding:
        """The trade with a bias column, and with the weight of a feature."""
        biased = replace(problem, features=np.column_stack([np.ones(problem.rows), problem.features]))
        plain = drawn_problem("without a bias column", rows=30, width=4, seed=13)
        changes = np.array([_changes(biased, share) for share in SHARES])
        variance, data, oracle, _ = changes.max(axis=0)
        prior = float(changes[-1, 3])
        without = min(_changes(plain, share)[1] for share in SHARES)
        information, other = _information_along(biased), _information_along(plain)
        margins = (
            at_most("largest change of a predictive variance, relative", variance, ROUNDING),
            at_most("largest change of a data term, relative", data, ROUNDING),
            at_most("largest difference from scipy's densities, relative", oracle, ROUNDING),
            at_most("Fisher information along the trade, per row", information, 1e-12),
            at_least("without a bias column: change of a data term, relative", without, 1e-3),
            at_least("without a bias column: Fisher information along the trade, per row", other, 1e-4),
        )
        sentence = (
            f"handing {SHARES[-1]:.0%} of the noise variance to the bias changes no data term by more than {data:.0e} "
            f"(the prior term alone moves, by {prior:.2g} nats) and the Fisher information along it is "
            f"{information:.0e} a row, against {other:.2g} along the same trade without a bias"
        )
        return holds_if(margins, sentence)


def _scales(problem: Problem) -> Float[Array, " H"]:
    """Variances of the weights, drawn around those of the prior."""
    return np.exp(problem.generator().normal(size=problem.width)) / problem.prior_precision


def _changes(problem: Problem, share: float) -> tuple[float, float, float, float]:
    """Changes of variances and data terms, distance from scipy after the move (relative), and the prior's in nats."""
    scales, trade = _scales(problem), share * problem.noise_var
    mean = problem.generator().normal(size=problem.width) / np.sqrt(problem.prior_precision)
    moved = scales + trade * (np.arange(problem.width) == 0)
    noise_var, data = problem.noise_var - trade, (problem.features, problem.targets, mean)
    before = shared_free_terms(*data, DiagonalCovariance(scales), problem.prior_precision, problem.noise_scale)
    after = shared_free_terms(*data, DiagonalCovariance(moved), problem.prior_precision, noise_var**0.5)
    dense = shared_cell(*data, np.diag(moved), problem.prior_precision, noise_var)
    return (
        relative_difference(noise_var + after.variances, problem.noise_var + before.variances),
        relative_difference(after.data_terms, before.data_terms),
        relative_difference(float(after.data_terms.sum()), dense.data),
        abs(after.prior_term - before.prior_term),
    )


def _information_along(problem: Problem) -> float:
    """``uᵀFu`` with ``u`` the trade in ``(log σ², log s₀)``, of unit length."""
    scales = _scales(problem)
    trade = np.zeros(problem.width + 1)
    trade[:2] = -1.0 / problem.noise_var, 1.0 / scales[0]
    trade /= np.linalg.norm(trade)
    return float(trade @ attribution_information(problem.features, scales, problem.noise_scale) @ trade)
