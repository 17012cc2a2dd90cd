"""The likelihood of a Gaussian process: the dense density, scikit-learn's value and slope, central differences."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from corners.baselines._rbf_likelihood import NegativeLogLikelihood

RNG = np.random.default_rng(3)
INPUTS, TARGETS = RNG.normal(size=(12, 3)), RNG.normal(size=12)
POINTS = [(0.0, 0.0, 0.0), (1.3, -0.7, -2.0), (-1.0, 1.5, 0.4)]


@pytest.mark.parametrize("theta", POINTS)
def test_it_is_the_dense_density(theta):
    amplitude2, length_scale, noise_var = np.exp(theta)
    gram = amplitude2 * np.exp(-0.5 * cdist(INPUTS, INPUTS, "sqeuclidean") / length_scale**2)
    value, _ = NegativeLogLikelihood(INPUTS, TARGETS)(np.array(theta))
    expected = -stats.multivariate_normal.logpdf(TARGETS, cov=gram + noise_var * np.eye(12))
    assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("theta", POINTS)
def test_the_slope_is_that_of_differences_and_of_scikit_learn(theta):
    function, theta = NegativeLogLikelihood(INPUTS, TARGETS), np.array(theta)
    slope = function(theta)[1]
    differences = optimize.approx_fprime(theta, lambda at: function(at)[0], 1e-6)
    np.testing.assert_allclose(slope, differences, rtol=1e-4, atol=1e-5)
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    model = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(INPUTS, TARGETS)
    value, theirs = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert function(theta)[0] == pytest.approx(-value, rel=1e-12)
    np.testing.assert_allclose(slope, -theirs, rtol=1e-9)


def test_nothing_is_overwritten_between_calls():
    function, theta = NegativeLogLikelihood(INPUTS, TARGETS), np.array(POINTS[1])
    first, again = function(theta), function(theta)
    assert first[0] == again[0]
    np.testing.assert_array_equal(first[1], again[1])


def test_a_matrix_that_rounding_makes_indefinite_is_infinitely_bad():
    inputs = np.repeat(INPUTS, 2, axis=0)
    value, slope = NegativeLogLikelihood(inputs, np.zeros(24))(np.array([0.0, 8.0, -50.0]))
    assert value == np.inf and not slope.any()
