"""Dense oracles of the cells: latent marginals by refitting, and the energy of each cell from its definition.

Built on :mod:`tests.support.oracles`; one problem, no batch dimension, float64, nothing clever.
"""

from dataclasses import dataclass

import numpy as np

from tests.support.oracles import log_evidence, plate_terms, posterior, prior_term

Array = np.ndarray

__all__ = ["posterior", "prior_term"]


def neg_log_evidence(features: Array, targets: Array, precision: float, noise_var: float) -> float:
    """``-log N(y; 0, σ²I + ΨΨᵀ/α)``."""
    return -log_evidence(features, targets, precision, noise_var)


def forward(features: Array, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """``m_n = μᵀψ_n`` and ``v_n = ψ_nᵀΣψ_n``, one row after another."""
    return np.array([mean @ row for row in features]), np.array([row @ covariance @ row for row in features])


def plates(targets: Array, mean: Array, variance: Array, noise_var: float) -> Array:
    """``-log N(y_n; m_n, σ² + v_n)`` a data point."""
    return plate_terms(targets, mean, noise_var + variance)


def leave_one_out(features: Array, targets: Array, precision: float, noise_var: float) -> tuple[Array, Array]:
    """Latent mean and variance at each row under the posterior of all other rows, by refitting N times."""
    return _refitted(features, targets, precision, noise_var, lambda n, rows: rows != n)


def prefixes(features: Array, targets: Array, precision: float, noise_var: float) -> tuple[Array, Array]:
    """Latent mean and variance at each row under the posterior of the rows before it, by refitting N times."""
    return _refitted(features, targets, precision, noise_var, lambda n, rows: rows < n)


def _refitted(features: Array, targets: Array, precision: float, noise_var: float, seen) -> tuple[Array, Array]:
    rows, means, variances = np.arange(len(targets)), [], []
    for n, row in enumerate(features):
        keep = seen(n, rows)
        mean, covariance = posterior(features[keep], targets[keep], precision, noise_var)
        means.append(row @ mean)
        variances.append(row @ covariance @ row)
    return np.array(means), np.array(variances)


def ridge(features: Array, targets: Array, strength: float) -> tuple[Array, Array]:
    """``(λI + ΨᵀΨ)⁻¹Ψᵀy`` and the residual of each row under the ridge fit without that row, by refitting."""
    rows = np.arange(len(targets))

    def fit(keep: Array) -> Array:
        gram = strength * np.eye(features.shape[1]) + features[keep].T @ features[keep]
        return np.linalg.solve(gram, features[keep].T @ targets[keep])

    left_out = np.array([targets[n] - features[n] @ fit(rows != n) for n in rows])
    return fit(rows >= 0), left_out


def mackay_fixed_point(features: Array, targets: Array, noise_var: float, steps: int = 2000) -> float:
    """``α = γ/‖μ*‖²``, ``γ = H - α tr Σ*``, iterated from 1 at fixed noise."""
    precision = 1.0
    for _ in range(steps):
        mean, covariance = posterior(features, targets, precision, noise_var)
        precision = float((features.shape[1] - precision * np.trace(covariance)) / (mean @ mean))
    return precision


@dataclass(frozen=True)
class Energy:
    """Data and prior term of a cell, in nats."""

    data: float
    prior: float


def energy(
    cavity: str,
    routing: str,
    family: str,
    features: Array,
    targets: Array,
    precision: float,
    noise_var: float,
    *,
    mean: Array | None = None,
    covariance: Array | None = None,
    jitter: float = 0.0,
) -> Energy:
    """The cell's energy from its definition (theory 2).

    ``mean`` and ``covariance`` are the free parts, the latter with its jitter; what is bound is computed here.
    """
    exact_mean, exact = posterior(features, targets, precision, noise_var)
    if routing == "closed" and cavity != "shared":
        seen = leave_one_out if cavity == "leave_one_out" else prefixes
        marginals = seen(features, targets, precision, noise_var)
        return Energy(float(plates(targets, *marginals, noise_var).sum()), 0.0)
    if routing == "closed":
        optimum = {"dense": exact, "diagonal": np.diag(1.0 / np.diag(np.linalg.inv(exact))), "none": 0.0 * exact}[
            family
        ]
        covariance = optimum + (0.0 if family == "none" else jitter) * np.eye(len(exact_mean))
    if routing != "free":
        mean = exact_mean
    assert mean is not None and covariance is not None
    location, variance = forward(features, mean, covariance)
    if cavity == "leave_one_out":
        _, residual = ridge(features, targets, precision * noise_var)
        location = targets - residual
    return Energy(float(plates(targets, location, variance, noise_var).sum()), prior_term(mean, covariance, precision))
