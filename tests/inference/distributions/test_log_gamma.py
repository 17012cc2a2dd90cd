"""LogGamma: the logarithm of a gamma variable, also where that variable underflows."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.distributions import Gamma, LogGamma


@given(st.floats(0.01, 50.0), st.floats(0.2, 50.0), st.floats(0.01, 0.99))
def test_change_of_variable(scale, shape, level):
    """``exp x ~ Ga(b, 1/a)``."""
    ours, gamma = LogGamma(scale, shape), Gamma(shape, 1.0 / scale)
    x = ours.quantile(level)
    np.testing.assert_allclose(np.exp(x), gamma.quantile(level), rtol=1e-9)
    np.testing.assert_allclose(ours.logpdf(x), gamma.logpdf(np.exp(x)) + x, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.mean(), gamma.mean_log(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.entropy(), gamma.entropy() - gamma.mean_log(), rtol=1e-9, atol=1e-9)


def test_the_density_as_it_is_written():
    a, b, x = 1.7, 2.3, -0.4
    written = np.exp(b * x - np.exp(x) / a) / (a**b * float(mpmath.gamma(b)))
    np.testing.assert_allclose(np.exp(LogGamma(a, b).logpdf(x)), written, rtol=1e-13)


@pytest.mark.parametrize("log_ratio", [-499.0, -501.0, -2000.0])
def test_far_to_the_left_where_the_gamma_variable_underflows(log_ratio):
    tiny = LogGamma(1.0, 0.01)
    with mpmath.workdps(40):
        truth = float(mpmath.gammainc(mpmath.mpf(0.01), 0, mpmath.exp(log_ratio), regularized=True))
    np.testing.assert_allclose(tiny.cdf(log_ratio), truth, rtol=1e-12)
    np.testing.assert_allclose(tiny.quantile(truth), log_ratio, rtol=1e-10)


def test_samples_of_a_tiny_shape_are_finite():
    drawn = LogGamma(2.0, 1e-3).sample(2000, np.random.default_rng(0))
    assert np.isfinite(drawn).all() and drawn.min() < -745.0


def test_far_to_the_right_there_is_nothing():
    assert LogGamma(1.0, 2.0).logpdf(800.0) == -np.inf
    assert LogGamma(1.0, 2.0).cdf(800.0) == 1.0
