"""The exp link by plain bisection: the best Gaussian on ``z`` and the best Gamma on ``gamma = e^z``, edge by edge.

An edge is ``target(z) = exp(-p/2 (z - mu)^2 + s z - c e^z)``, a measure in ``z``. Arguments broadcast.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.special import bernoulli, digamma, gammaln, zeta

Array = np.ndarray

LOG_2PI = float(np.log(2.0 * np.pi))
BERNOULLI = bernoulli(16)[2::2]
SERIES_FROM = 16.0


class GaussianLink(NamedTuple):
    """``q(z) = N(mean, var)``."""

    mean: Array
    var: Array


class GammaLink(NamedTuple):
    """``q(gamma) = Ga(shape, rate)``."""

    shape: Array
    rate: Array


def increasing_root(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The root between ``low`` and ``high``, halved until the floats are neighbours or 1e-15 apart."""
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    for _ in range(400):
        middle = 0.5 * (low + high)
        below = function(middle) < 0.0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
        if np.all(high - low <= 1e-15 * (1.0 + np.abs(middle))):
            break
    return 0.5 * (low + high)


def gaussian_link(p, mu, s, c) -> GaussianLink:
    """The minimiser of ``gaussian_energy``: ``1/v = p + lam``, ``m = mu + (s - lam)/p``, ``lam = c e^(m + v/2)``."""
    p, mu, s, c = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (p, mu, s, c)))
    lam, log_lam = _gaussian_rate(p, mu, s, c)
    with np.errstate(divide="ignore", invalid="ignore"):
        var = 1.0 / (p + lam)
        mean = np.where(lam > p, log_lam - np.log(c) - 0.5 * var, mu + (s - lam) / p)
    return GaussianLink(mean, var)


def _gaussian_rate(p: Array, mu: Array, s: Array, c: Array) -> tuple[Array, Array]:
    """``lam`` and its logarithm; the slope of ``h`` is at least one, so a root lies within ``|h|`` of any point."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        start = np.minimum(np.log(c) + mu, np.log(p + np.abs(s) + 1.0))

        def h(x: Array) -> Array:
            rate = np.exp(x)
            return x + (rate - s) / p - 0.5 / (p + rate) - np.log(c) - mu

        reach = np.abs(h(start)) + 1e-9
        usual = (p > 0.0) & (c > 0.0)
        x = increasing_root(h, np.where(usual, start - reach, 0.0), np.where(usual, start + reach, 0.0))
        x = np.where(usual, x, np.where(c > 0.0, np.log(s), -np.inf))
        lam = np.exp(x)
        x = np.where(usual, x - h(x) / (1.0 + lam / p + 0.5 * lam / (p + lam) ** 2), x)
    return np.exp(x), x


def gaussian_energy(p, mu, s, c, mean, var) -> Array:
    """``-E log target - H[N(mean, var)]``."""
    far = c * np.exp(mean + 0.5 * var) - s * mean
    return 0.5 * p * ((mean - mu) ** 2 + var) + far - 0.5 * (LOG_2PI + 1.0 + np.log(var))


def gamma_link(p, mu, s, c) -> GammaLink:
    """The minimiser of ``gamma_energy``, by one bisection on ``log a``.

    ``lam = a - p kappa(a)`` increases in ``a``, and with it ``log lam - log(c a) + psi(a) - mu - (s - lam)/p``.
    """
    p, mu, s, c = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (p, mu, s, c)))

    def excess(log_shape: Array) -> Array:
        shape = np.exp(log_shape)
        lam = shape - p * curvature_ratio(shape)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            link = np.log(lam) - np.log(c) - log_minus_digamma(shape) - mu - (s - lam) / p
        return np.where(lam <= 0.0, -np.inf, np.where(c > 0.0, link, lam))

    shape = np.exp(increasing_root(excess, np.full(p.shape, -60.0), np.full(p.shape, 60.0)))
    lam = np.where(c > 0.0, shape - p * curvature_ratio(shape), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.log(lam) - np.log(c) - log_minus_digamma(shape)
        mean = np.where(lam > p, near, mu + (s - lam) / p)
        shape = np.where(p > 0.0, shape, s)
        rate = np.where(p > 0.0, shape * np.exp(-log_minus_digamma(shape) - mean), c)
    return GammaLink(shape, rate)


def gamma_energy(p, mu, s, c, shape, rate) -> Array:
    """``-E log target - H[z]`` where ``e^z`` is ``Ga(shape, rate)``."""
    mean = digamma(shape) - np.log(rate)
    far = c * shape / rate - s * mean
    return 0.5 * p * ((mean - mu) ** 2 + trigamma(shape)) + far - entropy_of_log(shape)


def entropy_of_log(shape: Array) -> Array:
    """``H[log gamma]`` for ``gamma ~ Ga(shape, any rate)``."""
    return shape + gammaln(shape) - shape * digamma(shape)


def trigamma(x: Array) -> Array:
    """``psi'``, as Hurwitz's zeta function."""
    return zeta(2.0, x)


def log_minus_digamma(x: Array) -> Array:
    """``log x - psi(x)`` without cancellation at large ``x``."""
    orders = 2.0 * np.arange(1, len(BERNOULLI) + 1)
    large = np.maximum(x, SERIES_FROM)[..., None]
    series = 0.5 / large[..., 0] + (BERNOULLI / orders * large**-orders).sum(-1)
    return np.where(x > SERIES_FROM, series, np.log(x) - digamma(x))


def curvature_ratio(x: Array) -> Array:
    """``kappa(x) = x (-psi''(x)) / (2 (x psi'(x) - 1))``, from infinity down to one."""
    orders = 2.0 * np.arange(1, len(BERNOULLI) + 1)
    large = np.maximum(x, SERIES_FROM)[..., None]
    series = 0.5 / large[..., 0] + (BERNOULLI * large**-orders).sum(-1)
    excess = np.where(x > SERIES_FROM, series, x * trigamma(x) - 1.0)
    return x * zeta(3.0, x) / excess


def exact_neg_log_z(p: float, mu: float, s: float, c: float) -> float:
    """``-log`` of the integral of the target, by adaptive quadrature on both sides of its mode."""
    mode = _mode(p, mu, s, c)
    scale = 1.0 / np.sqrt(p + c * np.exp(mode))

    def log_target(z: float) -> float:
        return -0.5 * p * (z - mu) ** 2 + s * z - c * np.exp(min(z, 700.0))

    def scaled(u: float) -> float:
        return float(np.exp(log_target(mode + scale * u) - log_target(mode)))

    halves = [quad(scaled, *ends, epsabs=0.0, epsrel=1e-11, limit=200)[0] for ends in ((-np.inf, 0.0), (0.0, np.inf))]
    return -log_target(mode) - float(np.log(sum(halves) * scale))


def _mode(p: float, mu: float, s: float, c: float) -> float:
    """The root of the slope of ``-log target``, below the point where ``c`` would be nothing."""

    def slope(z: Array) -> Array:
        return p * (z - mu) - s + c * np.exp(np.minimum(z, 700.0))

    high, step = np.asarray(mu + s / p if p > 0.0 else np.log(s / c) + 1.0), 1.0
    while slope(high - step) >= 0.0:
        step *= 2.0
    return float(increasing_root(slope, high - step, high))
