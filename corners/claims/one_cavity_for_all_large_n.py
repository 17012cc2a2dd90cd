"""One belief scores every plate as its own cavity would, as the data grow: for a bound belief alone (theory 13.5)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import (
    CONDITIONAL,
    Claim,
    Condition,
    Finding,
    at_least,
    at_most,
    conditional_if,
    relative_difference,
)
from corners.claims._problems import Problem
from corners.exact import Evidence, Start, find_free_optimum, fit_variance
from corners.types import Array

SIZES = (64, 512, 2048)
WEIGHTS = np.array([0.5, -1.0])
SPREAD = np.array([[0.3, 0.1], [0.1, 0.4]])
"""Covariance of the weights, drawn anew for every row: the variance that a free belief learns."""


@CLAIMS.register("one_cavity_for_all_large_n")
@dataclass(frozen=True)
class OneCavityForAllLargeN(Claim):
    """A plate's weight in the belief that scores it vanishes as the data grow, where the belief is bound to them.

    ``β_n = 1 - v_n/σ²`` is what of the precision along ``ψ_n`` is left without plate n. Bound: ``v_n/σ² = h_n → 0``.
    Free: ``v_n`` is a fitted variance; it stays, and ``v_n ≥ σ²`` on many plates, where no cavity exists at all.
    """

    name: ClassVar[str] = "one_cavity_for_all_large_n"
    statement: ClassVar[str] = "As N grows one belief serves as the cavity of every plate: all β_n tend to 1."
    formula: ClassVar[str] = "β_n = 1 - v_n/σ²: bound, v_n/σ² = h_n → 0; free, v_n/σ² → ψᵀΣψ/σ² of the best variance"
    claimed_in: ClassVar[str] = "paper v1, β_n ≈ 1 exact as N → ∞; theory 13.5"
    expected: ClassVar[str] = CONDITIONAL
    takes_data: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "OneCavityForAllLargeN":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Random coefficients: rows (1, x) with weights drawn anew for every row, and noise."""
        generator = np.random.default_rng(5)
        features = np.column_stack([np.ones(SIZES[-1]), generator.uniform(-1.5, 1.5, SIZES[-1])])
        weights = WEIGHTS + generator.standard_normal((SIZES[-1], 2)) @ np.linalg.cholesky(SPREAD).T
        targets = (features * weights).sum(1) + 0.4 * generator.standard_normal(SIZES[-1])
        return Problem("2048 rows (1, x), random coefficients", features, targets, 1.0, 0.4, 5)

    def check(self, problem: Problem) -> Finding:
        """Bound and free beliefs over growing sets of rows."""
        bound = [_bound_shares(problem, size) for size in SIZES]
        free = [_free_shares(problem, size) for size in SIZES]
        agreement = relative_difference(bound[0], _dense_shares(problem, SIZES[0]))
        held = relative_difference(free[-1].mean(), _held_share(problem, SIZES[-1]))
        truth = np.einsum("nh,hk,nk->n", problem.features, SPREAD, problem.features).mean() / problem.noise_var
        none = float((free[-1] >= 1.0).mean())
        margins = (
            at_most("bound: largest h_n against dense posteriors, relative", agreement, 1e-9),
            at_most(f"bound: largest h_n at N = {SIZES[-1]}", float(bound[-1].max()), 0.01),
            at_most(
                f"bound: N times the mean h_n, over {len(SIZES)} sizes, spread",
                float(np.ptp([size * shares.mean() for size, shares in zip(SIZES, bound, strict=True)])),
                0.1,
            ),
            at_least(f"free: mean v_n/σ² at N = {SIZES[-1]}", float(free[-1].mean()), 1.0),
            at_least(
                f"free: mean v_n at N = {SIZES[-1]} over that at {SIZES[0]}", free[-1].mean() / free[0].mean(), 0.5
            ),
            at_most("free: mean v_n/σ² against a variance fit at a held mean, relative", held, 0.05),
            at_most("free: mean v_n/σ² against the truth, relative", relative_difference(free[-1].mean(), truth), 0.15),
        )
        condition = Condition(
            "the belief is bound to the data, so that v_n = σ² h_n with Σ h_n ≤ H; a free Σ is a fitted variance",
            at_most(f"largest v_n/σ² of the free belief at N = {SIZES[-1]}", float(free[-1].max()), 0.01),
        )
        sentence = (
            f"from N = {SIZES[0]} to {SIZES[-1]} the largest v_n/σ² of the bound belief falls from "
            f"{bound[0].max():.3f} to {bound[-1].max():.1g}; in the free belief its mean goes from "
            f"{free[0].mean():.2f} to {free[-1].mean():.2f} (truth {truth:.2f}), and on {none:.0%} of the plates it is "
            f"above 1, where no cavity exists"
        )
        return conditional_if(margins, sentence, condition)


def _bound_shares(problem: Problem, rows: int) -> Array:
    """``h_n`` of the posterior of the first rows."""
    evidence = Evidence(problem.features[:rows], problem.targets[:rows])
    return evidence.leverage(problem.prior_precision, problem.noise_scale)


def _dense_shares(problem: Problem, rows: int) -> Array:
    """``1 - σ²[C⁻¹]_nn`` from the dense marginal covariance ``C = σ²I + ΨΨᵀ/α``: the same, by another way."""
    features = problem.features[:rows]
    marginal = problem.noise_var * np.eye(rows) + features @ features.T / problem.prior_precision
    return 1.0 - problem.noise_var * np.diag(np.linalg.inv(marginal))


def _free_shares(problem: Problem, rows: int) -> Array:
    """``v_n/σ²`` where the free objective is least, prior precision and noise held at their true values."""
    found = find_free_optimum(
        problem.features[:rows],
        problem.targets[:rows],
        problem.generator(),
        prior_precision=problem.prior_precision,
        noise_scale=problem.noise_scale,
        starts=Start(problem.prior_precision, problem.noise_scale),
        jitter=0.0,
    )
    return (found.variances - problem.noise_var) / problem.noise_var


def _held_share(problem: Problem, rows: int) -> float:
    """The mean of ``(V - σ²)/σ²`` of a variance function fitted to squared residuals from the true mean."""
    features = problem.features[:rows]
    residuals = problem.targets[:rows] - features @ WEIGHTS
    fit = fit_variance(features, residuals**2, problem.generator(), starts=2)
    return float(fit.variances.mean() / problem.noise_var - 1.0)
