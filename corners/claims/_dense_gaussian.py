"""Last layers by dense matrices, straight from their definitions: the second way of the claims."""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from corners.claims._problems import Problem
from corners.numerics import LOG_2PI
from corners.types import Array, Float


class DenseBelief(NamedTuple):
    """``N(mean, covariance)`` of the weights."""

    mean: Float[Array, " H"]
    covariance: Float[Array, "H H"]


def normal_loss(value: Float[Array, " D"], mean: Float[Array, " D"], covariance: Float[Array, "D D"]) -> float:
    """``-log N(value; mean, covariance)`` by a determinant and a solve, nats."""
    error = value - mean
    log_det = float(np.linalg.slogdet(covariance)[1])
    return 0.5 * (len(error) * LOG_2PI + log_det + float(error @ np.linalg.solve(covariance, error)))


def plate_losses(
    targets: Float[Array, " N"], means: Float[Array, " N"], variances: Float[Array, " N"] | float
) -> Float[Array, " N"]:
    """``-log N(y_n; m_n, V_n)``, nats."""
    return -norm.logpdf(targets, means, np.sqrt(variances))


def dense_posterior(problem: Problem, features: Float[Array, "M H"], targets: Float[Array, " M"]) -> DenseBelief:
    """``Σ = (αI + ΨᵀΨ/σ²)⁻¹`` and ``μ = ΣΨᵀy/σ²`` of some rows of a problem, by an inverse."""
    precision = problem.prior_precision * np.eye(problem.width) + features.T @ features / problem.noise_var
    covariance = np.linalg.inv(precision)
    return DenseBelief(covariance @ (features.T @ targets) / problem.noise_var, covariance)


def dense_evidence(problem: Problem) -> float:
    """``-log Z = -log N(y; 0, σ²I + ΨΨᵀ/α)``, nats."""
    outer = problem.features @ problem.features.T / problem.prior_precision
    return normal_loss(problem.targets, np.zeros(problem.rows), problem.noise_var * np.eye(problem.rows) + outer)


def prior_term(belief: DenseBelief, prior_precision: float) -> float:
    """``-log Z_w = -log N(μ; 0, Σ + I/α)``, nats."""
    width = len(belief.mean)
    return normal_loss(belief.mean, np.zeros(width), belief.covariance + np.eye(width) / prior_precision)


def latent_variances(features: Float[Array, "N H"], covariance: Float[Array, "H H"]) -> Float[Array, " N"]:
    """``v_n = ψ_nᵀΣψ_n``."""
    return np.einsum("nh,hk,nk->n", features, covariance, features)


def shared_loss(problem: Problem, belief: DenseBelief) -> float:
    """``-log Z_w + Σ -log N(y_n; m_n, σ² + v_n)``, nats."""
    variances = problem.noise_var + latent_variances(problem.features, belief.covariance)
    data = plate_losses(problem.targets, problem.features @ belief.mean, variances)
    return prior_term(belief, problem.prior_precision) + float(data.sum())


def random_belief(width: int, generator: np.random.Generator, scale: float = 1.0) -> DenseBelief:
    """A mean and a covariance of full rank, both of the size of a standard deviation ``scale``."""
    root = generator.normal(size=(width, width)) / np.sqrt(width)
    return DenseBelief(scale * generator.normal(size=width), scale**2 * (root @ root.T + 0.1 * np.eye(width)))
