"""Equal-weight mixture of Poissons or negative binomials: what draws of a sampler give of counts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import special

from corners.errors import DataError
from corners.predictive._base import Predictive, require_level, require_targets
from corners.types import Array, Float

EXACT = 2048  # counts summed one by one; beyond, Euler and Maclaurin integrate between half integers
PANELS, PANEL_NODES = 64, 8
LARGEST = 1e300
HIGHEST_LOG_RATE = 700.0


@dataclass(frozen=True, eq=False)
class CountMixturePredictive(Predictive):
    """``(1/S) Σ_s p(y | f_sn)`` at every data point, each Poisson or negative binomial with mean ``e^f`` (theory 6.3).

    Parameters
    ----------
    log_rates : ``f_sn``, finite and at most 700, where rates end.
    sizes : the r of every component; None is the Poisson.

    Raises
    ------
    DataError : a log rate is not finite or above 700, a size is not positive and finite, the shapes differ, or
        ``log_prob`` is asked at no count.

    Example
    -------
    >>> predictive = CountMixturePredictive(np.log([[1.0], [3.0]]))
    >>> predictive.mean.round(12).tolist(), predictive.variance.round(12).tolist()
    ([2.0], [3.0])
    """

    log_rates: Float[Array, "S N"]
    sizes: Float[Array, " S"] | None = None
    task: ClassVar[Literal["regression", "count"]] = "count"

    def __post_init__(self) -> None:
        rates = np.asarray(self.log_rates, np.float64)
        if rates.ndim != 2 or rates.size == 0 or not (rates <= HIGHEST_LOG_RATE).all() or not np.isfinite(rates).all():
            raise DataError(
                f"log rates must have shape (S, N), be finite and at most {HIGHEST_LOG_RATE:g}; got shape "
                f"{rates.shape} and up to {rates.max() if rates.size else float('nan'):g}: the draws are too wild"
            )
        object.__setattr__(self, "log_rates", rates)
        if self.sizes is not None:
            sizes = np.asarray(self.sizes, np.float64)
            if sizes.shape != rates.shape[:1] or not ((sizes > 0.0) & np.isfinite(sizes)).all():
                raise DataError(f"sizes must be positive and finite with shape ({len(rates)},); got {sizes.shape}")
            object.__setattr__(self, "sizes", sizes)

    @property
    def mean(self) -> Float[Array, " N"]:
        """Mean of the rates."""
        return np.exp(self.log_rates).mean(axis=0)

    @property
    def variance(self) -> Float[Array, " N"]:
        """Mean of ``λ + λ²/r`` plus the variance of λ."""
        rates = np.exp(self.log_rates)
        within = rates if self.sizes is None else rates + rates**2 / self.sizes[:, None]
        return within.mean(axis=0) + rates.var(axis=0)

    @property
    def median(self) -> Float[Array, " N"]:
        """The quantile at one half: what to report where the mean explodes."""
        return self.quantile(0.5)

    def log_prob(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """Log mean of the component probabilities, in nats."""
        counts = require_targets(targets, self.log_rates.shape[1])
        good = np.isfinite(counts) & (counts >= 0.0) & (counts == np.floor(counts))
        if not good.all():
            raise DataError(
                f"counts must be whole numbers 0, 1, 2, ...; {int((~good).sum())} of {counts.size} are not "
                f"(first at point {int(np.argmin(good))}: {counts[np.argmin(good)]:g})"
            )
        return special.logsumexp(self._log_pmf(counts), axis=0) - np.log(len(self.log_rates))

    def _log_pmf(self, counts: Array) -> Float[Array, "S N"]:
        if self.sizes is None:
            return counts * self.log_rates - np.exp(self.log_rates) - special.gammaln(counts + 1.0)
        size = self.sizes[:, None]
        excess = self.log_rates - np.log(size)
        # 1/((y + r) B(y + 1, r)) is the binomial coefficient; betaln keeps its digits where three gammas would cancel.
        coefficient = -np.log(counts + size) - special.betaln(counts + 1.0, size)
        return coefficient - counts * np.logaddexp(0.0, -excess) - size * np.logaddexp(0.0, excess)

    def cdf(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``P(Y_n ≤ y_n)``, a step at every count."""
        counts = np.floor(require_targets(targets, self.log_rates.shape[1]))
        return np.where(counts < 0.0, 0.0, self._smooth_cdf(np.clip(counts, 0.0, LARGEST)))

    def _smooth_cdf(self, counts: Array) -> Float[Array, " N"]:
        """The distribution function at ``k ≥ 0``, continued between counts."""
        if self.sizes is None:
            return special.gammaincc(counts + 1.0, np.exp(self.log_rates)).mean(axis=0)
        size = self.sizes[:, None]
        return special.betainc(size, counts + 1.0, special.expit(np.log(size) - self.log_rates)).mean(axis=0)

    def quantile(self, level: float) -> Float[Array, " N"]:
        """Smallest count k with ``P(Y_n ≤ k) ≥ level``, by doubling and bisection; infinity above 1e300."""
        require_level(level)
        low = np.full(self.log_rates.shape[1], -1.0)
        high = np.floor(np.minimum(self.mean, 1e150)) + 1.0
        short = self._smooth_cdf(high) < level
        while short.any():
            low, high = np.where(short, high, low), np.where(short, np.minimum(4.0 * high + 4.0, LARGEST), high)
            short = short & (high < LARGEST) & (self._smooth_cdf(high) < level)
        while True:
            middle = np.floor(0.5 * (low + high))
            inside = (middle > low) & (middle < high)
            if not inside.any():
                return np.where(high >= LARGEST, np.inf, high)
            below = self._smooth_cdf(np.maximum(middle, 0.0)) < level
            low, high = np.where(inside & below, middle, low), np.where(inside & ~below, middle, high)

    def crps(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``Σ_{k<y} F(k)² + Σ_{k≥y} (1 - F(k))²``, in counts.

        The first 2048 counts are summed one by one; beyond, the sum is the integral between half integers with the
        first Euler-Maclaurin correction. Infinite where the quantiles are.
        """
        counts = np.floor(require_targets(targets, self.log_rates.shape[1]))
        first, last = self.quantile(1e-14), self.quantile(1.0 - 1e-14)
        infinite = np.isinf(last)
        first, last = np.where(infinite, 0.0, first), np.where(infinite, 0.0, last)
        below = self._sum(first, np.maximum(counts, first), lower=True)
        above = self._sum(np.maximum(counts, 0.0), np.maximum(last, counts), lower=False)
        # Below the first count F is 0 and 1 - F is 1: targets there count whole units.
        return np.where(infinite, np.inf, below + above + np.maximum(-counts, 0.0))

    def _sum(self, start: Array, stop: Array, *, lower: bool) -> Float[Array, " N"]:
        """``Σ F²`` or ``Σ (1 - F)²`` over ``start ≤ k < stop``."""

        def term(k: Array) -> Array:
            level = self._smooth_cdf(np.maximum(k, 0.0))
            return level**2 if lower else (1.0 - level) ** 2

        total, bulk = np.zeros_like(start), np.minimum(stop, np.maximum(start, EXACT))
        for k in range(int(start.min()), int(min(bulk.max(), EXACT))):
            total += np.where((start <= k) & (k < bulk), term(np.full_like(start, float(k))), 0.0)
        beyond = stop > bulk
        return total + (
            np.where(beyond, _panels(term, bulk, np.maximum(stop, bulk + 1.0)), 0.0) if beyond.any() else 0.0
        )

    def sample(self, count: int, generator: np.random.Generator) -> Float[Array, "S N"]:
        """Choose a component a draw, the same for every data point, then independent counts; above 1e18 a rate."""
        component = generator.integers(len(self.log_rates), size=count)
        rates = np.exp(self.log_rates[component])
        if self.sizes is not None:
            size = self.sizes[component, None]
            rates = rates * generator.gamma(np.broadcast_to(size, rates.shape)) / size
        large = rates > 1e18  # numpy's sampler ends there, and the relative spread of a Poisson is below 1e-9
        return np.where(large, rates, generator.poisson(np.where(large, 0.0, rates)).astype(np.float64))


def _panels(term: Callable[[Array], Array], start: Array, stop: Array) -> Array:
    """``Σ_{start ≤ k < stop} term(k) = ∫ term - [term']/24`` between ``start - ½`` and ``stop - ½``."""
    low, high = start - 0.5, stop - 0.5
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
