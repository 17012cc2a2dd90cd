"""Student-t predictive: Gaussian latent value plus Student-t noise, as a mixture over the scale of the noise."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from corners.errors import SpecError
from corners.numerics import LOG_2PI
from corners.predictive._base import Predictive, require_level, require_targets
from corners.predictive._latent import require_latent_moments
from corners.types import Array, Float

TAIL_MASS = 1e-17  # of the mixing Gamma, left out at either end of the grid
NODES, NODES_OF_HEAVY_TAILS = 96, 128
HEAVY_TAILS = 3.0  # degrees of freedom below which the mixing density decays so slowly that it needs more nodes
BISECTIONS = 200  # at most; a bracket stops shrinking sooner, when its ends are neighbouring floats


def mixing_nodes(df: float) -> int:
    """Nodes of the trapezoid rule over the log precision of the noise: 96, or 128 below 3 degrees of freedom."""
    return NODES if df >= HEAVY_TAILS else NODES_OF_HEAVY_TAILS


def mixing_range(df: Array | float) -> tuple[Array | float, Array | float]:
    """Ends of ``t = log λ`` for ``λ ~ Gamma(ν/2, ν/2)``; the lower one is still to be moved by the reach below."""
    half = 0.5 * np.asarray(df, np.float64)
    low = np.log(special.gammaincinv(half, TAIL_MASS) / half)
    return low, np.log(special.gammainccinv(half + 0.5, TAIL_MASS) / half)


def mixing_reach(square: Array, variance: Array, scale_var: Array | float, df: Array | float) -> Array:
    """How far below the mixing density's own range a target at distance ``d`` pulls ``log λ``: ``log(1 + d²/(ν s²))``.

    No farther than ``d²/(ν v)``: a larger variance than ``v`` gains at most ``exp(d²/2v)``, and the mass below falls by
    ``exp(-ν/2)`` a unit. Where ``s`` is small beside ``√v`` the first alone would spread the nodes over nothing.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = np.where(variance > 0.0, square / (df * variance), np.inf)
    return np.minimum(np.log1p(square / (df * scale_var)), limit)


def log_mixing_density(t: Array, df: float) -> Array:
    """Log density of ``t = log λ``: ``½ν log ½ν - log Γ(½ν) + ½ν (t - e^t)``."""
    half = 0.5 * df
    return half * np.log(half) - special.gammaln(half) + half * (t - np.exp(t))


@dataclass(frozen=True, eq=False)
class StudentTPredictive(Predictive):
    """``y = f + s t_ν`` with ``f ~ N(m_n, v_n)`` at every data point (theory 6.3).

    Given the precision λ ~ Gamma(ν/2, ν/2) of the noise, ``y ~ N(m, v + s²/λ)``; the trapezoid rule in log λ errs by
    3e-7 at ν = 2.1, 1e-9 at ν = 3 and 2e-12 from ν = 5 on.

    Parameters
    ----------
    means, latent_variances : ``m_n`` and ``v_n ≥ 0`` in target units.
    scale : s, in target units (not a standard deviation).
    df : degrees of freedom ν > 2, so that there is a variance.

    Raises
    ------
    DataError : a mean or variance is not finite, a variance is negative, or the shapes differ.
    SpecError : ``scale`` is not positive and finite, or ``df`` is not above 2 and finite.

    Example
    -------
    >>> import numpy as np
    >>> StudentTPredictive(np.zeros(1), np.ones(1), scale=1.0, df=4.0).variance.tolist()
    [3.0]
    """

    means: Float[Array, " N"]
    latent_variances: Float[Array, " N"]
    scale: float
    df: float

    def __post_init__(self) -> None:
        if not 0.0 < self.scale < np.inf or not 2.0 < self.df < np.inf:
            raise SpecError(
                f"scale must be positive and finite, df above 2 and finite; got scale {self.scale} and df {self.df}"
            )
        means, variances = require_latent_moments(self.means, self.latent_variances)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "latent_variances", variances)

    @property
    def mean(self) -> Float[Array, " N"]:
        """``m``."""
        return self.means

    @property
    def variance(self) -> Float[Array, " N"]:
        """``v + s² ν/(ν - 2)``."""
        return self.latent_variances + self.scale**2 * self.df / (self.df - 2.0)

    def log_prob(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``log ∫ N(y; m, v + s²/λ) Gamma(λ; ν/2, ν/2) dλ`` on a grid that reaches the precisions y asks for."""
        square = (require_targets(targets, self.means.size) - self.means) ** 2
        low, high = mixing_range(self.df)
        reach = mixing_reach(square, self.latent_variances, self.scale**2, self.df)
        grid = np.linspace(low - reach, high, mixing_nodes(self.df))
        total = self.latent_variances + self.scale**2 * np.exp(-grid)
        terms = log_mixing_density(grid, self.df) - 0.5 * (LOG_2PI + np.log(total) + square / total)
        return special.logsumexp(terms, axis=0) + np.log(grid[1] - grid[0])

    def cdf(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``Σ_j w_j Φ((y - m)/√(v + s²/λ_j))``, by symmetry about m from the nearer tail."""
        residual = require_targets(targets, self.means.size) - self.means
        tail = self._lower_tail(-np.abs(residual))
        return np.where(residual > 0.0, 1.0 - tail, tail)

    def quantile(self, level: float) -> Float[Array, " N"]:
        """By bisection of the lower tail; ``q(1 - p) = 2m - q(p)``."""
        level = require_level(level)
        tail = min(level, 1.0 - level)
        low, high = -np.sqrt(self.variance / tail), np.zeros_like(self.means)  # Chebyshev's bound holds the quantile
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if np.all((middle <= low) | (middle >= high)) or level == 0.5:
                break
            below = self._lower_tail(middle) < tail
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return self.means + (high if level <= 0.5 else -high)

    def crps(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``E|Y - y| - ½ E|Y - Y'|``, in target units, as the sums over the components and their pairs."""
        residual = require_targets(targets, self.means.size) - self.means
        weights, totals = self._components()
        first = np.zeros_like(residual)
        spread = np.zeros_like(residual)
        for weight, total in zip(weights, totals, strict=True):
            scale = np.sqrt(total)
            z = residual / scale
            density = np.exp(-0.5 * (LOG_2PI + z**2))
            first += weight * (residual * (2.0 * special.ndtr(z) - 1.0) + 2.0 * scale * density)
            spread += weight * (weights[:, None] * np.sqrt(total + totals)).sum(0)
        return first - spread / np.sqrt(2.0 * np.pi)

    def sample(self, count: int, generator: np.random.Generator) -> Float[Array, "S N"]:
        """Independent draws of f and of the noise."""
        shape = (count, self.means.size)
        latent = self.means + np.sqrt(self.latent_variances) * generator.standard_normal(shape)
        return latent + self.scale * generator.standard_t(self.df, shape)

    def _components(self) -> tuple[Array, Array]:
        """Weights ``(J,)`` and variances ``(J, N)`` of the mixture, on the grid of ``d = 0``."""
        low, high = mixing_range(self.df)
        grid = np.linspace(low, high, mixing_nodes(self.df))
        weights = np.exp(log_mixing_density(grid, self.df)) * (grid[1] - grid[0])
        return weights, self.latent_variances + self.scale**2 * np.exp(-grid)[:, None]

    def _lower_tail(self, residual: Array) -> Array:
        weights, totals = self._components()
        return (weights[:, None] * special.ndtr(residual / np.sqrt(totals))).sum(0)
