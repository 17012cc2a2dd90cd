"""The evidence and the posterior as functions of one factorisation: O(k) per pair of hyperparameters (theory 3.1)."""

import math

import numpy as np

from corners.exact.factorisation import Factorisation, mean_weights, residuals, shrink
from corners.exact.gradients import HyperGradient
from corners.numerics import LOG_2PI
from corners.types import Array, Float


def spectral_log_evidence(factorisation: Factorisation, prior_precision: float, noise_var: float) -> float:
    """``log Z`` from ``cᵢ = σ² + sᵢ²/α``: ``−½[N log 2π + (N−k) log σ² + Σ log cᵢ + R₀/σ² + Σ zᵢ²/cᵢ]``."""
    scales = factorisation.singular2 / prior_precision + noise_var
    log_det = float(np.log(scales).sum()) + factorisation.spare * math.log(noise_var)
    quadratic = float((factorisation.projected2 / scales).sum()) + factorisation.outside2 / noise_var
    return -0.5 * (len(factorisation.left) * LOG_2PI + log_det + quadratic)


def spectral_gradient(factorisation: Factorisation, prior_precision: float, noise_var: float) -> HyperGradient:
    """Gradient of ``log Z`` with respect to ``log α`` and ``log σ²``."""
    signal = factorisation.singular2 / prior_precision
    inverse = 1.0 / (signal + noise_var)
    surplus = inverse - factorisation.projected2 * inverse**2
    noise = factorisation.spare - factorisation.outside2 / noise_var + noise_var * float(surplus.sum())
    return HyperGradient(0.5 * float(signal @ surplus), -0.5 * noise)


def spectral_feature_gradient(
    factorisation: Factorisation, prior_precision: float, noise_var: float
) -> Float[Array, "N H"]:
    """``∂ log Z/∂Ψ = σ⁻²(r* μ*ᵀ − ΨΣ*)``."""
    shrinkage = shrink(factorisation, prior_precision * noise_var)
    mean = mean_weights(factorisation, shrinkage)
    residual = residuals(factorisation, shrinkage)
    return np.outer(residual / noise_var, mean) - (factorisation.left * shrinkage.gain) @ factorisation.right


def profile_noise_var(factorisation: Factorisation, ridge: float) -> float:
    """``σ̂² = (‖r*‖² + λ‖μ*‖²)/N = (R₀ + Σ zᵢ² λ/(sᵢ²+λ))/N``, the best noise at a fixed ridge ``λ``."""
    lost = 1.0 / (1.0 + factorisation.singular2 / ridge)
    return (factorisation.outside2 + float(factorisation.projected2 @ lost)) / len(factorisation.left)


def posterior_covariance(factorisation: Factorisation, prior_precision: float, noise_var: float) -> Float[Array, "H H"]:
    """``Σ* = V diag(σ²/(s²+λ)) Vᵀ + α⁻¹(I − VVᵀ)``."""
    right = factorisation.right
    scales = noise_var * shrink(factorisation, prior_precision * noise_var).inverse
    covariance = (right.T * scales) @ right
    if right.shape[0] < right.shape[1]:
        covariance += (np.eye(right.shape[1]) - right.T @ right) / prior_precision
    return 0.5 * (covariance + covariance.T)


def latent_variances(
    factorisation: Factorisation, new_features: Float[Array, "M H"], prior_precision: float, noise_var: float
) -> Float[Array, " M"]:
    """``ψᵀΣ*ψ`` at new inputs without forming an ``H × H`` matrix."""
    along = new_features @ factorisation.right.T
    variances = along**2 @ (noise_var * shrink(factorisation, prior_precision * noise_var).inverse)
    if factorisation.right.shape[0] < factorisation.right.shape[1]:
        across = new_features - along @ factorisation.right  # a residual: no cancelling of norms
        variances += (across**2).sum(axis=1) / prior_precision
    return variances
