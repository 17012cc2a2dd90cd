"""The grids under the checker, against moments and scipy in closed form."""

import numpy as np
import pytest

from inference.checking.draws import random_marginal
from inference.checking.quadrature import Axis, expected, log_mixture, marginal_axis, normal_gamma_axis, normal_points
from inference.distributions import Beta, Gamma, LogGamma, LogNormal, MvNormal, Normal, NormalGamma, PointMass

SCALARS = [
    Normal(0.4, 0.7),
    Gamma(4.0, 3.0),
    Gamma(7.0, 9.0),
    LogGamma(0.4, 4.5),
    LogNormal(0.2, 0.3),
    Beta(4.0, 6.5),
    PointMass(0.7),
]


@pytest.mark.parametrize("q", SCALARS, ids=repr)
def test_moments_of_a_marginal(q):
    axis = marginal_axis("x", q, 24)
    x, w = axis.values["x"], axis.weights
    np.testing.assert_allclose(w.sum(), 1.0, rtol=1e-13)
    np.testing.assert_allclose(w @ x, q.mean(), rtol=1e-9)
    np.testing.assert_allclose(w @ (x - q.mean()) ** 2, q.var(), rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("q", [Gamma(4.0, 3.0), Beta(4.0, 6.5), LogNormal(0.2, 0.3)], ids=repr)
def test_means_of_logs(q):
    axis = marginal_axis("x", q, 24)
    np.testing.assert_allclose(axis.weights @ np.log(axis.values["x"]), q.mean_log(), rtol=1e-9)


@pytest.mark.parametrize("diagonal", [False, True])
def test_moments_of_a_vector(diagonal):
    cov = np.array([[0.8, 0.3], [0.3, 0.5]])
    q = MvNormal([0.4, -1.0], diag=np.diagonal(cov)) if diagonal else MvNormal([0.4, -1.0], cov=cov)
    axis = marginal_axis("x", q, 3)
    deviation = axis.values["x"] - q.mean()
    np.testing.assert_allclose((axis.weights[:, None] * deviation).T @ deviation, q.covariance, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_hermite_points_are_exact_to_their_degree(order):
    """E x^(2k) = (2k-1)!! up to degree 2 order - 1."""
    points, weights = normal_points(np.zeros(1), np.eye(1), order)
    for k in range(order):
        np.testing.assert_allclose(weights @ points[:, 0] ** (2 * k), np.prod(np.arange(1.0, 2 * k, 2)), rtol=1e-12)


def test_points_of_a_normal_gamma_pair():
    """E tau = a/b, E tau w = m a/b, E tau (w - m)(w - m)' = L^-1."""
    q = NormalGamma([0.4, -1.0], [[1.5, 0.3], [0.3, 0.9]], 5.0, 2.0)
    axis = normal_gamma_axis(("w", "tau"), q, False, 3)
    w, tau = axis.values["w"], axis.values["tau"]
    mass = axis.weights * tau
    np.testing.assert_allclose(mass.sum(), 2.5, rtol=1e-9)
    np.testing.assert_allclose(mass @ w, 2.5 * q.mean(), rtol=1e-9)
    deviation = w - q.mean()
    np.testing.assert_allclose((mass[:, None] * deviation).T @ deviation, np.linalg.inv(q.precision), rtol=1e-9)


def test_expectations_over_several_axes():
    """E (a x + y)^2 with x, y independent, at two points a."""
    axes = [marginal_axis("x", Normal(0.5, 2.0), 3), marginal_axis("y", Normal(-1.0, 0.3), 3)]
    found = expected(lambda v: (v["a"] * v["x"] + v["y"]) ** 2, axes, {"a": np.array([1.0, 3.0])})
    np.testing.assert_allclose(found, [(0.5 - 1.0) ** 2 + 2.3, (1.5 - 1.0) ** 2 + 18.3], rtol=1e-13)


def test_the_log_of_a_mixture():
    axis = Axis({"x": np.array([0.0, 1000.0])}, np.array([0.25, 0.75]))
    found = log_mixture(lambda v: -v["x"] + v["a"], [axis], {"a": np.array([1.0, 2.0])})
    np.testing.assert_allclose(found, np.log(0.25) + np.array([1.0, 2.0]), rtol=1e-13)


@pytest.mark.parametrize(
    "kind", ["real", "positive", "probability", "binary", "log-gamma", "log-normal", "point positive"]
)
def test_random_marginals_are_of_order_one(kind):
    q = random_marginal(kind, (50,), (), np.random.default_rng(0))
    assert q.batch_shape == (50,) and np.all(np.abs(q.mean()) < 8.0) and np.all(q.var() < 4.0)
