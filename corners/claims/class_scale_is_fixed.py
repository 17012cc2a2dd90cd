"""A fixed probit scale does not fix the scale of the belief (theory 13.14)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.claims._shared_cell import feature_norm_cv, rows_of_one_length
from corners.exact import prior_overlap
from corners.types import Array, Float

FACTORS = (1.5, 3.0, 10.0)
INTEGRATED = 4
"""Rows whose term is integrated numerically beside the closed form."""


@CLAIMS.register("class_scale_is_fixed")
@dataclass(frozen=True)
class ClassScaleIsFixed(Claim):
    """The probit data term of ever larger beliefs on features of one length.

    The labels say whether a target lies above the median; the rows, a user's too, are scaled to one length and rows of
    zeros left out. Terms come from the probit likelihood, and on a few rows from integrating ``Φ(±f)`` over the belief.
    Rows of many lengths (drawn here) are no longer indifferent.
    """

    name: ClassVar[str] = "class_scale_is_fixed"
    statement: ClassVar[str] = "Classification escapes the degeneracy of scales because the probit scale c is fixed."
    formula: ClassVar[str] = (
        "‖ψₙ‖ = R: μ → kμ, Σ → k²Σ + (k² - 1)(c²/R²)I leaves every -log Φ(yₙmₙ/√(c² + vₙ)) unchanged, k ≥ 1"
    )
    claimed_in: ClassVar[str] = "paper v1 and v2, classification; theory 13.14"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "ClassScaleIsFixed":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Forty rows of four tanh features."""
        return drawn_problem("40 rows, 4 tanh features", rows=40, width=4, seed=16)

    def check(self, problem: Problem) -> Finding:
        """Data terms along the family of beliefs, on rows of one length and on rows of many."""
        scaled = rows_of_one_length(problem)
        mean, covariance = _belief(scaled, 1.0)
        before = _terms(scaled, mean, covariance)
        changes, oracle = [], _miss_of_integrals(scaled, mean, covariance, before)
        for factor in FACTORS:
            mean, covariance = _belief(scaled, factor)
            after = _terms(scaled, mean, covariance)
            changes.append(relative_difference(after, before))
            oracle = max(oracle, _miss_of_integrals(scaled, mean, covariance, after))
        generic = drawn_problem("rows of many lengths", rows=40, width=4, seed=17)
        other = abs(
            float((_terms(generic, *_belief(generic, FACTORS[-1])) - _terms(generic, *_belief(generic, 1.0))).sum())
        )
        overlaps = [
            prior_overlap(*_belief(scaled, factor), scaled.prior_precision).value for factor in (1.0, FACTORS[-1])
        ]
        margins = (
            at_most("largest change of a data term, relative", max(changes), 1e-12),
            at_most(f"largest difference from integration, {INTEGRATED} rows", oracle, 1e-8),
            at_least("change of -log Z_w, which alone sees the scale", abs(overlaps[1] - overlaps[0]), 1e-6, "nats"),
            at_least("rows of many lengths: change of the data term", other, 1e-3, "nats"),
        )
        sentence = (
            f"beliefs up to {FACTORS[-1]:g} times larger change no probit term by more than {max(changes):.0e} "
            f"(squared lengths vary by {feature_norm_cv(scaled.features):.0e}, by "
            f"{feature_norm_cv(problem.features):.2g} as given); the prior term alone tells them apart "
            f"({overlaps[0]:.2f} and {overlaps[1]:.2f} nats)"
        )
        return fails_if(margins, sentence)


def _belief(problem: Problem, factor: float) -> tuple[Float[Array, " H"], Float[Array, "H H"]]:
    """``kμ`` and ``k²Σ + (k² - 1)(c²/R²)I`` with ``c = 1``, of a belief drawn with the problem's seed."""
    generator, width = problem.generator(), problem.width
    squared = float((problem.features**2).sum(axis=1).mean())
    mean = generator.normal(size=width) / np.sqrt(squared)
    root = generator.normal(size=(width, width)) / np.sqrt(width * squared)
    return factor * mean, factor**2 * root @ root.T + (factor**2 - 1.0) / squared * np.eye(width)


def _moments(
    problem: Problem, mean: Float[Array, " H"], covariance: Float[Array, "H H"]
) -> tuple[Float[Array, " N"], Float[Array, " N"], Float[Array, " N"]]:
    """Labels 0 and 1, and mean and variance of ``f`` in every row."""
    labels = (problem.targets > np.median(problem.targets)).astype(np.float64)
    return labels, problem.features @ mean, np.einsum("na,ab,nb->n", problem.features, covariance, problem.features)


def _terms(problem: Problem, mean: Float[Array, " H"], covariance: Float[Array, "H H"]) -> Float[Array, " N"]:
    """The data terms by the likelihood of the package, nats."""
    import torch

    from corners.beliefs import Marginals
    from corners.likelihoods.probit import Probit

    labels, means, variances = map(torch.from_numpy, _moments(problem, mean, covariance))
    return -Probit().log_partition({}, labels, Marginals(means, variances)).numpy()


def _miss_of_integrals(
    problem: Problem, mean: Float[Array, " H"], covariance: Float[Array, "H H"], terms: Float[Array, " N"]
) -> float:
    """Largest relative difference of the first terms from ``-log ∫Φ(±f) N(f; m, v) df`` by adaptive integration."""
    labels, means, variances = (values[:INTEGRATED] for values in _moments(problem, mean, covariance))
    masses = [
        quad(
            lambda u, s=sign, m=centre, d=scale: ndtr(s * (m + d * u)) * np.exp(-0.5 * u * u), -9.0, 9.0, epsabs=1e-12
        )[0]
        for sign, centre, scale in zip(2.0 * labels - 1.0, means, np.sqrt(variances), strict=True)
    ]
    return relative_difference(terms[:INTEGRATED], -np.log(np.array(masses) / np.sqrt(2.0 * np.pi)))
