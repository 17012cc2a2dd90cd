"""LogNormal: the Gaussian of its logarithm, with the Jacobian."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from inference.distributions import LogNormal, Normal


@given(st.floats(-5, 5), st.floats(1e-3, 9.0), st.floats(-4, 4))
def test_change_of_variable(mean, var, z):
    ours, gaussian = LogNormal(mean, var), Normal(mean, var)
    log_x = mean + z * np.sqrt(var)
    np.testing.assert_allclose(ours.logpdf(np.exp(log_x)), gaussian.logpdf(log_x) - log_x, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.cdf(np.exp(log_x)), gaussian.cdf(log_x), rtol=1e-9)
    np.testing.assert_allclose(ours.entropy(), gaussian.entropy() + mean, rtol=1e-12, atol=1e-12)


@given(st.floats(-5, 5), st.floats(1e-3, 4.0))
def test_moments_against_scipy(mean, var):
    ours, theirs = LogNormal(mean, var), stats.lognorm(np.sqrt(var), scale=np.exp(mean))
    np.testing.assert_allclose(ours.mean(), theirs.mean(), rtol=1e-12)
    np.testing.assert_allclose(ours.var(), theirs.var(), rtol=1e-9)
    np.testing.assert_allclose(ours.mean_inverse(), LogNormal(-mean, var).mean(), rtol=1e-14)
    assert (ours.mean_log(), ours.var_log()) == (mean, var)
    np.testing.assert_allclose(ours.mode(), np.exp(mean - var), rtol=1e-14)


def test_what_overflows_is_infinite_and_silent():
    far = LogNormal([800.0, 0.0], [1.0, 900.0])
    assert far.mean()[0] == np.inf and far.var()[1] == np.inf


def test_nothing_is_below_zero():
    x = LogNormal(0.3, 0.7)
    assert x.logpdf(0.0) == x.logpdf(-1.0) == -np.inf
    assert x.cdf(0.0) == x.cdf(-1.0) == 0.0
