import mpmath
import numpy as np
import pytest
from scipy import stats

from inference.truth import Logistic, sample_last_layer
from inference.truth.head_problem import head_problem
from tests.inference.truth.heads.conftest import SETTINGS
from tests.inference.truth.heads.grids import grid, weight_prior
from tests.inference.truth.heads.judging import assert_log_joint_is_dense, assert_posterior, compiled

LATENT = np.array([-700.0, -40.0, -3.0, -1e-9, 0.0, 0.7, 12.0, 36.5, 200.0])
PRECISION = 0.6


def exact(t):
    with mpmath.workdps(400):
        return float(-mpmath.log1p(mpmath.exp(-mpmath.mpf(t))))


@pytest.fixture(scope="module")
def data(features, latent):
    labels = (np.random.default_rng(3).logistic(size=15) < 2.0 * latent).astype(float)
    return features, labels


def log_data(features, labels):
    return lambda at: stats.logistic.logcdf((2.0 * labels - 1.0) * (at[:, :2] @ features.T))


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_both_formulas_are_exact_far_into_the_tails(label):
    labels, sign = np.full(LATENT.size, label), 2.0 * label - 1.0
    expected = np.array([exact(sign * t) for t in LATENT])
    np.testing.assert_allclose(Logistic.log_prob(labels, LATENT[None], {})[0], expected, rtol=1e-12, atol=1e-300)
    value, slope = compiled(Logistic, {})(labels, LATENT, [])
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(slope, sign * stats.logistic.cdf(-sign * LATENT), rtol=1e-11, atol=1e-300)


def test_the_log_density_is_the_dense_one(data, generator):
    problem = head_problem(*data, Logistic(), prior_precision=PRECISION)
    assert_log_joint_is_dense(problem, log_data(*data), weight_prior(PRECISION), generator)


def test_draws_agree_with_the_grid(data):
    run = sample_last_layer(*data, likelihood=Logistic(), prior_precision=PRECISION, **SETTINGS)
    assert_posterior(run, grid(log_data(*data), weight_prior(PRECISION), np.zeros(2)))
