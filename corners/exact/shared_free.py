"""Shared cavity, free routing: the SCROLL objective at fixed features, its terms and all its gradients (theory 3.5)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from corners.exact._inputs import as_float64, as_problem, as_vector, positive
from corners.exact.covariance import Covariance, CovarianceLike, Shifted, as_covariance
from corners.numerics import LOG_2PI
from corners.types import Array, Float


class PlateTerms(NamedTuple):
    """``ℓₙ(m, v) = −log ∫p(yₙ|f) N(f; m, v) df`` and its derivatives ``ℓ' = ∂ₘℓ`` and ``g = ∂ᵥℓ``, nats."""

    value: Float[Array, " N"]
    slope_mean: Float[Array, " N"]
    slope_var: Float[Array, " N"]


@dataclass(frozen=True, eq=False)
class SharedFree:
    """Terms of ``F = −log Z_w(μ, Σ) + Σ ℓₙ``, nats; ``means`` and ``variances`` are those of ``f`` (no noise)."""

    prior_term: float
    data_terms: Float[Array, " N"]
    means: Float[Array, " N"]
    variances: Float[Array, " N"]

    @property
    def total(self) -> float:
        """``F``, nats."""
        return self.prior_term + float(self.data_terms.sum())


@dataclass(frozen=True, eq=False)
class SharedFreeGradient:
    """Derivatives of ``F``.

    ``covariance`` is ``G`` with ``dF = tr(G dΣ)``; ``family`` holds the family's own parameters by name.
    """

    mean: Float[Array, " H"]
    covariance: Float[Array, "H H"]
    family: dict[str, Float[Array, "..."]]
    log_prior_precision: float
    log_noise_var: float
    features: Float[Array, "N H"]


class PriorOverlap(NamedTuple):
    """``−log Z_w = −log N(μ; 0, M)``, its pull ``a = M⁻¹μ`` and ``M⁻¹``, with ``M = Σ + α⁻¹I``."""

    value: float
    pull: Float[Array, " H"]
    inverse: Float[Array, "H H"]


def prior_overlap(
    mean: Float[Array, " H"] | ArrayLike,
    covariance: CovarianceLike,
    prior_precision: float,
) -> PriorOverlap:
    """Prior term ``−log Z_w = −log ∫q(w)p(w)dw = ½[H log 2π + log|M| + μᵀM⁻¹μ]``, nats.

    It is the log of a density overlap: it has units, and it has no lower bound as ``α → ∞`` (theory 7.1). Reference:
    theory 2, 5.

    Example
    -------
    >>> value = prior_overlap([3.0], None, prior_precision=1.0).value  # −log N(3; 0, 1)
    >>> bool(np.isclose(value, 0.5 * np.log(2 * np.pi) + 4.5))
    True
    """
    centre = np.atleast_1d(as_float64("mean", mean))
    shift = 1.0 / positive("prior_precision", prior_precision)
    return overlap_of(centre, as_covariance(covariance, len(centre)).shifted(len(centre), shift))


def overlap_of(centre: Float[Array, " H"], shifted: Shifted) -> PriorOverlap:
    """The prior term from ``M`` already factorised."""
    whitened = shifted.root.T @ centre
    value = 0.5 * (len(centre) * LOG_2PI + shifted.log_det + float(whitened @ whitened))
    return PriorOverlap(value, shifted.root @ whitened, shifted.inverse)


def gaussian_plates(
    targets: Float[Array, " N"], means: Float[Array, " N"], variances: Float[Array, " N"], noise_scale: float
) -> PlateTerms:
    """Gaussian head: ``ℓ = ½(log 2πV + r²/V)``, ``ℓ' = −r/V``, ``g = ½(1 − r²/V)/V``.

    ``V = σ² + v`` and ``r = y − m``.

    Reference: theory 3.5, 6.1.

    Example
    -------
    >>> terms = gaussian_plates(np.array([2.0]), np.array([0.0]), np.array([3.0]), 1.0)  # V = 4, r²/V = 1
    >>> terms.slope_mean.tolist(), terms.slope_var.tolist()
    ([-0.5], [0.0])
    """
    total = positive("noise_scale", noise_scale) ** 2 + variances
    residual = targets - means
    standardised = residual / total
    value = 0.5 * (LOG_2PI + np.log(total) + residual * standardised)
    return PlateTerms(value, -standardised, 0.5 * (1.0 - residual * standardised) / total)


