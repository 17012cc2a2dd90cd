"""Gaussian predictive: what a Gaussian belief and Gaussian noise give."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from corners.numerics import LOG_2PI
from corners.predictive._base import Predictive, require_level, require_moments, require_targets
from corners.types import Array, Float

INV_SQRT_PI = float(1.0 / np.sqrt(np.pi))


def gaussian_crps(targets: Array, mean: Array, variance: Array) -> Array:
    """CRPS of ``N(mean, variance)``: ``√V [z (2Φ(z) - 1) + 2φ(z) - π^{-1/2}]``, ``z = (y - mean)/√V`` (theory 11)."""
    scale = np.sqrt(variance)
    z = (targets - mean) / scale
    density = np.exp(-0.5 * (LOG_2PI + z**2))
    return scale * (z * (2.0 * special.ndtr(z) - 1.0) + 2.0 * density - INV_SQRT_PI)


@dataclass(frozen=True, eq=False)
class GaussianPredictive(Predictive):
    """``N(mean_n, variance_n)`` at every data point.

    Raises
    ------
    DataError : a mean is not finite, a variance is not positive and finite, or the shapes differ.

    Example
    -------
    >>> import numpy as np
    >>> GaussianPredictive(np.zeros(1), np.ones(1)).cdf(np.zeros(1)).tolist()
    [0.5]
    """

    means: Float[Array, " N"]
    variances: Float[Array, " N"]

    def __post_init__(self) -> None:
        means, variances = require_moments(self.means, self.variances, 1)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "variances", variances)

    @property
    def mean(self) -> Float[Array, " N"]:
        """Predictive means."""
        return self.means

    @property
    def variance(self) -> Float[Array, " N"]:
        """Predictive variances, noise included."""
        return self.variances

    def standardised(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``z = (y - m)/√V``."""
        return (require_targets(targets, self.means.size) - self.means) / np.sqrt(self.variances)

    def log_prob(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``-½ (log 2πV + (y - m)²/V)``."""
        return -0.5 * (LOG_2PI + np.log(self.variances) + self.standardised(targets) ** 2)

    def cdf(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``Φ((y - m)/√V)``."""
        return special.ndtr(self.standardised(targets))

    def quantile(self, level: float) -> Float[Array, " N"]:
        """``m + √V Φ⁻¹(level)``."""
        return self.means + np.sqrt(self.variances) * special.ndtri(require_level(level))

    def crps(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """Closed form of theory 11, in target units."""
        return gaussian_crps(require_targets(targets, self.means.size), self.means, self.variances)

    def sample(self, count: int, generator: np.random.Generator) -> Float[Array, "S N"]:
        """Independent normal draws."""
        noise = generator.standard_normal((count, self.means.size))
        return self.means + np.sqrt(self.variances) * noise
