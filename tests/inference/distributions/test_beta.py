"""Beta: scipy's values, moments of both logarithms, and the mirror image."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from inference.distributions import Beta
from tests.support.laws.distribution_laws import nodes

SHAPES = st.floats(0.3, 80.0)


@given(SHAPES, SHAPES, st.floats(0.02, 0.98))
def test_against_scipy(a, b, x):
    ours, theirs = Beta(a, b), stats.beta(a, b)
    np.testing.assert_allclose(ours.logpdf(x), theirs.logpdf(x), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(ours.entropy(), theirs.entropy(), rtol=1e-8, atol=1e-9)


def test_moments_of_the_logarithms_against_quadrature():
    for beta in Beta.example():
        x, mass = nodes(beta)
        np.testing.assert_allclose(beta.mean_log(), (mass * np.log(x)).sum(), rtol=1e-10)
        np.testing.assert_allclose(beta.mean_log1m(), (mass * np.log1p(-x)).sum(), rtol=1e-9)


@given(SHAPES, SHAPES)
def test_the_mirror_image(a, b):
    ours, mirrored = Beta(a, b), Beta(b, a)
    np.testing.assert_allclose(ours.mean_log1m(), mirrored.mean_log(), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(ours.cdf(0.3), 1.0 - mirrored.cdf(0.7), atol=1e-12)


def test_the_edges_of_the_support():
    beta = Beta([0.5, 1.0, 3.0], [3.0, 1.0, 0.5])
    np.testing.assert_array_equal(beta.logpdf(0.0), [np.inf, 0.0, -np.inf])
    np.testing.assert_array_equal(beta.logpdf(1.0), [-np.inf, 0.0, np.inf])
    np.testing.assert_array_equal(beta.logpdf(1.5), [-np.inf] * 3)
    np.testing.assert_array_equal(beta.cdf([[-1.0], [2.0]]), [[0.0] * 3, [1.0] * 3])
