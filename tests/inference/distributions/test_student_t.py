"""StudentT: scipy's values, the Gaussian it tends to, and moments that do not exist."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from inference.distributions import Normal, StudentT


@given(st.floats(0.5, 200.0), st.floats(-10, 10), st.floats(0.01, 100.0), st.floats(1e-3, 1 - 1e-3))
def test_against_scipy(df, loc, scale, level):
    ours, theirs = StudentT(df, loc, scale), stats.t(df, loc, scale)
    x = ours.quantile(level)
    np.testing.assert_allclose(ours.cdf(x), level, rtol=1e-10)
    np.testing.assert_allclose(theirs.cdf(x), level, rtol=1e-8)
    np.testing.assert_allclose(ours.logpdf(x), theirs.logpdf(x), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.entropy(), theirs.entropy(), rtol=1e-9, atol=1e-9)


def test_moments_that_do_not_exist():
    t = StudentT([0.8, 1.5, 4.0], 2.0, 3.0)
    np.testing.assert_array_equal(t.mean(), [np.nan, 2.0, 2.0])
    np.testing.assert_array_equal(t.var(), [np.nan, np.inf, 18.0])


def test_many_degrees_of_freedom_are_a_gaussian():
    t, normal = StudentT(1e12, 0.7, 1.3), Normal(0.7, 1.69)
    np.testing.assert_allclose(t.logpdf([-2.0, 0.1, 5.0]), normal.logpdf([-2.0, 0.1, 5.0]), rtol=1e-10)
    np.testing.assert_allclose(t.entropy(), normal.entropy(), rtol=1e-11)


def test_the_ends_of_the_line():
    assert StudentT(3.0, 5.0, 2.0).quantile([0.0, 1.0]).tolist() == [-np.inf, np.inf]
