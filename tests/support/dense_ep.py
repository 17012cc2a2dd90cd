"""Expectation propagation for probit data by its definition: one site after the other on a dense Gaussian, on grids.

Moments of every site's product come from a trapezoid rule, not from a closed form; log Z is theory 3.8(h).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

GRID = np.linspace(-12.0, 12.0, 1201)


@dataclass(frozen=True)
class DenseEP:
    """Sites, the Gaussian on f, the cavities, and log Z."""

    linear: np.ndarray
    precision: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    cavity_mean: np.ndarray
    cavity_var: np.ndarray
    log_evidence: float

    @property
    def log_left_out(self):
        """log of the predictive probability of each label, itself left out."""
        return self._log_z

    _log_z: np.ndarray


def tilted(sign, mean, var, noise_var=1.0):
    """log Z, mean and variance of Phi(sign f / sqrt(noise_var)) N(f; mean, var)."""
    f = mean + np.sqrt(var) * GRID
    log = log_ndtr(sign * f / np.sqrt(noise_var)) - 0.5 * GRID**2
    weights = np.exp(log - log.max())
    total = weights.sum()
    first = weights @ f / total
    log_z = np.log(total * (GRID[1] - GRID[0])) + log.max() - 0.5 * np.log(2.0 * np.pi)
    return log_z, first, weights @ (f - first) ** 2 / total


def dense_ep(covariance, labels, prior_mean=None, noise_var=1.0, sweeps=30):
    """EP for f ~ N(prior_mean, covariance), P(y_n = 1) = Phi(f_n / sqrt(noise_var)), labels 0 and 1."""
    n = len(labels)
    sign = 2.0 * np.asarray(labels, dtype=float) - 1.0
    start = np.zeros(n) if prior_mean is None else np.asarray(prior_mean, dtype=float)
    h, l = np.zeros(n), np.zeros(n)  # noqa: E741
    for _ in range(sweeps):
        for k in range(n):
            mean, cov = _posterior(start, covariance, h, l)
            m, v = _cavity(mean[k], cov[k, k], h[k], l[k])
            _, first, second = tilted(sign[k], m, v, noise_var)
            h[k], l[k] = first / second - m / v, 1.0 / second - 1.0 / v
    mean, cov = _posterior(start, covariance, h, l)
    m, v = np.array([_cavity(a, b, c, d) for a, b, c, d in zip(mean, np.diag(cov), h, l, strict=True)]).T
    log_z = np.array([tilted(s, a, b, noise_var)[0] for s, a, b in zip(sign, m, v, strict=True)])
    evidence = _phi(mean, cov) - _phi(start, covariance)
    evidence += np.sum(log_z + _phi1(m, v) - _phi1(mean, np.diag(cov)))
    return DenseEP(h, l, mean, cov, m, v, float(evidence), log_z)


def _posterior(start, covariance, h, l):  # noqa: E741
    gain = covariance @ np.linalg.inv(np.eye(len(h)) + l[:, None] * covariance)
    return start + gain @ (h - l * start), gain


def _cavity(mean, var, h, l):  # noqa: E741
    left = 1.0 / var - l
    return (mean / var - h) / left, 1.0 / left


def _phi(mean, covariance):
    """The log normaliser of exp(eta'f - f'Lambda f / 2) (theory 3.8h)."""
    return 0.5 * (mean @ np.linalg.solve(covariance, mean) + np.linalg.slogdet(2.0 * np.pi * covariance)[1])


def _phi1(mean, var):
    return 0.5 * (mean**2 / var + np.log(2.0 * np.pi * var))