def shared_free_terms(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    mean: Float[Array, " H"] | ArrayLike,
    covariance: CovarianceLike,
    prior_precision: float,
    noise_scale: float,
) -> SharedFree:
    """The objective ``F = −log Z_w(μ, Σ) + Σ −log N(yₙ; μᵀψₙ, σ² + ψₙᵀΣψₙ)`` with its terms apart, nats.

    Parameters
    ----------
    mean, covariance : the free belief; the covariance is a family of :mod:`corners.exact.covariance`, a plain matrix,
        or ``None``.
    prior_precision : ``α``. noise_scale : standard deviation ``σ``.

    Reference: theory 3.5.

    Example
    -------
    >>> value = shared_free_terms([[1.0]], [1.0], [1.0], None, prior_precision=1.0, noise_scale=1.0)  # w: 1, y: 0
    >>> bool(np.isclose(value.total, np.log(2 * np.pi) + 0.5))
    True
    """
    matrix, vector, centre, family = _belief(features, targets, mean, covariance)
    means, variances = matrix @ centre, family.variances(matrix)
    plates = gaussian_plates(vector, means, variances, noise_scale)
    return SharedFree(prior_overlap(centre, family, prior_precision).value, plates.value, means, variances)


def shared_free_gradient(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    mean: Float[Array, " H"] | ArrayLike,
    covariance: CovarianceLike,
    prior_precision: float,
    noise_scale: float,
) -> SharedFreeGradient:
    """Gradient of :func:`shared_free_terms` with respect to everything it depends on.

    ``∂_μ = a + Ψᵀℓ'``, ``G = ½(M⁻¹ − aaᵀ) + Ψᵀ diag(g) Ψ``, ``∂_log α = −(tr M⁻¹ − ‖a‖²)/2α``, ``∂_log σ² = σ² Σ gₙ``,
    ``∂ψₙ = ℓ'ₙμ + 2gₙΣψₙ``. Reference: theory 3.5.

    Example
    -------
    >>> gradient = shared_free_gradient([[1.0]], [1.0], [1.0], None, prior_precision=1.0, noise_scale=1.0)
    >>> gradient.mean.tolist(), gradient.log_noise_var  # a = 1, r = 0, g = 1/2
    ([1.0], 0.5)
    """
    matrix, vector, centre, family = _belief(features, targets, mean, covariance)
    plates = gaussian_plates(vector, matrix @ centre, family.variances(matrix), noise_scale)
    return gradient_from_plates(matrix, centre, family, prior_precision, plates, noise_scale)


def gradient_from_plates(
    features: Float[Array, "N H"],
    mean: Float[Array, " H"],
    covariance: CovarianceLike,
    prior_precision: float,
    plates: PlateTerms,
    noise_scale: float | None = None,
) -> SharedFreeGradient:
    """The same chain for any head, from its per-plate derivatives.

    A head without ``noise_scale`` has no such parameter: ``log_noise_var`` is then NaN.
    Reference: theory 3.5.

    Example
    -------
    >>> flat = PlateTerms(np.zeros(1), np.zeros(1), np.zeros(1))  # no data term: only the prior pulls
    >>> gradient_from_plates(np.ones((1, 1)), np.array([2.0]), None, 4.0, flat).mean.tolist()
    [8.0]
    """
    family = as_covariance(covariance, len(mean))
    overlap = prior_overlap(mean, family, prior_precision)
    return chain_plates(features, mean, family, prior_precision, plates, overlap, noise_scale)


def chain_plates(
    features: Float[Array, "N H"],
    mean: Float[Array, " H"],
    family: Covariance,
    prior_precision: float,
    plates: PlateTerms,
    overlap: PriorOverlap,
    noise_scale: float | None,
) -> SharedFreeGradient:
    """:func:`gradient_from_plates` with the prior term already at hand."""
    slope = 0.5 * (overlap.inverse - np.outer(overlap.pull, overlap.pull))
    spread = float(np.trace(overlap.inverse)) - float(overlap.pull @ overlap.pull)
    slope += (features.T * plates.slope_var) @ features
    along = features @ family.matrix(len(mean))
    return SharedFreeGradient(
        mean=overlap.pull + features.T @ plates.slope_mean,
        covariance=slope,
        family=family.chain(slope),
        log_prior_precision=-0.5 * spread / prior_precision,
        log_noise_var=float("nan") if noise_scale is None else noise_scale**2 * float(plates.slope_var.sum()),
        features=np.outer(plates.slope_mean, mean) + 2.0 * plates.slope_var[:, None] * along,
    )


def _belief(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    mean: Float[Array, " H"] | ArrayLike,
    covariance: CovarianceLike,
) -> tuple[Float[Array, "N H"], Float[Array, " N"], Float[Array, " H"], Covariance]:
    """Features, targets, mean and family that belong together."""
    matrix, vector = as_problem(features, targets)
    width = matrix.shape[1]
    return matrix, vector, as_vector("mean", mean, width), as_covariance(covariance, width)
