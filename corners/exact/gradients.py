"""Gradients of closed cells: the records, and the one chain through the binding that they share."""

from typing import NamedTuple

import numpy as np

from corners.exact.factorisation import Factorisation, Shrinkage
from corners.types import Array, Float


class HyperGradient(NamedTuple):
    """Derivatives with respect to ``log α`` and ``log σ²`` (nats)."""

    log_prior_precision: float
    log_noise_var: float


class ClosedGradient(NamedTuple):
    """Derivatives of a closed cell's total with respect to ``log α``, ``log σ²`` and the features."""

    log_prior_precision: float
    log_noise_var: float
    features: Float[Array, "N H"]


class ChainedGradient(NamedTuple):
    """What flows through the ridge solution: the derivative with respect to ``log λ``, and to the features."""

    log_ridge: float
    features: Float[Array, "N H"]


def through_binding(
    factorisation: Factorisation,
    shrinkage: Shrinkage,
    residual: Float[Array, " N"],
    residual_slope: Float[Array, " N"],
    spare_slope: Float[Array, " N"],
) -> ChainedGradient:
    """Chain a function of ``r* = Py`` and ``1 − h = diag P`` through ``P = λ(λI + ΨΨᵀ)⁻¹``.

    ``dP/d log λ = P − P²`` and ``dP = −λ⁻¹ P dK P`` with ``K = ΨΨᵀ``; so with
    ``Q = P diag(∂₁₋ₕ) P + ½(P∂ᵣ r*ᵀ + r*(P∂ᵣ)ᵀ)`` the feature gradient is ``−2λ⁻¹QΨ``, here without dividing by ``λ``.
    """
    left, kept, gain = factorisation.left, shrinkage.kept, shrinkage.gain
    half = shrinkage.lost * kept
    slope_in = left.T @ residual_slope
    log_ridge = float(spare_slope @ (factorisation.left2 @ half) + slope_in @ (half * factorisation.projected))
    weighted = (spare_slope[:, None] * left) * gain
    weighted -= left @ (kept[:, None] * (left.T @ weighted))
    projected_slope = residual_slope - left @ (kept * slope_in)
    weighted += 0.5 * np.outer(projected_slope, gain * factorisation.projected)
    weighted += 0.5 * np.outer(residual, gain * slope_in)
    return ChainedGradient(log_ridge, -2.0 * weighted @ factorisation.right)
