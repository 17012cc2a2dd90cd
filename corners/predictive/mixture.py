"""Equal-weight mixture of Gaussians: what draws of a sampler or members of an ensemble give."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from corners.numerics import LOG_2PI
from corners.predictive._base import Predictive, require_level, require_moments, require_targets
from corners.predictive.gaussian import GaussianPredictive
from corners.types import Array, Float

BISECTIONS = 200  # at most; a bracket stops shrinking sooner, when its ends are neighbouring floats
TAIL_SCALES = 9.0  # F(1 - F) is below 1e-18 farther out than this many component scales
STEPS_A_SCALE = 2.0  # the trapezoid rule then errs by exp(-(2π)²), about 1e-17


@dataclass(frozen=True, eq=False)
class MixturePredictive(Predictive):
    """``(1/S) Σ_s N(mean_sn, variance_sn)`` at every data point.

    Raises
    ------
    DataError : a mean is not finite, a variance is not positive and finite, or the shapes differ.

    Example
    -------
    >>> import numpy as np
    >>> MixturePredictive(np.array([[-1.0], [1.0]]), np.ones((2, 1))).variance.tolist()
    [2.0]
    """

    means: Float[Array, "S N"]
    variances: Float[Array, "S N"]

    def __post_init__(self) -> None:
        means, variances = require_moments(self.means, self.variances, 2)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "variances", variances)

    @property
    def mean(self) -> Float[Array, " N"]:
        """Mean of the component means."""
        return self.means.mean(axis=0)

    @property
    def variance(self) -> Float[Array, " N"]:
        """Mean of the component variances plus variance of the component means."""
        return self.variances.mean(axis=0) + self.means.var(axis=0)

    @property
    def moment_matched(self) -> GaussianPredictive:
        """The Gaussian with the mixture's mean and variance."""
        return GaussianPredictive(self.mean, self.variance)

    def log_prob(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """Log mean of the component densities."""
        residuals = require_targets(targets, self.means.shape[1]) - self.means
        terms = -0.5 * (LOG_2PI + np.log(self.variances) + residuals**2 / self.variances)
        return special.logsumexp(terms, axis=0) - np.log(len(self.means))

    def cdf(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """Mean of the component distribution functions."""
        residuals = require_targets(targets, self.means.shape[1]) - self.means
        return special.ndtr(residuals / np.sqrt(self.variances)).mean(axis=0)

    def quantile(self, level: float) -> Float[Array, " N"]:
        """By bisection of the distribution function between the extreme component quantiles."""
        component = self.means + np.sqrt(self.variances) * special.ndtri(require_level(level))
        low, high = component.min(axis=0), component.max(axis=0)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if np.all((middle <= low) | (middle >= high)):
                break
            below = self.cdf(middle) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high

    def crps(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``E|Y - y| - ½ E|Y - Y'|``, in target units; exact to rounding.

        The second term is summed pair by pair, or integrated as ``∫ F (1 - F) dt`` where that costs less; the integrand
        is analytic and decays like a Gaussian, so the trapezoid rule is exact to rounding too.

        Reference: Grimit et al. (2006), The continuous ranked probability score for circular variables and its
        application to mesoscale forecast ensemble verification, equation 5.
        """
        residuals = require_targets(targets, self.means.shape[1]) - self.means
        first = _mean_absolute(residuals, self.variances).mean(axis=0)
        low, step, points = self._grid()
        return first - (
            self._spread_by_pairs() if points > len(self.means) else self._spread_by_grid(low, step, points)
        )

    def sample(self, count: int, generator: np.random.Generator) -> Float[Array, "S N"]:
        """Choose a component a draw, the same for every data point, then independent normal draws from it."""
        component = generator.integers(len(self.means), size=count)
        noise = generator.standard_normal((count, self.means.shape[1]))
        return self.means[component] + np.sqrt(self.variances[component]) * noise

    def _grid(self) -> tuple[Array, Array, int]:
        """Lower ends and steps of every data point's grid, and how many points the longest one needs."""
        scales = np.sqrt(self.variances)
        low = (self.means - TAIL_SCALES * scales).min(axis=0)
        high = (self.means + TAIL_SCALES * scales).max(axis=0)
        points = int(np.ceil(((high - low) * STEPS_A_SCALE / scales.min(axis=0)).max())) + 1
        return low, (high - low) / (points - 1), points

    def _spread_by_grid(self, low: Array, step: Array, points: int) -> Array:
        """``½ E|Y - Y'| = ∫ F (1 - F) dt`` by the trapezoid rule (both ends are zero to rounding)."""
        total = np.zeros_like(low)
        for k in range(points):
            level = self.cdf(low + k * step)
            total += level * (1.0 - level)
        return total * step

    def _spread_by_pairs(self) -> Array:
        """``½ E|Y - Y'|`` as the mean over all pairs of components."""
        total = np.zeros(self.means.shape[1])
        for mean, variance in zip(self.means, self.variances, strict=True):
            total += _mean_absolute(mean - self.means, variance + self.variances).mean(axis=0)
        return 0.5 * total / len(self.means)


def _mean_absolute(mean: Array, variance: Array) -> Array:
    """``E|X|`` for ``X ~ N(mean, variance)``: ``m (2Φ(m/s) - 1) + 2 s φ(m/s)``."""
    scale = np.sqrt(variance)
    z = mean / scale
    return mean * (2.0 * special.ndtr(z) - 1.0) + 2.0 * scale * np.exp(-0.5 * (LOG_2PI + z**2))
