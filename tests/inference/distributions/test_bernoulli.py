"""Bernoulli: its table, and the certain cases."""

import numpy as np

from inference.distributions import Bernoulli


def test_the_table():
    b = Bernoulli(0.2)
    np.testing.assert_allclose(np.exp(b.logpdf([0.0, 1.0, 0.5, 2.0])), [0.8, 0.2, 0.0, 0.0], rtol=1e-15)
    np.testing.assert_allclose(b.cdf([-0.1, 0.0, 0.9, 1.0]), [0.0, 0.8, 0.8, 1.0], rtol=1e-15)
    assert b.quantile([0.0, 0.79, 0.81, 1.0]).tolist() == [0.0, 0.0, 1.0, 1.0]


def test_certainty_has_no_entropy_and_no_warning():
    b = Bernoulli([0.0, 1.0])
    np.testing.assert_array_equal(b.entropy(), [0.0, 0.0])
    np.testing.assert_array_equal(b.logpdf([1.0, 1.0]), [-np.inf, 0.0])
    np.testing.assert_array_equal(b.logpdf([0.0, 0.0]), [0.0, -np.inf])


def test_entropy_of_a_fair_coin():
    np.testing.assert_allclose(Bernoulli(0.5).entropy(), np.log(2.0), rtol=1e-15)
