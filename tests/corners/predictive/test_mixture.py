"""The Gaussian mixture: laws, its Gaussian special cases and both ways to its CRPS."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corners.errors import DataError
from corners.predictive._base import require_moments
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.mixture import MixturePredictive
from tests.support.laws import predictive_laws as laws

# skewed and bimodal on purpose: a symmetric mixture cannot see a sign error
MEANS = np.array([[-2.0, 10.0, 0.3], [3.0, 11.0, 0.3], [3.5, 40.0, 0.3], [8.0, 41.0, 0.3]])
VARIANCES = np.array([[0.3, 1.0, 0.5], [0.1, 2.0, 1.0], [1.5, 9.0, 2.0], [0.2, 1.0, 4.0]])
TARGETS = np.array([-3.0, 25.0, 0.3])


@pytest.fixture
def predictive() -> MixturePredictive:
    return MixturePredictive(MEANS, VARIANCES)


def test_quantile_inverts_cdf(predictive):
    laws.check_quantile_inverts_cdf(predictive)


def test_density_is_the_slope_of_the_cdf(predictive):
    laws.check_density_is_the_slope_of_the_cdf(predictive)


def test_moments_against_samples(predictive):
    laws.check_moments_against_samples(predictive, np.random.default_rng(3))


def test_samples_follow_the_cdf(predictive):
    laws.check_samples_follow_the_cdf(predictive, np.random.default_rng(4))


def test_crps_against_its_integral(predictive):
    laws.check_crps_against_its_integral(predictive, TARGETS)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), spread=st.floats(0.01, 30.0), ratio=st.floats(0.05, 1.0))
def test_grid_and_pairs_give_the_same_spread(seed, spread, ratio):
    generator = np.random.default_rng(seed)
    means = spread * generator.standard_normal((5, 2))
    variances = generator.uniform(ratio, 1.0, size=(5, 2))
    mixture = MixturePredictive(means, variances)
    np.testing.assert_allclose(mixture._spread_by_grid(*mixture._grid()), mixture._spread_by_pairs(), rtol=1e-12)


def test_many_components_take_the_grid_and_agree_with_the_integral():
    generator = np.random.default_rng(5)
    mixture = MixturePredictive(generator.exponential(1.0, (400, 2)), generator.uniform(0.5, 1.0, (400, 2)))
    assert mixture._grid()[2] < 400
    laws.check_crps_against_its_integral(mixture, np.array([0.2, 5.0]))


@pytest.mark.parametrize("copies", [1, 7])
def test_equal_components_are_one_gaussian(copies):
    mean, variance = np.array([1.3, -20.0]), np.array([0.7, 30.0])
    mixture = MixturePredictive(np.tile(mean, (copies, 1)), np.tile(variance, (copies, 1)))
    gaussian = GaussianPredictive(mean, variance)
    targets = np.array([2.0, -33.0])
    for name in ("log_prob", "cdf", "crps"):
        np.testing.assert_allclose(getattr(mixture, name)(targets), getattr(gaussian, name)(targets), rtol=1e-12)
    np.testing.assert_allclose(mixture.quantile(0.31), gaussian.quantile(0.31), rtol=1e-12)
    np.testing.assert_allclose(mixture.variance, variance, rtol=1e-12)


def test_the_moment_matched_gaussian_has_the_mixtures_moments(predictive):
    np.testing.assert_array_equal(predictive.moment_matched.mean, predictive.mean)
    np.testing.assert_array_equal(predictive.moment_matched.variance, predictive.variance)


def test_a_far_target_does_not_underflow(predictive):
    far = predictive.log_prob(np.array([-1e3, 1e4, 1e3]))
    assert np.isfinite(far).all() and (far < -1e4).all()


def test_moments_of_different_shapes_are_refused():
    with pytest.raises(DataError, match=r"\(S, N\).*got \(2, 3\) and \(1, 3\)"):
        require_moments(np.zeros((2, 3)), np.ones((1, 3)), 2)  # the annotations of the class would speak first here
    with pytest.raises(DataError, match=r"1 of 4 are not \(first at point 1"):
        MixturePredictive(np.zeros((2, 2)), np.array([[1.0, 0.0], [1.0, 1.0]]))
