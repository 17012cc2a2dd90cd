"""Gamma: it is shape-RATE; scipy's values, moments of log and inverse, and the golden entropies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from inference.distributions import Gamma
from tests.support.golden import golden

SHAPES, RATES = st.floats(0.1, 300.0), st.floats(1e-3, 1e3)


@given(SHAPES, RATES, st.floats(0.01, 0.99))
def test_against_scipy(shape, rate, level):
    ours, theirs = Gamma(shape, rate), stats.gamma(shape, scale=1.0 / rate)
    x = theirs.ppf(level)
    np.testing.assert_allclose(ours.quantile(level), x, rtol=1e-10)
    np.testing.assert_allclose(ours.logpdf(x), theirs.logpdf(x), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.entropy(), theirs.entropy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [1.4, 6.2])
def test_moments_of_log_and_inverse_against_quadrature(shape):
    gamma = Gamma(shape, 2.7)

    def expected(value):  # in t = log x
        integrand = lambda t: value(np.exp(t)) * np.exp(gamma.logpdf(np.exp(t)) + t)  # noqa: E731
        return integrate.quad(integrand, -80.0, 6.0, epsabs=1e-13, epsrel=1e-12, limit=400)[0]

    mean_log = expected(np.log)
    np.testing.assert_allclose(gamma.mean_log(), mean_log, rtol=1e-10)
    np.testing.assert_allclose(gamma.var_log(), expected(lambda x: (np.log(x) - mean_log) ** 2), rtol=1e-10)
    np.testing.assert_allclose(gamma.mean_inverse(), expected(lambda x: 1.0 / x), rtol=1e-8)


def test_the_inverse_has_no_mean_up_to_shape_one():
    np.testing.assert_array_equal(Gamma([0.5, 1.0, 3.0], 4.0).mean_inverse(), [np.nan, np.nan, 2.0])


def test_mode():
    np.testing.assert_array_equal(Gamma([0.5, 1.0, 3.0], 4.0).mode(), [0.0, 0.0, 0.5])


def test_the_edge_of_the_support():
    gamma = Gamma([0.5, 1.0, 3.0], 4.0)
    np.testing.assert_array_equal(gamma.logpdf(-1.0), [-np.inf] * 3)
    np.testing.assert_allclose(gamma.logpdf(0.0), [np.inf, np.log(4.0), -np.inf], rtol=1e-15)
    np.testing.assert_array_equal(gamma.cdf(-1.0), np.zeros(3))
    np.testing.assert_array_equal(gamma.quantile([0.0, 1.0]), [[0.0] * 3, [np.inf] * 3])


@pytest.mark.parametrize("case", golden("mp_rules")["gamma"])
def test_golden_entropy_of_the_gamma_letter(case):
    inputs = case["inputs"]
    ours = Gamma(inputs["gamma_shape"], inputs["gamma_rate"]).entropy()
    np.testing.assert_allclose(ours, case["expected"]["entropy_gamma"], rtol=1e-12)


@pytest.mark.parametrize("case", golden("mp_rules")["normal"])
def test_golden_entropy_of_a_precision(case):
    inputs = case["inputs"]
    ours = Gamma(inputs["tau_shape"], inputs["tau_rate"]).entropy()
    np.testing.assert_allclose(ours, case["expected"]["entropy_gamma_tau"], rtol=1e-12)
