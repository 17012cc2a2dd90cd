"""ELBO, KL and MAP at the same ``(μ, Σ, α, σ²)``, and the diagonal family's optimum (theory 3.6)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from corners.exact._inputs import as_float64, as_problem, as_vector, positive
from corners.exact.covariance import CovarianceLike, DiagonalCovariance, as_covariance
from corners.exact.factorisation import factorise, mean_weights, shrink
from corners.numerics import LOG_2PI, safe_cholesky
from corners.types import Array, Float


@dataclass(frozen=True, eq=False)
class Objective:
    """An objective with its prior term and its per-plate data terms apart, nats; ``total`` is minimised."""

    prior_term: float
    data_terms: Float[Array, " N"]

    @property
    def total(self) -> float:
        """Prior term plus the sum over plates, nats."""
        return self.prior_term + float(self.data_terms.sum())


@dataclass(frozen=True, eq=False)
class DiagonalOptimum:
    """The best diagonal belief of the ELBO; ``gap`` is how far its negative ELBO lies above ``−log Z``, nats."""

    mean: Float[Array, " H"]
    scales: Float[Array, " H"]
    neg_elbo: float
    gap: float


def kl_to_prior(mean: Float[Array, " H"] | ArrayLike, covariance: CovarianceLike, prior_precision: float) -> float:
    """``KL(q‖p) = ½[α tr Σ + α‖μ‖² − H − H log α − log|Σ|]``, nats; infinite for a singular ``Σ``.

    Reference: theory 3.6.

    Example
    -------
    >>> kl_to_prior([1.0], np.eye(1), prior_precision=1.0)  # the prior moved by one standard deviation
    0.5
    """
    centre = np.atleast_1d(as_float64("mean", mean))
    precision, width = positive("prior_precision", prior_precision), len(centre)
    family = as_covariance(covariance, width)
    spread = precision * (float(np.trace(family.matrix(width))) + float(centre @ centre))
    return 0.5 * (spread - width - width * math.log(precision) - family.log_det(width))


def kl_divergence(
    mean: Float[Array, " H"],
    covariance: CovarianceLike,
    other_mean: Float[Array, " H"],
    other_covariance: Float[Array, "H H"],
) -> float:
    """``KL(N(μ, Σ)‖N(μ', Σ'))``, nats.

    With the posterior as ``N(μ', Σ')`` it is the negative ELBO minus ``−log Z``. Reference: theory 3.6.

    Example
    -------
    >>> kl_divergence(np.zeros(1), np.eye(1), np.ones(1), np.eye(1))
    0.5
    """
    width = len(mean)
    family = as_covariance(covariance, width)
    factor = safe_cholesky(other_covariance, largest_jitter=0.0)
    half = np.linalg.solve(factor.lower, np.column_stack([family.matrix(width), (mean - other_mean)[:, None]]))
    trace = float(np.trace(np.linalg.solve(factor.lower, half[:, :width].T)))
    return 0.5 * (trace + float(half[:, width] @ half[:, width]) - width + factor.log_det - family.log_det(width))


def neg_elbo(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    mean: Float[Array, " H"] | ArrayLike,
    covariance: CovarianceLike,
    prior_precision: float,
    noise_scale: float,
) -> Objective:
    """Negative ELBO ``KL(q‖p) + Σ ½ log 2πσ² + (rₙ² + vₙ)/2σ²``, nats.

    At the posterior it is exactly ``−log Z``. Reference: theory 3.6.

    Example
    -------
    >>> bound = neg_elbo([[1.0]], [0.0], [0.0], np.eye(1), prior_precision=1.0, noise_scale=1.0)  # q = p
    >>> bound.prior_term, bool(np.isclose(bound.total, 0.5 * np.log(2 * np.pi) + 0.5))
    (0.0, True)
    """
    matrix, vector = as_problem(features, targets)
    centre = as_vector("mean", mean, matrix.shape[1])
    noise_var = positive("noise_scale", noise_scale) ** 2
    spread = (vector - matrix @ centre) ** 2 + as_covariance(covariance, len(centre)).variances(matrix)
    data = 0.5 * (LOG_2PI + math.log(noise_var) + spread / noise_var)
    return Objective(kl_to_prior(centre, covariance, prior_precision), data)


def map_objective(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    mean: Float[Array, " H"] | ArrayLike,
    prior_precision: float,
    noise_scale: float,
) -> Objective:
    """Negative log joint ``½[H log(2π/α) + α‖μ‖²] + Σ −log N(yₙ; mₙ, σ²)``, nats.

    Normalisers included: it is the free shared cell at ``Σ = 0``.

    Reference: theory 3.6.

    Example
    -------
    >>> bool(np.isclose(map_objective([[1.0]], [1.0], [1.0], 1.0, 1.0).total, np.log(2 * np.pi) + 0.5))
    True
    """
    matrix, vector = as_problem(features, targets)
    centre = as_vector("mean", mean, matrix.shape[1])
    precision, noise_var = positive("prior_precision", prior_precision), positive("noise_scale", noise_scale) ** 2
    prior = 0.5 * (len(centre) * (LOG_2PI - math.log(precision)) + precision * float(centre @ centre))
    return Objective(prior, 0.5 * (LOG_2PI + math.log(noise_var) + (vector - matrix @ centre) ** 2 / noise_var))


def diagonal_optimum(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    prior_precision: float,
    noise_scale: float,
) -> DiagonalOptimum:
    """Diagonal belief that minimises the negative ELBO: ``μ = μ*``, ``s_d = 1/A_dd``.

    Its gap to ``−log Z`` is ``½(Σ log A_dd − log|A|) ≥ 0``.

    Reference: theory 3.6.

    Example
    -------
    >>> diagonal_optimum([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0], 1.0, 1.0).gap  # orthogonal features: nothing is lost
    0.0
    """
    matrix, vector = as_problem(features, targets)
    precision, noise_var = positive("prior_precision", prior_precision), positive("noise_scale", noise_scale) ** 2
    factorisation = factorise(matrix, vector)
    mean = mean_weights(factorisation, shrink(factorisation, precision * noise_var))
    scales = 1.0 / (precision + (matrix**2).sum(axis=0) / noise_var)
    bound = neg_elbo(matrix, vector, mean, DiagonalCovariance(scales), precision, noise_scale)
    log_det = float(np.log(precision + factorisation.singular2 / noise_var).sum())
    log_det += (matrix.shape[1] - len(factorisation.singular)) * math.log(precision)
    return DiagonalOptimum(mean, scales, bound.total, max(0.0, -0.5 * (float(np.log(scales).sum()) + log_det)))
