"""The Student-t predictive: laws, golden values, its Gaussian and its pure-t limits."""

import numpy as np
import pytest
from scipy import stats

from corners.errors import DataError, SpecError
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.student_t import StudentTPredictive
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.laws import predictive_laws as laws

MEANS = np.array([-3.0, 0.4, 25.0])
VARIANCES = np.array([0.0, 2.5, 90.0])
TARGETS = np.array([-2.7, -4.1, 60.0])


@pytest.fixture
def predictive() -> StudentTPredictive:
    return StudentTPredictive(MEANS, VARIANCES, scale=0.8, df=5.0)


def test_quantile_inverts_cdf(predictive):
    laws.check_quantile_inverts_cdf(predictive)


def test_density_is_the_slope_of_the_cdf(predictive):
    laws.check_density_is_the_slope_of_the_cdf(predictive)


def test_moments_against_samples(predictive):
    laws.check_moments_against_samples(predictive, np.random.default_rng(1))


def test_samples_follow_the_cdf(predictive):
    laws.check_samples_follow_the_cdf(predictive, np.random.default_rng(2))


def test_crps_against_its_integral():
    own = StudentTPredictive(MEANS, VARIANCES, scale=0.8, df=12.0)
    laws.check_crps_against_its_integral(own, TARGETS)


@pytest.mark.parametrize("case", golden_cases("head_predictives", "pred_student"))
def test_golden(case):
    inputs, expected = case["inputs"], case["expected"]
    own = StudentTPredictive(
        as_array([inputs["mean"]]), as_array([inputs["var"]]), inputs["head_params"]["s"], inputs["head_params"]["nu"]
    )
    assert_golden("head_predictives", own.mean, [expected["pred_mean"]])
    assert_golden("head_predictives", own.variance, [expected["pred_var"]])
    assert_golden("head_predictives", [own.cdf(as_array([y]))[0] for y in inputs["cdf_at"]], expected["cdf"])
    quantiles = [own.quantile(level)[0] for level in inputs["quantile_levels"]]
    assert_golden("head_predictives", quantiles, expected["quantiles"])


@pytest.mark.parametrize("df", [3.0, 5.0, 30.0])
def test_without_latent_variance_it_is_scipys_t(df):
    own, truth = StudentTPredictive(MEANS, np.zeros(3), 0.8, df), stats.t(df, MEANS, 0.8)
    np.testing.assert_allclose(own.log_prob(TARGETS), truth.logpdf(TARGETS), rtol=0, atol=2e-9)
    np.testing.assert_allclose(own.cdf(TARGETS), truth.cdf(TARGETS), rtol=0, atol=1e-10)
    np.testing.assert_allclose(own.quantile(0.03), truth.ppf(0.03), rtol=1e-8)
    np.testing.assert_allclose(own.variance, truth.var(), rtol=1e-12)


def test_with_little_noise_it_is_the_gaussian():
    own, other = StudentTPredictive(MEANS, VARIANCES + 1.0, 1e-7, 30.0), GaussianPredictive(MEANS, VARIANCES + 1.0)
    near = MEANS + np.array([0.3, -2.0, 9.0])
    for name in ("log_prob", "cdf", "crps"):
        np.testing.assert_allclose(getattr(own, name)(near), getattr(other, name)(near), rtol=1e-9)


def test_quantiles_mirror_about_the_mean(predictive):
    np.testing.assert_allclose(predictive.quantile(0.9) - MEANS, MEANS - predictive.quantile(0.1), rtol=1e-12)
    np.testing.assert_array_equal(predictive.quantile(0.5), MEANS)


def test_a_far_target_does_not_underflow(predictive):
    far = predictive.log_prob(np.array([-1e6, 1e8, 1e4]))
    assert np.isfinite(far).all() and (far < -20.0).all()


@pytest.mark.parametrize(("scale", "df"), [(0.0, 4.0), (np.inf, 4.0), (1.0, 2.0), (1.0, np.inf), (1.0, np.nan)])
def test_impossible_noise_is_refused(scale, df):
    with pytest.raises(SpecError, match="scale must be positive and finite, df above 2"):
        StudentTPredictive(MEANS, VARIANCES, scale, df)


def test_a_negative_latent_variance_is_refused():
    with pytest.raises(DataError, match=r"not negative; 1 of 2 .*point 1"):
        StudentTPredictive(np.zeros(2), np.array([0.0, -0.1]), 1.0, 4.0)
