"""Dense oracles at fixed features, each from its definition: no leverage, no Woodbury, no telescoping, no SVD.

One problem, float64, variances (not scales); ``precise_*`` repeat a definition in 60 digits, for problems so
ill-conditioned that no float64 route could judge another.
"""

from typing import NamedTuple

import mpmath
import numpy as np

Array = np.ndarray


class Predictives(NamedTuple):
    """Predictive means and variances of the targets, and their negative log densities."""

    means: Array
    variances: Array
    terms: Array


def normal_log_density(value: Array, mean: Array, covariance: Array) -> float:
    """``log N(value; mean, covariance)`` by the determinant and a solve."""
    sign, log_det = np.linalg.slogdet(covariance)
    assert sign > 0
    error = np.asarray(value) - mean
    return -0.5 * float(len(error) * np.log(2.0 * np.pi) + log_det + error @ np.linalg.solve(covariance, error))


def log_evidence(features: Array, targets: Array, precision: float, noise_var: float) -> float:
    """``log N(y; 0, σ²I + ΨΨᵀ/α)``."""
    covariance = noise_var * np.eye(len(targets)) + features @ features.T / precision
    return normal_log_density(targets, np.zeros(len(targets)), covariance)


def posterior(features: Array, targets: Array, precision: float, noise_var: float) -> tuple[Array, Array]:
    """``(Σ*Ψᵀy/σ², Σ*)`` with ``Σ* = (αI + ΨᵀΨ/σ²)⁻¹``; the prior where there are no rows."""
    covariance = np.linalg.inv(precision * np.eye(features.shape[1]) + features.T @ features / noise_var)
    return covariance @ features.T @ targets / noise_var, covariance


def refitted(features: Array, targets: Array, precision: float, noise_var: float, seen: list[Array]) -> Predictives:
    """Score plate ``n`` by the posterior of the plates ``seen[n]``, refitted for each."""
    means, variances = np.empty(len(targets)), np.empty(len(targets))
    for n, rows in enumerate(seen):
        mean, covariance = posterior(features[rows], targets[rows], precision, noise_var)
        means[n] = features[n] @ mean
        variances[n] = noise_var + features[n] @ covariance @ features[n]
    return Predictives(means, variances, plate_terms(targets, means, variances))


def leave_one_out(features: Array, targets: Array, precision: float, noise_var: float) -> Predictives:
    """Every plate scored by the posterior of all others, refitted N times."""
    rows = np.arange(len(targets))
    return refitted(features, targets, precision, noise_var, [rows[rows != n] for n in rows])


def sequential(features: Array, targets: Array, precision: float, noise_var: float) -> Predictives:
    """Every plate scored by the posterior of those before it, refitted N times."""
    rows = np.arange(len(targets))
    return refitted(features, targets, precision, noise_var, [rows[:n] for n in rows])


def shared(features: Array, targets: Array, precision: float, noise_var: float) -> Predictives:
    """Every plate scored by the posterior of all plates, itself included."""
    rows = np.arange(len(targets))
    return refitted(features, targets, precision, noise_var, [rows] * len(rows))


def block_terms(features: Array, targets: Array, precision: float, noise_var: float, sizes: list[int]) -> Array:
    """``−log p(y_b | blocks before)`` with the joint predictive of each block."""
    terms, start = [], 0
    for size in sizes:
        part = slice(start, start + size)
        mean, covariance = posterior(features[:start], targets[:start], precision, noise_var)
        rows = features[part]
        joint = noise_var * np.eye(size) + rows @ covariance @ rows.T
        terms.append(-normal_log_density(targets[part], rows @ mean, joint))
        start += size
    return np.array(terms)


def plate_terms(targets: Array, means: Array, variances: Array) -> Array:
    """``−log N(yₙ; mₙ, Vₙ)`` one after another."""
    return np.array(
        [
            -normal_log_density(y[None], m[None], v[None, None])
            for y, m, v in zip(targets, means, variances, strict=True)
        ]
    )


def prior_term(mean: Array, covariance: Array, precision: float) -> float:
    """``−log N(μ; 0, Σ + I/α)``."""
    return -normal_log_density(mean, np.zeros(len(mean)), covariance + np.eye(len(mean)) / precision)


def free_terms(
    features: Array, targets: Array, mean: Array, covariance: Array, precision: float, noise_var: float
) -> tuple[float, Array]:
    """Prior term and data terms of the shared cavity at any Gaussian belief."""
    variances = np.array([noise_var + row @ covariance @ row for row in features])
    return prior_term(mean, covariance, precision), plate_terms(targets, features @ mean, variances)


def kl_divergence(mean: Array, covariance: Array, other_mean: Array, other_covariance: Array) -> float:
    """``KL(N(μ, Σ)‖N(μ', Σ'))`` from its closed form with dense inverses."""
    inverse, gap = np.linalg.inv(other_covariance), other_mean - mean
    log_dets = np.linalg.slogdet(other_covariance)[1] - np.linalg.slogdet(covariance)[1]
    return 0.5 * float(np.trace(inverse @ covariance) + gap @ inverse @ gap - len(mean) + log_dets)


def log_normaliser(precision: Array, shift: Array) -> float:
    """``Φ(Λ, η) = log ∫ exp(ηᵀw − ½wᵀΛw) dw``."""
    quadratic = shift @ np.linalg.solve(precision, shift)
    return 0.5 * float(quadratic - np.linalg.slogdet(precision)[1] + len(shift) * np.log(2.0 * np.pi))


def pairwise_auroc(inside: Array, outside: Array) -> float:
    """Count every pair."""
    wins = [1.0 if b > a else 0.5 if b == a else 0.0 for a in inside for b in outside]
    return float(np.mean(wins))


def precise_sequential(features: Array, targets: Array, precision: float, noise_var: float) -> Predictives:
    """Sequential predictives from the Cholesky factor of the marginal covariance, in 60 digits."""
    with mpmath.workdps(60):
        matrix = mpmath.matrix(features.tolist())
        noise = mpmath.mpf(noise_var)
        lower = mpmath.cholesky(matrix * matrix.T / mpmath.mpf(precision) + noise * mpmath.eye(len(targets)))
        scores: list[mpmath.mpf] = []
        for j, target in enumerate(targets):
            known = sum((lower[j, i] * scores[i] for i in range(j)), mpmath.mpf(0))
            scores.append((mpmath.mpf(float(target)) - known) / lower[j, j])
        pivots = [lower[j, j] for j in range(len(targets))]
        terms = [(mpmath.log(2 * mpmath.pi) + u**2) / 2 + mpmath.log(p) for p, u in zip(pivots, scores, strict=True)]
        means = [float(mpmath.mpf(float(y)) - p * u) for y, p, u in zip(targets, pivots, scores, strict=True)]
        return Predictives(
            np.array(means), np.array([float(p**2) for p in pivots]), np.array([float(t) for t in terms])
        )
