"""A free belief in the leave-one-out cell collapses to a point (theory 3.8f)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

from corners.claims import CLAIMS
from corners.claims._base import HOLDS, Claim, Finding, at_least, at_most, holds_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.exact import Evidence, shared_free_terms
from corners.types import Array

SHARES = (0.05, 0.2, 0.5, 0.8, 0.95)
"""Values of ``h = v/σ²`` at which every plate's slope is taken."""
EDGE = 0.999
ROUNDING = 1e-9


@CLAIMS.register("free_leave_one_out")
@dataclass(frozen=True)
class FreeLeaveOneOut(Claim):
    """A free belief in the leave-one-out cell collapses: its data term rises with every marginal variance.

    The term is computed by its formula and by taking the plate's own likelihood out of its marginal; bound to the
    posterior it is the leave-one-out cell. A descent over a dense ``Σ`` from the posterior ends at ``Σ = 0``.
    """

    name: ClassVar[str] = "free_leave_one_out"
    statement: ClassVar[str] = (
        "A free belief trained on leave-one-out predictives collapses to a point: the data term rises with every v_n."
    )
    formula: ClassVar[str] = "σ² ∂ℓ_n/∂v_n = 1/(2(1-h)) + r²/(2σ²(1-h)²) ≥ 1/2 with h = v_n/σ² < 1"
    claimed_in: ClassVar[str] = "theory 3.8f (the cell is defined in neither paper)"
    expected: ClassVar[str] = HOLDS

    @classmethod
    def example(cls) -> "FreeLeaveOneOut":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=3)

    def check(self, problem: Problem) -> Finding:
        """Two ways to the term, its slopes, and a descent over the whole covariance."""
        evidence = Evidence(problem.features, problem.targets)
        mean, covariance = evidence.posterior(problem.prior_precision, problem.noise_scale)
        bound = evidence.leave_one_out(problem.prior_precision, problem.noise_scale)
        residuals, noise_var = problem.targets - problem.features @ mean, problem.noise_var
        variances = np.einsum("nh,hk,nk->n", problem.features, covariance, problem.features)
        terms = left_out_terms(residuals, variances, noise_var)
        slope = noise_var * _smallest_slope(residuals, noise_var)
        final, value = _descend(problem, residuals, covariance)
        point = float(shared_free_terms(
            problem.features, problem.targets, mean, None, problem.prior_precision, problem.noise_scale
        ).data_terms.sum())  # fmt: skip
        left = float(np.trace(final) / np.trace(covariance))
        margins = (
            at_most(
                "terms by formula against the plate taken out of its marginal, relative",
                relative_difference(
                    terms, _by_division(problem.targets, problem.targets - residuals, variances, noise_var)
                ),
                ROUNDING,
            ),
            at_most(
                "bound to the posterior, against the leave-one-out cell, relative",
                relative_difference(terms, bound.terms),
                ROUNDING,
            ),
            at_least(f"smallest slope σ² dℓ/dv over all plates and {len(SHARES)} variances", slope, 0.5),
            at_most("trace of Σ after the descent, share of the posterior's", left, 1e-6),
            at_most("value after the descent against Σ = 0, relative", relative_difference(value, point), 1e-6),
            at_least("what Σ = 0 gains over the posterior's Σ", float(terms.sum()) - point, 1e-6, "nats"),
        )
        sentence = (
            f"σ² dℓ/dv is at least {slope:.3f} on every plate, and a descent from the posterior leaves "
            f"{left:.0e} of its trace: {terms.sum():.2f} nats fall to {point:.2f}, those of Σ = 0"
        )
        return holds_if(margins, sentence)


def left_out_terms(residuals: Array, variances: Array, noise_var: float) -> Array:
    """``½ log(2πσ²/(1-h)) + r²/(2σ²(1-h))`` with ``h = v/σ² < 1`` (theory 3.3)."""
    spare = 1.0 - variances / noise_var
    return 0.5 * np.log(2.0 * np.pi * noise_var / spare) + residuals**2 / (2.0 * noise_var * spare)


def _by_division(targets: Array, means: Array, variances: Array, noise_var: float) -> Array:
    """The same: divide ``N(f; m, v)`` by ``N(y; f, σ²)``, and let what is left predict ``y``."""
    precision = 1.0 / variances - 1.0 / noise_var
    cavity_mean = (means / variances - targets / noise_var) / precision
    return -norm.logpdf(targets, cavity_mean, np.sqrt(noise_var + 1.0 / precision))


def _smallest_slope(residuals: Array, noise_var: float) -> float:
    """The smallest central difference in ``v`` over plates and variances."""
    step = 1e-5 * noise_var
    slopes = [
        (left_out_terms(residuals, v + step, noise_var) - left_out_terms(residuals, v - step, noise_var)) / (2.0 * step)
        for v in (np.full_like(residuals, share * noise_var) for share in SHARES)
    ]
    return float(np.min(slopes))


def _descend(problem: Problem, residuals: Array, covariance: Array) -> tuple[Array, float]:
    """Minimise the sum over a dense ``Σ = LLᵀ``, the mean held, from the posterior's covariance."""
    features, noise_var, width = problem.features, problem.noise_var, problem.width

    def objective(entries: Array) -> tuple[float, Array]:
        projected = features @ entries.reshape(width, width)
        variances = (projected**2).sum(axis=1)
        inside = np.minimum(variances, EDGE * noise_var)  # beyond, where no cavity exists, the tangent goes on
        step = 1e-6 * (noise_var - inside)
        rise = left_out_terms(residuals, inside + step, noise_var)
        rise = (rise - left_out_terms(residuals, inside - step, noise_var)) / (2.0 * step)
        value = left_out_terms(residuals, inside, noise_var) + rise * (variances - inside)
        return float(value.sum()), (2.0 * (features.T * rise) @ projected).ravel()

    start = np.linalg.cholesky(covariance).ravel()
    options = {"maxiter": 500, "gtol": 1e-9, "ftol": 1e-15}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    root = found.x.reshape(width, width)
    return root @ root.T, float(found.fun)
