"""Features of one length leave a ridge through noise, covariance and prior at once (theory 7.3)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import HOLDS, Claim, Finding, at_least, at_most, holds_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.claims._shared_cell import feature_norm_cv, rows_of_one_length, shared_cell
from corners.exact import shared_free_terms
from corners.types import Array, Float

SHARES = (-0.3, 0.3, 0.9)
"""Shifts ``t`` in units of the largest (towards less noise and prior) and of the least eigenvalue of ``Σ`` (back)."""
ROUNDING = 1e-10


@CLAIMS.register("constant_norm_ridge")
@dataclass(frozen=True)
class ConstantNormRidge(Claim):
    """The objective along the ridge, in both its parts, for a diagonal and a dense covariance.

    The rows of the problem, a user's too, are scaled to one length first; rows of zeros are left out. Both parts are
    computed by :mod:`corners.exact` and by scipy's densities. Features of many lengths (drawn here) do not have the
    ridge: the same move changes their objective.
    """

    name: ClassVar[str] = "constant_norm_ridge"
    statement: ClassVar[str] = (
        "Where all features have one length, noise, covariance and prior precision are not identified."
    )
    formula: ClassVar[str] = "‖ψₙ‖ = R: (σ², Σ, 1/α) → (σ² - tR², Σ + tI, 1/α - t) leaves F unchanged"
    claimed_in: ClassVar[str] = "paper v1, corollary 1; theory 7.3"
    expected: ClassVar[str] = HOLDS

    @classmethod
    def example(cls) -> "ConstantNormRidge":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Thirty rows of four tanh features."""
        return drawn_problem("30 rows, 4 tanh features", rows=30, width=4, seed=10)

    def check(self, problem: Problem) -> Finding:
        """Changes along the ridge on the scaled rows, and of the same move on rows of many lengths."""
        scaled = rows_of_one_length(problem)
        moves = [_changes(scaled, family, share) for family in ("diagonal", "dense") for share in SHARES]
        generic = drawn_problem("rows of many lengths", rows=30, width=4, seed=11)
        change = min(abs(_changes(generic, "dense", share)[0]) for share in SHARES)
        prior, data, oracle = (max(column) for column in np.abs([move[1:] for move in moves]).T)
        margins = (
            at_most("largest change of -log Z_w along the ridge, relative", prior, ROUNDING),
            at_most("largest change of a data term along the ridge, relative", data, ROUNDING),
            at_most("largest difference from scipy's densities, relative", oracle, ROUNDING),
            at_most("variation of the squared lengths of the scaled rows", feature_norm_cv(scaled.features), 1e-12),
            at_least("change by the same move on rows of many lengths", change, 1e-3, "nats"),
        )
        sentence = (
            f"{len(moves)} moves along the ridge, up to {SHARES[-1]:.0%} of what noise and prior allow, change F by "
            f"at most {max(prior, data):.0e} of itself once the rows have one length (theirs vary by "
            f"{feature_norm_cv(problem.features):.2g} as given); on rows whose lengths vary by "
            f"{feature_norm_cv(generic.features):.2g} the move costs {change:.2g} nats or more"
        )
        return holds_if(margins, sentence)


def _changes(problem: Problem, family: str, share: float) -> tuple[float, float, float, float]:
    """Change of ``F`` in nats, of its prior and data terms (relative), and how far scipy is from the value after."""
    generator, width = problem.generator(), problem.width
    mean = generator.normal(size=width) / np.sqrt(problem.prior_precision)
    root = generator.normal(size=(width, width)) / width
    spread: Float[Array, "H H"] = np.diag((root**2).sum(axis=0)) if family == "diagonal" else root @ root.T
    covariance = spread / problem.prior_precision + 0.1 * np.eye(width) / problem.prior_precision
    squared = float((problem.features**2).sum(axis=1).mean())
    largest = min(problem.noise_var / squared, 1.0 / problem.prior_precision)
    shift = share * (largest if share > 0.0 else float(np.linalg.eigvalsh(covariance)[0]))
    moved = covariance + shift * np.eye(width)
    precision, noise_var = 1.0 / (1.0 / problem.prior_precision - shift), problem.noise_var - shift * squared
    data = problem.features, problem.targets, mean
    before = shared_free_terms(*data, covariance, problem.prior_precision, problem.noise_scale)
    after = shared_free_terms(*data, moved, precision, noise_var**0.5)
    return (
        after.total - before.total,
        relative_difference(after.prior_term, before.prior_term),
        relative_difference(after.data_terms, before.data_terms),
        relative_difference(after.total, shared_cell(*data, moved, precision, noise_var).total),
    )
