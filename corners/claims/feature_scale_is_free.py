"""Rescaling the features with the weights' prior moves the shared objective and nothing else (theory 7.1.5)."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.stats import multivariate_normal

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.claims._shared_cell import shared_cell
from corners.exact import Evidence, kl_to_prior, shared_free_terms
from corners.types import Array, Float

FACTORS = (0.5, 10.0)
ROUNDING = 1e-8


@CLAIMS.register("feature_scale_is_free")
@dataclass(frozen=True)
class FeatureScaleIsFree(Claim):
    """The same model in other units of its features: shared objective, divergence from the prior, and evidence.

    Values before and after by :mod:`corners.exact`; those after also by scipy's densities. The belief is one half of
    the posterior's covariance around its mean.
    """

    name: ClassVar[str] = "feature_scale_is_free"
    statement: ClassVar[str] = (
        "Rescaling the features together with the prior of the weights leaves the objective unchanged."
    )
    formula: ClassVar[str] = "Ψ → cΨ, μ → μ/c, Σ → Σ/c², α → c²α: F → F - H log c; data terms, KL(q‖p) and -log Z stay"
    claimed_in: ClassVar[str] = "implied by training features and α together, paper v1 and v2; theory 7.1.5"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "FeatureScaleIsFree":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Forty rows of five tanh features."""
        return drawn_problem("40 rows, 5 tanh features", rows=40, width=5, seed=15)

    def check(self, problem: Problem) -> Finding:
        """Changes by two factors."""
        before, shifts, still, oracle = _values(problem, 1.0), [], 0.0, 0.0
        for factor in FACTORS:
            after = _values(problem, factor)
            shifts.append(after[0] - before[0] + problem.width * math.log(factor))
            still = max(still, *(relative_difference(a, b) for a, b in zip(after[1:], before[1:], strict=True)))
            oracle = max(oracle, _miss(problem, factor, after))
        change = problem.width * math.log(FACTORS[-1])
        moved = before[0] - after[0]
        margins = (
            at_least(f"fall of F when the features grow {FACTORS[-1]:g}-fold", moved, 1.0, "nats"),
            at_most("change of F from -H log c", np.abs(shifts).max(), ROUNDING * (1.0 + abs(before[0])), "nats"),
            at_most("change of data terms, divergence from the prior and evidence, relative", still, ROUNDING),
            at_most("largest difference from scipy's densities, relative", oracle, ROUNDING),
        )
        sentence = (
            f"features {FACTORS[-1]:g} times larger lower F from {before[0]:.2f} to {after[0]:.2f} nats, by H log c = "
            f"{change:.2f}, while data terms, KL and -log Z = {before[3]:.2f} stay to {still:.0e}: a trained backbone "
            "can descend for ever"
        )
        return fails_if(margins, sentence)


def _rescaled(problem: Problem, factor: float) -> tuple[Problem, Float[Array, " H"], Float[Array, "H H"]]:
    """The problem in other units, and the belief in the units of its weights."""
    posterior = Evidence(problem.features, problem.targets).posterior(problem.prior_precision, problem.noise_scale)
    version = replace(problem, features=factor * problem.features, prior_precision=factor**2 * problem.prior_precision)
    return version, posterior.mean / factor, 0.5 * posterior.covariance / factor**2


def _values(problem: Problem, factor: float) -> tuple[float, float, float, float]:
    """``F``, the sum of its data terms, the divergence of the belief from the prior, and ``-log Z``, nats."""
    version, mean, covariance = _rescaled(problem, factor)
    hyper = version.prior_precision, version.noise_scale
    terms = shared_free_terms(version.features, version.targets, mean, covariance, *hyper)
    divergence = kl_to_prior(mean, covariance, version.prior_precision)
    evidence = -Evidence(version.features, version.targets).log_evidence(*hyper)
    return terms.total, float(terms.data_terms.sum()), divergence, evidence


def _miss(problem: Problem, factor: float, values: tuple[float, float, float, float]) -> float:
    """Largest relative difference of the values from scipy's densities."""
    version, mean, covariance = _rescaled(problem, factor)
    parts = shared_cell(version.features, version.targets, mean, covariance, version.prior_precision, version.noise_var)
    dense = version.noise_var * np.eye(version.rows) + version.features @ version.features.T / version.prior_precision
    evidence = -float(multivariate_normal(cov=dense).logpdf(version.targets))  # pyright: ignore[reportArgumentType]
    return max(
        relative_difference(values[0], parts.total),
        relative_difference(values[1], parts.data),
        relative_difference(values[3], evidence),
    )
