"""The Student-t mixture: laws, its single-component special case, its CRPS against an integral."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from corners.errors import DataError, SpecError
from corners.predictive.student_t_mixture import StudentTMixturePredictive
from tests.support.laws import predictive_laws as laws

# skewed on purpose: a symmetric mixture cannot see a sign error
LOCATIONS = np.array([[-2.0, 10.0], [3.0, 11.0], [3.5, 18.0], [8.0, 19.0]])
SCALES = np.array([[0.5, 1.0], [0.3, 1.4], [1.2, 3.0], [0.4, 1.0]])
TARGETS = np.array([-3.0, 14.0])


@pytest.fixture
def predictive() -> StudentTMixturePredictive:
    return StudentTMixturePredictive(LOCATIONS, SCALES, df=5.0)


def test_quantile_inverts_cdf(predictive):
    laws.check_quantile_inverts_cdf(predictive)


def test_density_is_the_slope_of_the_cdf(predictive):
    laws.check_density_is_the_slope_of_the_cdf(predictive)


def test_moments_and_samples(predictive):
    laws.check_moments_against_samples(predictive, np.random.default_rng(3))
    laws.check_samples_follow_the_cdf(predictive, np.random.default_rng(4))


@pytest.mark.parametrize("df", [3.0, 5.0, 40.0])
def test_crps_is_the_integral_of_the_squared_difference(df):
    predictive = StudentTMixturePredictive(LOCATIONS, SCALES, df)
    for n, target in enumerate(TARGETS):

        def level(t, n=n):
            return predictive.cdf(np.full(2, t))[n]

        # Panels around the components, then the tails.
        edges = [-1e6, -1e3, -60.0, *np.sort(np.r_[np.linspace(-20.0, 45.0, 27), target]), 90.0, 1e3, 1e6]
        expected = sum(
            integrate.quad(lambda t, y=target: (level(t) - (t > y)) ** 2, a, b, limit=200, epsabs=1e-11)[0]
            for a, b in itertools.pairwise(edges)
        )
        np.testing.assert_allclose(predictive.crps(TARGETS)[n], expected, rtol=1e-9)


def test_equal_components_are_one_student_t():
    same = StudentTMixturePredictive(np.full((7, 1), 2.0), np.full((7, 1), 0.5), df=4.0)
    one = stats.t(4.0, 2.0, 0.5)
    at = np.array([3.1])
    np.testing.assert_allclose(same.log_prob(at), one.logpdf(at), rtol=1e-13)
    np.testing.assert_allclose(same.cdf(at), one.cdf(at), rtol=1e-13)
    np.testing.assert_allclose(same.quantile(0.9), one.ppf(0.9), rtol=1e-12)
    np.testing.assert_allclose(same.variance, one.var(), rtol=1e-13)


def test_wrong_components_are_refused():
    with pytest.raises(SpecError, match=r"df must be above 2 and finite; got 2.0"):
        StudentTMixturePredictive(LOCATIONS, SCALES, df=2.0)
    with pytest.raises(DataError, match="positive and finite"):
        StudentTMixturePredictive(LOCATIONS, -SCALES, df=4.0)
