"""What every predictive must satisfy, whatever its family."""

import itertools

import numpy as np
from scipy import integrate

from corners.predictive._base import Predictive

LEVELS = (1e-6, 0.025, 0.3, 0.5, 0.8, 0.975, 1 - 1e-6)
DRAWS = 40_000
STANDARD_ERRORS = 5.0


def check_quantile_inverts_cdf(predictive: Predictive) -> None:
    """``F(F⁻¹(p)) = p`` at many levels, and quantiles grow with the level."""
    quantiles = np.stack([predictive.quantile(level) for level in LEVELS])
    assert (np.diff(quantiles, axis=0) > 0.0).all()
    for level, values in zip(LEVELS, quantiles, strict=True):
        np.testing.assert_allclose(predictive.cdf(values), level, rtol=0, atol=1e-12)


def check_density_is_the_slope_of_the_cdf(predictive: Predictive) -> None:
    """``exp(log_prob)`` integrates to the difference of ``cdf`` between two points."""
    count = predictive.mean.size
    low, high = predictive.quantile(0.2), predictive.quantile(0.9)
    for n in range(count):
        area = _integral(lambda t, n=n: float(np.exp(predictive.log_prob(np.full(count, t))[n])), low[n], high[n])
        np.testing.assert_allclose(area, 0.7, atol=1e-8)


def check_moments_against_samples(predictive: Predictive, generator: np.random.Generator) -> None:
    """Sample mean and variance within five standard errors of ``mean`` and ``variance``."""
    draws = predictive.sample(DRAWS, generator)
    assert draws.shape == (DRAWS, predictive.mean.size)
    centred = draws - predictive.mean
    for values, expected in ((centred, 0.0), (centred**2 - predictive.variance, 0.0)):
        error = values.std(axis=0, ddof=1) / np.sqrt(DRAWS)
        assert (np.abs(values.mean(axis=0) - expected) < STANDARD_ERRORS * error).all()


def check_samples_follow_the_cdf(predictive: Predictive, generator: np.random.Generator) -> None:
    """The fraction of draws below a quantile is its level, within five standard errors."""
    draws = predictive.sample(DRAWS, generator)
    for level in (0.1, 0.5, 0.9):
        below = (draws <= predictive.quantile(level)).mean(axis=0)
        assert (np.abs(below - level) < STANDARD_ERRORS * np.sqrt(level * (1 - level) / DRAWS)).all()


def check_crps_against_its_integral(predictive: Predictive, targets: np.ndarray) -> None:
    """CRPS equals ``∫ F² below the target + ∫ (1 - F)² above it``, by adaptive quadrature."""
    count = targets.size
    ends = predictive.quantile(1e-14), predictive.quantile(1 - 1e-14)
    for n in range(count):
        below, above = min(ends[0][n], targets[n]), max(ends[1][n], targets[n])
        left = _integral(lambda t, n=n: predictive.cdf(np.full(count, t))[n] ** 2, below, targets[n])
        right = _integral(lambda t, n=n: (1.0 - predictive.cdf(np.full(count, t))[n]) ** 2, targets[n], above)
        np.testing.assert_allclose(predictive.crps(targets)[n], left + right, rtol=1e-8, atol=1e-10)


def _integral(function, low: float, high: float) -> float:
    pieces = np.linspace(low, high, 9)
    return sum(integrate.quad(function, a, b, epsabs=1e-12, limit=200)[0] for a, b in itertools.pairwise(pieces))
