"""Predictive of counts: a Poisson or negative binomial whose log mean is Gaussian."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import special

from corners.errors import DataError, SpecError
from corners.predictive._base import Predictive, require_level, require_targets
from corners.predictive._latent import require_latent_moments
from corners.types import Array, Float

REACH, LATENT_STEP = 9.0, 0.25
"""The rule over the latent value: ±9 standard deviations in steps of a quarter of one, or of 1 where that is less."""
DEPTH, MIXING_STEP = 40.0, 0.3
"""The rule over the log Gamma ratio: where its density exceeds e⁻⁴⁰ of its peak, in steps of 0.3 of its width."""
EXACT = 512  # counts summed one by one; beyond, Euler and Maclaurin integrate between half integers
PANELS, PANEL_NODES = 48, 8
LARGEST = 1e300


@dataclass(frozen=True, eq=False)
class CountPredictive(Predictive):
    """``y | f`` Poisson or negative binomial with mean ``e^f``, ``f ~ N(m_n, v_n)``, at every data point.

    Mean ``ȳ = e^{m+v/2}``, variance ``ȳ + ȳ²(e^v - 1) + ȳ² e^v / r`` (theory 6.3): both explode with v, and are
    infinite where float64 ends; :attr:`median` does not. The distribution function is a trapezoid rule of analytic
    integrands, absolute error below 1e-12.

    Parameters
    ----------
    latent_means, latent_variances : ``m_n`` and ``v_n ≥ 0``.
    log_pmf : ``log P(Y_n = k_n)`` of N counts, the likelihood's own, so that score and objective are one number.
    size : the r of the negative binomial; infinity is the Poisson.

    Raises
    ------
    DataError : moments are not finite, a variance is negative, shapes differ, or ``log_prob`` is asked at no count.
    """

    latent_means: Float[Array, " N"]
    latent_variances: Float[Array, " N"]
    log_pmf: Callable[[Array], Array]
    size: float = np.inf
    task: ClassVar[Literal["regression", "count"]] = "count"

    def __post_init__(self) -> None:
        means, variances = require_latent_moments(self.latent_means, self.latent_variances)
        if not self.size > 0.0:
            raise SpecError(f"size must be positive, infinity for a Poisson; got {self.size}")
        object.__setattr__(self, "latent_means", means)
        object.__setattr__(self, "latent_variances", variances)

    @property
    def mean(self) -> Float[Array, " N"]:
        """``ȳ = e^{m + v/2}``."""
        with np.errstate(over="ignore"):
            return np.exp(self.latent_means + 0.5 * self.latent_variances)

    @property
    def variance(self) -> Float[Array, " N"]:
        """``ȳ + ȳ²(e^v - 1) + ȳ² e^v / r``."""
        with np.errstate(over="ignore", under="ignore"):
            inflation = np.expm1(self.latent_variances) + np.exp(self.latent_variances) / self.size
            spread = np.exp(2.0 * self.latent_means + self.latent_variances + np.log(np.maximum(inflation, 1e-300)))
            return self.mean + np.where(inflation > 0.0, spread, 0.0)

    @property
    def median(self) -> Float[Array, " N"]:
        """The quantile at one half: what to report where the mean explodes."""
        return self.quantile(0.5)

    def log_prob(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``log P(Y_n = y_n)``, in nats (probabilities, not densities)."""
        counts = require_targets(targets, self.latent_means.size)
        good = np.isfinite(counts) & (counts >= 0.0) & (counts == np.floor(counts))
        if not good.all():
            raise DataError(
                f"counts must be whole numbers 0, 1, 2, ...; {int((~good).sum())} of {counts.size} are not "
                f"(first at point {int(np.argmin(good))}: {counts[np.argmin(good)]:g})"
            )
        return self.log_pmf(counts)

    def cdf(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``P(Y_n ≤ y_n)``, a step at every count."""
        counts = np.floor(require_targets(targets, self.latent_means.size))
        return np.where(counts < 0.0, 0.0, self._smooth_cdf(np.clip(counts, 0.0, LARGEST)))

    def quantile(self, level: float) -> Float[Array, " N"]:
        """Smallest count k with ``P(Y_n ≤ k) ≥ level``, by doubling and bisection; infinity above 1e300."""
        require_level(level)
        low = np.full_like(self.latent_means, -1.0)
        high = np.floor(np.exp(np.minimum(self.latent_means, 600.0))) + 1.0
        short = self._smooth_cdf(high) < level
        while short.any():
            low = np.where(short, high, low)
            grown = np.where(high > 1e100, LARGEST, np.minimum(high, 1e100) ** 2 + 3.0)
            high = np.where(short, np.minimum(grown, LARGEST), high)
            short = short & (high < LARGEST) & (self._smooth_cdf(high) < level)
        while True:
            middle = np.floor(0.5 * (low + high))
            inside = (middle > low) & (middle < high)
            if not inside.any():
                return np.where(high >= LARGEST, np.inf, high)
            below = self._smooth_cdf(np.maximum(middle, 0.0)) < level
            low, high = np.where(inside & below, middle, low), np.where(inside & ~below, middle, high)

    def sample(self, count: int, generator: np.random.Generator) -> Float[Array, "S N"]:
        """Draw f, then its rate (a Gamma around ``e^f`` unless Poisson), then a count; rates above 1e18 stay rates."""
        noise = generator.standard_normal((count, self.latent_means.size))
        log_rates = self.latent_means + np.sqrt(self.latent_variances) * noise
        with np.errstate(over="ignore"):
            rates = np.exp(log_rates)
            if np.isfinite(self.size):
                rates = rates * generator.gamma(self.size, 1.0 / self.size, rates.shape)
        large = rates > 1e18  # numpy's sampler ends there, and the relative spread of a Poisson is below 1e-9
        return np.where(large, rates, generator.poisson(np.where(large, 0.0, rates)).astype(np.float64))

    def crps(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``Σ_{k<y} F(k)² + Σ_{k≥y} (1 - F(k))²``, in counts (the integral of a step function is this sum).

        The first 512 counts are summed one by one; beyond, the sum is the integral between half integers with the first
        Euler-Maclaurin correction, by Gauss-Legendre panels: relative error below 1e-7. Infinite above rates of 1e300.
        """
        counts = np.floor(require_targets(targets, self.latent_means.size))
        first, last = self.quantile(1e-14), self.quantile(1.0 - 1e-14)
        infinite = np.isinf(last)
        first, last = np.where(infinite, 0.0, first), np.where(infinite, 0.0, last)
        below = self._sum_of_squares(first, np.maximum(counts, first), lower=True)
        above = self._sum_of_squares(np.maximum(counts, 0.0), np.maximum(last, counts), lower=False)
        # below the first count F is 0 and 1 - F is 1: targets there count whole units
        return np.where(infinite, np.inf, below + above + np.maximum(-counts, 0.0))

    def _sum_of_squares(self, start: Array, stop: Array, *, lower: bool) -> Array:
        """``Σ F²`` or ``Σ (1 - F)²`` over ``start ≤ k < stop``."""

        def term(k: Array) -> Array:
            level = self._smooth_cdf(np.maximum(k, 0.0))
            return level**2 if lower else (1.0 - level) ** 2

        total = np.zeros_like(start)
        bulk = np.minimum(stop, np.maximum(start, EXACT))
        for k in range(int(start.min()), int(min(bulk.max(), EXACT))):
            inside = (start <= k) & (k < bulk)
            total += np.where(inside, term(np.full_like(start, float(k))), 0.0)
        beyond = stop > bulk
        return total + (np.where(beyond, self._panels(term, bulk, stop), 0.0) if beyond.any() else 0.0)

    def _panels(self, term: Callable[[Array], Array], start: Array, stop: Array) -> Array:
        """``Σ_{start ≤ k < stop} term(k) = ∫ term - [term']/24`` between ``start - ½`` and ``stop - ½``."""
        low, high = np.maximum(start, 1.0) - 0.5, np.maximum(stop, start + 1.0) - 0.5
        points, weights = np.polynomial.legendre.leggauss(PANEL_NODES)
        edges = np.linspace(np.log(low), np.log(high), PANELS + 1)
        half = 0.5 * (edges[1] - edges[0])
        total = np.zeros_like(low)
        for left in edges[:-1]:
            for point, weight in zip(points, weights, strict=True):
                k = np.exp(left + half * (1.0 + point))
                total += weight * half * k * term(k)
        slopes = [term(end + 0.5) - term(end - 0.5) for end in (high, low)]
        return total - (slopes[0] - slopes[1]) / 24.0

    def _smooth_cdf(self, counts: Array) -> Array:
        """The distribution function at counts ``k ≥ 0``, continued between them.

        ``Y ≤ k`` iff ``f < T`` with ``T = log(G/Λ)``, ``G ~ Gamma(k + 1)``, ``Λ ~ Gamma(r)/r``. The trapezoid rule
        goes over the wider of the two, f or T, given which the other has a smooth distribution function.
        """
        shapes = counts + 1.0
        width = special.polygamma(1, shapes) + (special.polygamma(1, self.size) if np.isfinite(self.size) else 0.0)
        over_latent = self.latent_variances < width
        out = np.empty_like(counts)
        for chosen, rule in ((over_latent, self._over_latent), (~over_latent, self._over_mixing)):
            if chosen.any():
                out[chosen] = rule(shapes[chosen], self.latent_means[chosen], self.latent_variances[chosen])
        return out

    def _over_latent(self, shapes: Array, means: Array, variances: Array) -> Array:
        """``Σ_z φ(z) P(Y ≤ k | f = m + √v z)``."""
        steps = int(np.ceil(2.0 * REACH / LATENT_STEP * max(1.0, np.sqrt(variances.max()))))
        points = np.linspace(-REACH, REACH, steps + 1)[:, None]
        weights = np.exp(-0.5 * points**2)
        latent = means + np.sqrt(variances) * points
        if np.isinf(self.size):
            given = special.gammaincc(shapes, np.exp(np.minimum(latent, 700.0)))
        else:
            given = special.betainc(self.size, shapes, special.expit(np.log(self.size) - latent))
        return (weights * given).sum(0) / weights.sum()

    def _over_mixing(self, shapes: Array, means: Array, variances: Array) -> Array:
        """``Σ_x p(x) Φ((log(k + 1) + x - m)/√v)``, ``x = T - log(k + 1)``, ``p`` normalised by its own sum."""
        per_size = 1.0 / self.size
        depth = DEPTH * (1.0 / shapes + per_size)
        low = -(0.5 * depth + np.sqrt(0.25 * depth**2 + 2.0 * depth))
        high = np.sqrt(2.0 * depth) + 2.0 * DEPTH * per_size
        step = MIXING_STEP * np.minimum(1.0, np.sqrt(1.0 / shapes + per_size))
        steps = int(np.ceil(((high - low) / step).max()))
        x = np.linspace(low, high, steps + 1)
        grown = np.expm1(x)
        if np.isinf(self.size):
            log_density = shapes * (x - grown)
        else:
            log_density = shapes * x - (shapes + self.size) * np.log1p(shapes / (shapes + self.size) * grown)
        weights = np.exp(log_density)
        given = special.ndtr((np.log(shapes) + x - means) / np.sqrt(variances))
        return (weights * given).sum(0) / weights.sum(0)
