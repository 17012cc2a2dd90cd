import numpy as np
import pytest
from scipy import optimize, stats

from inference.truth.laplace import Laplace
from inference.truth.whitening import whiten

FEATURES = np.random.default_rng(3).normal(size=(12, 3)) * [1.0, 300.0, 1e-3]
COUNTS = np.random.default_rng(4).poisson(2.0, size=12).astype(float)
SCALE = 1.0 / np.abs(FEATURES).max(axis=0)


def poisson(x):
    """Poisson counts with prior precision 2, value and gradient."""
    latent = FEATURES @ x
    with np.errstate(over="ignore"):
        rate = np.exp(latent)
    return float((COUNTS * latent - rate).sum() - (x**2).sum()), FEATURES.T @ (COUNTS - rate) - 2.0 * x


def test_mode_and_curvature_of_a_log_concave_density_of_mixed_scales():
    mode, covariance, log_normaliser, floored = Laplace(np.zeros(3), SCALE)(poisson, np.empty(0), 3)
    slope = poisson(mode)[1]
    assert np.sqrt(slope @ covariance @ slope) < 1e-4  # in standard deviations from the mode
    exact = 2.0 * np.eye(3) + (FEATURES.T * np.exp(FEATURES @ mode)) @ FEATURES
    np.testing.assert_allclose(covariance @ exact, np.eye(3), atol=1e-4)
    expected = poisson(mode)[0] - 0.5 * np.linalg.slogdet(exact)[1]
    assert abs(log_normaliser - expected) < 1e-4 and floored == 0


def test_a_start_far_out_is_climbed_from():
    """The rate overflows one full Newton step away; halved steps do not."""
    far = np.array([0.0, 0.02, 0.0])
    near, there = (Laplace(start, SCALE)(poisson, np.empty(0), 3)[0] for start in (np.zeros(3), far))
    np.testing.assert_allclose(there * FEATURES.std(axis=0), near * FEATURES.std(axis=0), atol=1e-4)


def test_a_density_that_is_not_concave_everywhere_is_climbed_to_a_mode():
    """Student-t noise: outside its inflections the curvature is negative, and its absolute value still climbs."""
    targets = np.array([0.1, -0.2, 0.3, 8.0])

    def density(x):
        residual = targets - x[0]
        slope = (5.0 * residual / (4.0 + residual**2)).sum()
        return float(stats.t.logpdf(residual, 4.0).sum()), np.array([slope])

    mode = Laplace(np.array([30.0]), np.ones(1))(density, np.empty(0), 1)[0]
    best = optimize.minimize_scalar(lambda x: -density(np.array([x]))[0], bounds=(-2.0, 2.0), method="bounded")
    local = optimize.minimize_scalar(lambda x: -density(np.array([x]))[0], bounds=(5.0, 9.0), method="bounded")
    assert min(abs(mode[0] - best.x), abs(mode[0] - local.x)) < 1e-4


def test_nowhere_finite_is_no_mode():
    found = Laplace(np.zeros(1), np.ones(1))(lambda _: (-np.inf, np.zeros(1)), np.empty(0), 1)
    assert found[2] == -np.inf


@pytest.mark.parametrize("start", [-2.0, 2.0])
def test_it_places_a_hyperparameter_by_its_marginal(start):
    """log α of a Gaussian hierarchy: the marginal is known, and Laplace's method is exact in the weights."""
    weights = np.array([0.8, -1.1, 0.4])  # observed with noise of variance 0.1

    def density(position):
        log_alpha, w = position[0], position[1:]
        prior = 1.5 * log_alpha - 0.5 * np.exp(log_alpha) * (w**2).sum() - 0.5 * log_alpha**2 / 4.0
        slope = 1.5 - 0.5 * np.exp(log_alpha) * (w**2).sum() - log_alpha / 4.0
        gradient = -np.exp(log_alpha) * w + (weights - w) / 0.1
        return prior - 0.5 * ((weights - w) ** 2).sum() / 0.1, np.concatenate([[slope], gradient])

    def marginal(log_alpha):
        return stats.norm.logpdf(weights, 0.0, np.sqrt(0.1 + np.exp(-log_alpha))).sum() - log_alpha**2 / 8.0

    found = whiten(density, np.array([start]), 3, Laplace(np.zeros(3), np.ones(3)))
    best = optimize.minimize_scalar(lambda x: -marginal(x), bounds=(-5.0, 5.0), method="bounded").x
    assert abs(found.centre[0] - best) < 0.05
    alpha = np.exp(found.centre[0])
    np.testing.assert_allclose(found.centre[1:], weights / (1.0 + 0.1 * alpha), rtol=1e-4)
