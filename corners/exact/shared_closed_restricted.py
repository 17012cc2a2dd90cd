"""Shared cavity, closed routing with a restricted family: its own optimum of the ELBO is the binding (theory 3.4)."""

import numpy as np

from corners.exact.covariance import Covariance, DiagonalCovariance, NoCovariance
from corners.exact.factorisation import Factorisation, mean_weights, residuals, shrink
from corners.exact.gradients import ClosedGradient
from corners.exact.shared_closed_dense import SharedClosed
from corners.exact.shared_free import gaussian_plates, gradient_from_plates, prior_overlap
from corners.types import Array, Float


def restricted_binding(
    features: Float[Array, "N H"], prior_precision: float, noise_var: float, family: str
) -> Covariance:
    """Diagonal: ``s_d = 1/A_dd`` with ``A = αI + ΨᵀΨ/σ²``; none: ``Σ = 0``. The mean is ``μ*`` in both."""
    if family == "none":
        return NoCovariance()
    return DiagonalCovariance(1.0 / (prior_precision + (features**2).sum(axis=0) / noise_var))


def restricted_shared_closed(
    factorisation: Factorisation,
    features: Float[Array, "N H"],
    targets: Float[Array, " N"],
    prior_precision: float,
    noise_var: float,
    family: str,
) -> SharedClosed:
    """Terms of the cell with the family's binding."""
    shrinkage = shrink(factorisation, prior_precision * noise_var)
    residual = residuals(factorisation, shrinkage)
    covariance = restricted_binding(features, prior_precision, noise_var, family)
    variances = covariance.variances(features)
    plates = gaussian_plates(residual, np.zeros_like(residual), variances, noise_var**0.5)
    overlap = prior_overlap(mean_weights(factorisation, shrinkage), covariance, prior_precision)
    return SharedClosed(overlap.value, plates.value, targets - residual, noise_var + variances, residual)


def restricted_shared_closed_gradient(
    factorisation: Factorisation,
    features: Float[Array, "N H"],
    prior_precision: float,
    noise_var: float,
    family: str,
) -> ClosedGradient:
    """Total gradient: the free one, and what flows through ``μ* = A⁻¹Ψᵀy/σ²`` and ``s_d = 1/A_dd``."""
    shrinkage = shrink(factorisation, prior_precision * noise_var)
    residual, mean = residuals(factorisation, shrinkage), mean_weights(factorisation, shrinkage)
    covariance = restricted_binding(features, prior_precision, noise_var, family)
    noise_scale = noise_var**0.5
    plates = gaussian_plates(residual, np.zeros_like(residual), covariance.variances(features), noise_scale)
    free = gradient_from_plates(features, mean, covariance, prior_precision, plates, noise_scale)
    log_ridge, slope = _through_mean(factorisation, prior_precision * noise_var, residual, mean, free.mean)
    precision, noise, slope_scales = _through_scales(features, covariance, prior_precision, noise_var, free.family)
    return ClosedGradient(
        free.log_prior_precision + log_ridge + precision,
        free.log_noise_var + log_ridge + noise,
        free.features + slope + slope_scales,
    )


def _through_mean(
    factorisation: Factorisation,
    ridge: float,
    residual: Float[Array, " N"],
    mean: Float[Array, " H"],
    slope: Float[Array, " H"],
) -> tuple[float, Float[Array, "N H"]]:
    """``dμ* = B⁻¹(dΨᵀ r* − Ψᵀ dΨ μ*) − λB⁻¹μ* d log λ`` with ``B = λI + ΨᵀΨ``, contracted with ``∂F/∂μ``."""
    along = factorisation.right @ slope
    inverse = 1.0 / (factorisation.singular2 + ridge)
    across = (slope - along @ factorisation.right) / ridge  # the directions that no feature reaches; zero where H = k
    solved = (inverse * along) @ factorisation.right
    if factorisation.right.shape[0] < factorisation.right.shape[1]:
        solved = solved + across
    fitted = factorisation.left @ (factorisation.singular * inverse * along)
    return -ridge * float(solved @ mean), np.outer(residual, solved) - np.outer(fitted, mean)


def _through_scales(
    features: Float[Array, "N H"],
    covariance: Covariance,
    prior_precision: float,
    noise_var: float,
    family: dict[str, Float[Array, "..."]],
) -> tuple[float, float, Float[Array, "N H"] | float]:
    """``ds = −s² dA_dd``: with ``u = −s ∂F/∂log s`` this is ``u α``, ``−u Σψ²/σ²`` and ``2uψ/σ²``."""
    if not isinstance(covariance, DiagonalCovariance):
        return 0.0, 0.0, 0.0
    pull = -covariance.scales * family["log_scales"]
    seen = (features**2).sum(axis=0) / noise_var
    return prior_precision * float(pull.sum()), -float(pull @ seen), 2.0 / noise_var * features * pull
