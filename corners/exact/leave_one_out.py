"""Leave-one-out predictives of the closed cell, without refitting (theory 3.3)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from corners.exact._inputs import as_problem, positive
from corners.exact.factorisation import Factorisation, factorise, residuals, shrink
from corners.exact.gradients import ClosedGradient, through_binding
from corners.numerics import LOG_2PI
from corners.types import Array, Float


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Every plate scored by the posterior of the other plates.

    ``means`` and ``variances`` are predictive (noise included), ``terms = −log p(yₙ | y₋ₙ)`` in nats, ``residuals``
    are ``r* = y − Ψμ*`` of the full fit, ``profile_noise_var`` minimises the total at the same ridge ``λ = ασ²``.
    """

    means: Float[Array, " N"]
    variances: Float[Array, " N"]
    terms: Float[Array, " N"]
    leverage: Float[Array, " N"]
    one_minus_leverage: Float[Array, " N"]
    residuals: Float[Array, " N"]
    profile_noise_var: float

    @property
    def total(self) -> float:
        """``F_loo = Σ −log p(yₙ | y₋ₙ)``, nats."""
        return float(self.terms.sum())


def leave_one_out_predictives(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    prior_precision: float,
    noise_scale: float,
) -> LeaveOneOut:
    """Leave-one-out predictives from one singular value decomposition, ``O(NH min(N, H))``.

    ``m₋ₙ = yₙ − r*ₙ/(1−hₙ)`` and ``V₋ₙ = σ²/(1−hₙ)``, with ``1 − hₙ = 1[N>k](1 − Σᵢ U²ₙᵢ) + Σᵢ U²ₙᵢ λ/(sᵢ²+λ)``, a sum
    of what each direction loses rather than a difference. Reference: theory 3.3.

    Example
    -------
    >>> loo = leave_one_out_predictives([[1.0], [1.0]], [1.0, 3.0], prior_precision=1.0, noise_scale=1.0)
    >>> loo.means.round(12).tolist(), loo.variances.round(12).tolist()  # half of the other target
    ([1.5, 0.5], [1.5, 1.5])
    """
    matrix, vector = as_problem(features, targets)
    precision, noise_var = positive("prior_precision", prior_precision), positive("noise_scale", noise_scale) ** 2
    return spectral_leave_one_out(factorise(matrix, vector), vector, precision, noise_var)


def leave_one_out_dual(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    prior_precision: float,
    noise_scale: float,
) -> LeaveOneOut:
    """The same predictives from the marginal covariance ``C = σ²I + ΨΨᵀ/α``, ``O(N³)``: an independent route.

    ``V₋ₙ = 1/[C⁻¹]ₙₙ``, ``yₙ − m₋ₙ = [C⁻¹y]ₙ/[C⁻¹]ₙₙ``, ``1 − hₙ = σ²[C⁻¹]ₙₙ``. Reference: theory 3.3.

    Example
    -------
    >>> leave_one_out_dual([[1.0], [1.0]], [1.0, 3.0], prior_precision=1.0, noise_scale=1.0).means.round(12).tolist()
    [1.5, 0.5]
    """
    matrix, vector = as_problem(features, targets)
    precision, noise_var = positive("prior_precision", prior_precision), positive("noise_scale", noise_scale) ** 2
    factor = cho_factor(noise_var * np.eye(len(vector)) + matrix @ matrix.T / precision, lower=True)
    inverse = cho_solve(factor, np.eye(len(vector)))
    return _scored(vector, noise_var * (inverse @ vector), noise_var * inverse.diagonal(), noise_var)


def spectral_leave_one_out(
    factorisation: Factorisation, targets: Float[Array, " N"], prior_precision: float, noise_var: float
) -> LeaveOneOut:
    """The predictives from a factorisation that is already there."""
    shrinkage = shrink(factorisation, prior_precision * noise_var)
    one_minus = factorisation.unreached + factorisation.left2 @ shrinkage.lost
    leverage = factorisation.left2 @ shrinkage.kept
    return _scored(targets, residuals(factorisation, shrinkage), one_minus, noise_var, leverage)


def spectral_leave_one_out_gradient(
    factorisation: Factorisation, targets: Float[Array, " N"], prior_precision: float, noise_var: float
) -> ClosedGradient:
    """Gradient of ``F_loo`` with respect to ``log α``, ``log σ²`` and the features, through the binding."""
    scored = spectral_leave_one_out(factorisation, targets, prior_precision, noise_var)
    spare, residual = scored.one_minus_leverage, scored.residuals
    standardised = residual / (noise_var * spare)
    spare_slope = -0.5 * (1.0 / spare + residual * standardised / spare)
    shrinkage = shrink(factorisation, prior_precision * noise_var)
    chained = through_binding(factorisation, shrinkage, residual, standardised, spare_slope)
    direct = 0.5 * (len(residual) - float(residual @ standardised))
    return ClosedGradient(chained.log_ridge, chained.log_ridge + direct, chained.features)


def _scored(
    targets: Float[Array, " N"],
    residual: Float[Array, " N"],
    one_minus_leverage: Float[Array, " N"],
    noise_var: float,
    leverage: Float[Array, " N"] | None = None,
) -> LeaveOneOut:
    """Score each plate with its own cavity."""
    left_out = residual / one_minus_leverage
    variances = noise_var / one_minus_leverage
    return LeaveOneOut(
        means=targets - left_out,
        variances=variances,
        terms=0.5 * (LOG_2PI + np.log(variances) + left_out**2 / variances),
        leverage=1.0 - one_minus_leverage if leverage is None else leverage,
        one_minus_leverage=one_minus_leverage,
        residuals=residual,
        profile_noise_var=float(residual @ left_out) / len(residual),
    )
