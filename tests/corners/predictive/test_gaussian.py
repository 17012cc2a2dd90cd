"""The Gaussian predictive: laws, golden metrics and what it refuses."""

import numpy as np
import pytest
from scipy import stats

from corners.errors import DataError, SpecError
from corners.predictive._base import require_moments
from corners.predictive.gaussian import GaussianPredictive
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.laws import predictive_laws as laws

MEANS = np.array([-3.0, 0.4, 250.0])
VARIANCES = np.array([0.04, 2.5, 900.0])
TARGETS = np.array([-2.7, -4.1, 250.0])


@pytest.fixture
def predictive() -> GaussianPredictive:
    return GaussianPredictive(MEANS, VARIANCES)


def test_quantile_inverts_cdf(predictive):
    laws.check_quantile_inverts_cdf(predictive)


def test_density_is_the_slope_of_the_cdf(predictive):
    laws.check_density_is_the_slope_of_the_cdf(predictive)


def test_moments_against_samples(predictive):
    laws.check_moments_against_samples(predictive, np.random.default_rng(1))


def test_samples_follow_the_cdf(predictive):
    laws.check_samples_follow_the_cdf(predictive, np.random.default_rng(2))


def test_crps_against_its_integral(predictive):
    laws.check_crps_against_its_integral(predictive, TARGETS)


def test_log_density_is_the_normal_one(predictive):
    expected = stats.norm(MEANS, np.sqrt(VARIANCES)).logpdf(TARGETS)
    np.testing.assert_allclose(predictive.log_prob(TARGETS), expected, rtol=1e-13)


@pytest.mark.parametrize("case", golden_cases("metrics", "regression"))
def test_golden_crps_and_pit(case):
    mean, variance, targets = (as_array(case["inputs"][key]) for key in ("mean", "var", "y"))
    predictive = GaussianPredictive(mean, variance)
    assert_golden("metrics", predictive.crps(targets), case["expected"]["crps"])
    assert_golden("metrics", predictive.cdf(targets), case["expected"]["pit"])


def test_float32_moments_are_promoted():
    predictive = GaussianPredictive(MEANS.astype(np.float32), VARIANCES.astype(np.float32))
    assert predictive.log_prob(TARGETS).dtype == np.float64


@pytest.mark.parametrize("variance", [0.0, -1.0, np.nan, np.inf])
def test_a_bad_variance_is_refused_with_its_row(variance):
    with pytest.raises(DataError, match=r"variance must be positive and finite; 1 of 2 .*point 1"):
        GaussianPredictive(np.zeros(2), np.array([1.0, variance]))


def test_a_bad_mean_is_refused_with_its_row():
    with pytest.raises(DataError, match=r"mean must be finite; 1 of 2 .*point 0"):
        GaussianPredictive(np.array([np.nan, 0.0]), np.ones(2))


def test_shapes_that_would_broadcast_are_refused(predictive):
    for variances in (np.ones(1), np.ones((3, 1))):
        with pytest.raises(DataError, match=r"share one shape \(N,\).*got \(3,\) and \("):
            require_moments(np.zeros(3), variances, 1)  # the annotations of the class would speak first here
    with pytest.raises(DataError, match=r"shape \(3,\), one a data point; got \(1,\)"):
        predictive.crps(np.zeros(1))


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, np.nan])
def test_a_level_outside_the_open_interval_is_refused(predictive, level):
    with pytest.raises(SpecError, match="strictly between 0 and 1"):
        predictive.quantile(level)
