"""Moments and evidence of a posterior of a few coordinates by importance sampling: an oracle that runs no chain."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special, stats

CHUNK = 1000


@dataclass(frozen=True)
class Importance:
    """Weighted draws from a Student-t that is wider than the posterior."""

    draws: np.ndarray
    weights: np.ndarray
    log_evidence: float

    @property
    def ess(self) -> float:
        """How many equal draws they are worth."""
        return float(1.0 / (self.weights**2).sum())

    @property
    def log_evidence_se(self) -> float:
        """Delta method."""
        return float(np.sqrt(1.0 / self.ess - 1.0 / len(self.weights)))

    @property
    def mean(self) -> np.ndarray:
        """Of every coordinate."""
        return self.weights @ self.draws

    @property
    def sd(self) -> np.ndarray:
        """Of every coordinate."""
        return np.sqrt(self.weights @ (self.draws - self.mean) ** 2)


def importance(
    log_joint: Callable[[np.ndarray], np.ndarray], start: np.ndarray, *, draws: int = 20_000, seed: int = 0
) -> Importance:
    """``log_joint`` maps (S, D) to (S,), constants included; ``start`` is where its mode is looked for."""
    found = optimize.minimize(lambda x: -log_joint(x[None])[0], start, method="BFGS")
    covariance = np.linalg.inv(_curvature(log_joint, found.x))
    proposal = stats.multivariate_t(found.x, 1.3 * covariance, df=5)
    points = proposal.rvs(draws, random_state=np.random.default_rng(seed))
    log_target = np.concatenate([log_joint(points[k : k + CHUNK]) for k in range(0, draws, CHUNK)])
    log_ratio = log_target - proposal.logpdf(points)
    total = special.logsumexp(log_ratio)
    return Importance(points, np.exp(log_ratio - total), float(total - np.log(draws)))


def _curvature(log_joint: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float = 1e-3) -> np.ndarray:
    basis = step * np.eye(len(x))
    corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    at = np.array([x + a * i + b * j for i in basis for j in basis for a, b in corners])
    values = log_joint(at).reshape(len(x), len(x), 4) @ np.array([1.0, -1.0, -1.0, 1.0])
    return -values / (4.0 * step**2)
