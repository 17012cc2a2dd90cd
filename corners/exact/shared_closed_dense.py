"""Shared cavity, closed routing: the conjugate posterior scores the plates it has already seen (theory 3.4)."""

import math
from dataclasses import dataclass

import numpy as np

from corners.exact.factorisation import Factorisation, Shrinkage, residuals, shrink
from corners.exact.gradients import ClosedGradient, HyperGradient, through_binding
from corners.numerics import LOG_2PI
from corners.types import Array, Float

FAMILIES = ("dense", "diagonal", "none")


@dataclass(frozen=True, eq=False)
class SharedClosed:
    """Terms of ``F_sc = −log Z_w(μ*, Σ) + Σ −log N(yₙ; m*ₙ, Vₙ)``, nats.

    ``variances`` are predictive (``Vₙ``, noise included), ``means`` are ``m*ₙ``, ``residuals`` are ``y − m*``.
    """

    prior_term: float
    data_terms: Float[Array, " N"]
    means: Float[Array, " N"]
    variances: Float[Array, " N"]
    residuals: Float[Array, " N"]

    @property
    def total(self) -> float:
        """``F_sc``, nats; not ``−log Z`` (theory 13.1)."""
        return self.prior_term + float(self.data_terms.sum())


def cavity_correction(
    leverage: Float[Array, " N"], one_minus_leverage: Float[Array, " N"], residual: Float[Array, " N"], noise_var: float
) -> Float[Array, " N"]:
    """What the shared cavity drops: ``ℓ_loo − ℓ_sc = −½ log(1−h²) + (r*²/σ²) h/(1−h²) ≥ 0``, nats (theory 3.4).

    Example
    -------
    >>> cavity_correction(np.array([0.0]), np.array([1.0]), np.array([2.0]), 1.0).tolist()  # h = 0
    [0.0]
    """
    remaining = one_minus_leverage * (1.0 + leverage)
    return -0.5 * np.log(remaining) + residual**2 / noise_var * leverage / remaining


def spectral_shared_closed(
    factorisation: Factorisation, targets: Float[Array, " N"], prior_precision: float, noise_var: float
) -> SharedClosed:
    """The dense cell from a factorisation: ``Vₙ = σ²(1 + hₙ)``."""
    shrinkage = shrink(factorisation, prior_precision * noise_var)
    residual = residuals(factorisation, shrinkage)
    variances = noise_var * (1.0 + factorisation.left2 @ shrinkage.kept)
    return SharedClosed(
        prior_term=_prior_term(factorisation, shrinkage, prior_precision, noise_var),
        data_terms=0.5 * (LOG_2PI + np.log(variances) + residual**2 / variances),
        means=targets - residual,
        variances=variances,
        residuals=residual,
    )


def spectral_shared_closed_gradient(
    factorisation: Factorisation, prior_precision: float, noise_var: float
) -> ClosedGradient:
    """Gradient of the dense cell's total over ``log α``, ``log σ²`` and the features, through the binding."""
    shrinkage = shrink(factorisation, prior_precision * noise_var)
    residual = residuals(factorisation, shrinkage)
    inverse = 1.0 / (1.0 + factorisation.left2 @ shrinkage.kept)
    standardised = residual * inverse / noise_var
    spare_slope = -0.5 * (inverse - residual * standardised * inverse)
    chained = through_binding(factorisation, shrinkage, residual, standardised, spare_slope)
    direct = 0.5 * (len(residual) - float(residual @ standardised))
    prior, prior_slope = _prior_gradient(factorisation, shrinkage, residual, prior_precision, noise_var)
    return ClosedGradient(
        chained.log_ridge + prior.log_prior_precision,
        chained.log_ridge + direct + prior.log_noise_var,
        chained.features + prior_slope,
    )


def _prior_term(factorisation: Factorisation, shrinkage: Shrinkage, prior_precision: float, noise_var: float) -> float:
    """``−log Z_w`` with ``qᵢ + 1/α`` along the reached directions and ``2/α`` along the ``H − k`` others."""
    width = factorisation.right.shape[1]
    spread = noise_var * shrinkage.inverse + 1.0 / prior_precision
    weights2 = (shrinkage.gain * factorisation.projected) ** 2
    log_det = float(np.log(spread).sum()) + (width - len(spread)) * math.log(2.0 / prior_precision)
    return 0.5 * (width * LOG_2PI + log_det + float((weights2 / spread).sum()))


def _prior_gradient(
    factorisation: Factorisation,
    shrinkage: Shrinkage,
    residual: Float[Array, " N"],
    prior_precision: float,
    noise_var: float,
) -> tuple[HyperGradient, Float[Array, "N H"]]:
    """Gradient of ``−log Z_w(μ*, Σ*)``, in the basis ``V``.

    For the features ``σ⁻²[−2ΨΣ*GΣ* + r*(Σ*a)ᵀ − (ΨΣ*a)μ*ᵀ]``.
    """
    scales = noise_var * shrinkage.inverse
    spread = scales + 1.0 / prior_precision
    weights = shrinkage.gain * factorisation.projected
    pull = weights / spread
    surplus = 1.0 / spread - pull**2
    ridge_slope = -0.5 * float((surplus * scales + 2.0 * pull * weights) @ shrinkage.lost)
    unreached = factorisation.right.shape[1] - len(spread)
    precision_slope = ridge_slope - 0.5 * (float(surplus.sum()) / prior_precision + unreached)
    noise_slope = ridge_slope + 0.5 * float(surplus @ scales)
    seen = factorisation.left @ (shrinkage.gain * pull)
    inner = -factorisation.left * (shrinkage.gain * scales / spread)
    inner += np.outer(seen, scales * pull - weights) + np.outer(residual, shrinkage.inverse * pull)
    return HyperGradient(precision_slope, noise_slope), inner @ factorisation.right
