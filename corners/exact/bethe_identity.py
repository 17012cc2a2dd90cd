"""The true Bethe energy of the closed cell, part by part, and the coupling a shared belief loses (theory 3.8)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from corners.exact._inputs import as_features, as_problem, as_vector, positive
from corners.exact.covariance import CovarianceLike, as_covariance
from corners.exact.factorisation import factorise, mean_weights, shrink
from corners.exact.leave_one_out import spectral_leave_one_out
from corners.numerics import LOG_2PI
from corners.types import Array, Float


@dataclass(frozen=True, eq=False)
class BetheIdentity:
    """``log Z = Φ(q) − Φ(p) + Σ [log p(yₙ|y₋ₙ) − (Φ(q) − Φ(q₋ₙ))]``, nats, part by part.

    ``Φ`` is the log normaliser in natural parameters.
    """

    posterior_normaliser: float
    prior_normaliser: float
    cavity_log_predictives: Float[Array, " N"]
    counting_terms: Float[Array, " N"]

    @property
    def log_evidence(self) -> float:
        """The sum of the parts, which is ``log Z``."""
        plates = float((self.cavity_log_predictives - self.counting_terms).sum())
        return self.posterior_normaliser - self.prior_normaliser + plates


def bethe_parts(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    prior_precision: float,
    noise_scale: float,
) -> BetheIdentity:
    """The exact Bethe energy at its fixed point: what ``−log Z_w + Σ −log Zₙ`` leaves out are the counting terms.

    ``Φ(Λ, η) = ½[ηᵀΛ⁻¹η − log|Λ| + H log 2π]`` and ``Φ(q) − Φ(q₋ₙ) = ½[log(1−hₙ) + yₙ²/σ² − (yₙ − m₋ₙ)²/V₋ₙ]``.
    Reference: theory 3.8(h).

    Example
    -------
    >>> from corners.exact.cholesky_form import log_evidence
    >>> parts = bethe_parts([[1.0], [2.0]], [0.5, -1.0], prior_precision=1.0, noise_scale=1.0)
    >>> bool(np.isclose(parts.log_evidence, log_evidence([[1.0], [2.0]], [0.5, -1.0], 1.0, 1.0)))
    True
    """
    matrix, vector = as_problem(features, targets)
    precision, noise_var = positive("prior_precision", prior_precision), positive("noise_scale", noise_scale) ** 2
    factorisation, width = factorise(matrix, vector), matrix.shape[1]
    mean = mean_weights(factorisation, shrink(factorisation, precision * noise_var))
    unreached = (width - len(factorisation.singular)) * math.log(precision)
    log_det = float(np.log(precision + factorisation.singular2 / noise_var).sum()) + unreached
    natural = float(mean @ (matrix.T @ vector)) / noise_var
    loo = spectral_leave_one_out(factorisation, vector, precision, noise_var)
    left_out = (vector - loo.means) ** 2 / loo.variances
    return BetheIdentity(
        posterior_normaliser=0.5 * (natural - log_det + width * LOG_2PI),
        prior_normaliser=0.5 * width * (LOG_2PI - math.log(precision)),
        cavity_log_predictives=-loo.terms,
        counting_terms=0.5 * (np.log(loo.one_minus_leverage) + vector**2 / noise_var - left_out),
    )


def coupling_lost(
    features: Float[Array, "N H"] | ArrayLike,
    covariance: CovarianceLike,
    noise_scale: float,
) -> float:
    """Total correlation ``½(Σ log Vₙ − log|σ²I + ΨΣΨᵀ|) ≥ 0`` that scoring plate by plate drops, nats.

    Reference: theory 3.8(c).

    Example
    -------
    >>> lost = coupling_lost([[1.0], [1.0]], np.eye(1), noise_scale=1.0)  # V = 2, 2 against |[[2, 1], [1, 2]]| = 3
    >>> bool(np.isclose(lost, 0.5 * np.log(4.0 / 3.0)))
    True
    """
    matrix = as_features(features)
    noise_var = positive("noise_scale", noise_scale) ** 2
    family = as_covariance(covariance, matrix.shape[1])
    marginal = float(np.log1p(family.variances(matrix) / noise_var).sum())
    values, vectors = np.linalg.eigh(family.matrix(matrix.shape[1]))
    spread = (matrix @ vectors) * np.sqrt(np.maximum(values, 0.0) / noise_var)
    joint = float(np.log1p(np.linalg.svd(spread, compute_uv=False) ** 2).sum())
    return 0.5 * (marginal - joint)


def joint_minus_plates(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    mean: Float[Array, " H"] | ArrayLike,
    covariance: CovarianceLike,
    noise_scale: float,
) -> float:
    """``−log N(y; Ψμ, σ²I + ΨΣΨᵀ) − Σ −log N(yₙ; mₙ, Vₙ)`` at these targets, nats.

    No fixed sign; under the joint its mean is minus the coupling lost.

    Reference: theory 3.8(c).

    Example
    -------
    >>> gap = joint_minus_plates([[1.0]], [3.0], [0.0], np.eye(1), noise_scale=1.0)  # nothing to couple
    >>> abs(gap) < 1e-12
    True
    """
    matrix, vector = as_problem(features, targets)
    noise_var = positive("noise_scale", noise_scale) ** 2
    family = as_covariance(covariance, matrix.shape[1])
    residual = vector - matrix @ as_vector("mean", mean, matrix.shape[1])
    joint = noise_var * np.eye(len(vector)) + matrix @ family.matrix(matrix.shape[1]) @ matrix.T
    factor = cho_factor(joint, lower=True)
    whole = 2.0 * float(np.log(factor[0].diagonal()).sum()) + float(residual @ cho_solve(factor, residual))
    total = noise_var + family.variances(matrix)
    return 0.5 * (whole - float((np.log(total) + residual**2 / total).sum()))
