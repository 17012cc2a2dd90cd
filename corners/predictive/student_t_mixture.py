"""Equal-weight mixture of Student-t distributions: what draws of a sampler give under heavy-tailed noise."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from corners.errors import SpecError
from corners.predictive._base import Predictive, require_level, require_moments, require_targets
from corners.types import Array, Float

BISECTIONS = 200  # at most; a bracket stops shrinking sooner, when its ends are neighbouring floats
POLE_STEP, WIDTH_STEP = 0.25, 0.75
"""Steps of the grid of the CRPS: in s √ν of the narrowest component, where its poles are, and in s, whichever is less.

The rule errs by exp(-2π/0.25), 1e-11, and for many degrees of freedom, like a Gaussian's, by exp(-2π²/0.75²), 1e-15.
"""
LOST = 1e-12  # of the CRPS, in the tails beyond the grid


@dataclass(frozen=True, eq=False)
class StudentTMixturePredictive(Predictive):
    """``(1/S) Σ_s t_ν((y - location_sn)/scale_s)/scale_s`` at every data point.

    Parameters
    ----------
    locations, scales : of the components, in target units; a scale is no standard deviation.
    df : degrees of freedom ν > 2 of all components, so that there is a variance.

    Raises
    ------
    DataError : a location is not finite, a scale is not positive and finite, or the shapes differ.
    SpecError : ``df`` is not above 2 and finite.

    Example
    -------
    >>> StudentTMixturePredictive(np.array([[-1.0], [1.0]]), np.ones((2, 1)), df=4.0).variance.tolist()
    [3.0]
    """

    locations: Float[Array, "S N"]
    scales: Float[Array, "S N"]
    df: float

    def __post_init__(self) -> None:
        if not 2.0 < self.df < np.inf:
            raise SpecError(f"df must be above 2 and finite; got {self.df}")
        locations, scales = require_moments(self.locations, self.scales, 2)
        object.__setattr__(self, "locations", locations)
        object.__setattr__(self, "scales", scales)

    @property
    def mean(self) -> Float[Array, " N"]:
        """Mean of the locations."""
        return self.locations.mean(axis=0)

    @property
    def variance(self) -> Float[Array, " N"]:
        """Mean of ``s² ν/(ν - 2)`` plus the variance of the locations."""
        return (self.scales**2).mean(axis=0) * self.df / (self.df - 2.0) + self.locations.var(axis=0)

    def log_prob(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """Log mean of the component densities."""
        z = (require_targets(targets, self.locations.shape[1]) - self.locations) / self.scales
        terms = self._log_constant() - np.log(self.scales) - (0.5 * self.df + 0.5) * np.log1p(z**2 / self.df)
        return special.logsumexp(terms, axis=0) - np.log(len(self.locations))

    def _log_constant(self) -> float:
        half = 0.5 * self.df
        return float(special.gammaln(half + 0.5) - special.gammaln(half) - 0.5 * np.log(np.pi * self.df))

    def cdf(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """Mean of the component distribution functions."""
        z = (require_targets(targets, self.locations.shape[1]) - self.locations) / self.scales
        return special.stdtr(self.df, z).mean(axis=0)

    def quantile(self, level: float) -> Float[Array, " N"]:
        """By bisection of the distribution function between the extreme component quantiles."""
        component = self.locations + self.scales * special.stdtrit(self.df, require_level(level))
        low, high = component.min(axis=0), component.max(axis=0)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if np.all((middle <= low) | (middle >= high)):
                break
            below = self.cdf(middle) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high

    def crps(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``E|Y - y| - ½ E|Y - Y'|``, in target units.

        The first is a closed form; the second is ``∫ F (1 - F) dt`` by the trapezoid rule after ``t = c + b sinh(u)``,
        whose tails fall exponentially in u.
        """
        residuals = require_targets(targets, self.locations.shape[1]) - self.locations
        z = residuals / self.scales
        density = np.exp(self._log_constant() - (0.5 * self.df + 0.5) * np.log1p(z**2 / self.df))
        spread = z * (2.0 * special.stdtr(self.df, z) - 1.0) + 2.0 * density * (self.df + z**2) / (self.df - 1.0)
        return (self.scales * spread).mean(axis=0) - self._half_spread()

    def _half_spread(self) -> Float[Array, " N"]:
        """``½ E|Y - Y'| = ∫ F (1 - F) dt``."""
        centre = self.mean
        width = np.abs(self.locations - centre).max(axis=0) + self.scales.max(axis=0)
        end = float(np.arcsinh(1.0 + _reach(self.df)))
        step = min(POLE_STEP * np.sqrt(self.df), WIDTH_STEP) * float((self.scales.min(axis=0) / width).min())
        total = np.zeros_like(centre)
        for u in np.linspace(-end, end, 2 * int(np.ceil(end / step)) + 1):
            level = self.cdf(centre + width * np.sinh(u))
            total += np.cosh(u) * level * (1.0 - level)
        return total * width * end / int(np.ceil(end / step))

    def sample(self, count: int, generator: np.random.Generator) -> Float[Array, "S N"]:
        """Choose a component a draw, the same for every data point, then independent draws from it."""
        component = generator.integers(len(self.locations), size=count)
        noise = generator.standard_t(self.df, (count, self.locations.shape[1]))
        return self.locations[component] + self.scales[component] * noise


def _reach(df: float) -> float:
    """A distance z, in scales, beyond which ``∫ (1 - F)`` is lost: ``z (1 - F(z)) < LOST``."""
    reach = 4.0
    while reach * special.stdtr(df, -reach) > LOST:
        reach *= 1.25
    return reach
