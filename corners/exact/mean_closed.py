"""Mean-closed routing at fixed features: the mean is the ridge solution, the covariance is free (theory 3.10)."""

import numpy as np
from numpy.typing import ArrayLike

from corners.exact._inputs import as_problem, one_of, positive
from corners.exact.covariance import CovarianceLike, as_covariance
from corners.exact.factorisation import factorise, mean_weights, residuals, shrink
from corners.exact.shared_free import SharedFree, gaussian_plates, prior_overlap
from corners.types import Array, Float


def mean_closed_terms(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    ridge: float,
    covariance: CovarianceLike,
    noise_scale: float,
    *,
    residual: str = "leave_one_out",
    with_prior_term: bool = True,
) -> SharedFree:
    """Terms of ``F_mc = [−log Z_w(μ*, Σ)] + Σ ½ log 2πVₙ + eₙ²/2Vₙ`` with ``Vₙ = σ² + ψₙᵀΣψₙ``, nats.

    ``μ* = (λI + ΨᵀΨ)⁻¹Ψᵀy``; ``eₙ = r*ₙ/(1−hₙ)`` for ``residual="leave_one_out"`` and ``r*ₙ`` for ``"shared"``. The
    bracket takes ``α = λ/σ²`` and is left out (prior term 0) with ``with_prior_term=False``. ``means`` are ``yₙ −
    eₙ``, those the plates are scored with.
    Reference: theory 3.10.

    Example
    -------
    >>> cell = mean_closed_terms([[1.0]], [2.0], 1.0, None, noise_scale=1.0, with_prior_term=False)
    >>> cell.means.tolist(), bool(np.isclose(cell.total, 0.5 * np.log(2 * np.pi) + 2.0))
    ([0.0], True)
    """
    matrix, vector = as_problem(features, targets)
    ridge, noise_scale = positive("ridge", ridge), positive("noise_scale", noise_scale)
    family = as_covariance(covariance, matrix.shape[1])
    factorisation = factorise(matrix, vector)
    shrinkage = shrink(factorisation, ridge)
    error = residuals(factorisation, shrinkage)
    if one_of("residual", residual, ("leave_one_out", "shared")) == "leave_one_out":
        error = error / (factorisation.unreached + factorisation.left2 @ shrinkage.lost)
    variances = family.variances(matrix)
    plates = gaussian_plates(error, np.zeros_like(error), variances, noise_scale)
    prior = 0.0
    if with_prior_term:
        prior = prior_overlap(mean_weights(factorisation, shrinkage), family, ridge / noise_scale**2).value
    return SharedFree(prior, plates.value, vector - error, variances)
