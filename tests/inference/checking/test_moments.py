"""The grid that moves to where the mass is, against closed forms."""

import numpy as np
import pytest
from scipy import stats

from inference.checking.moments import port_moments
from inference.checking.quadrature import marginal_axis
from inference.distributions import Normal

NONE: list = []


@pytest.mark.parametrize("scale", [1e-2, 1.0, 50.0])
@pytest.mark.parametrize("coarse", [False, True])
def test_a_normal_of_any_scale(scale, coarse):
    d = stats.norm(0.7, scale)
    found = port_moments(lambda v: d.logpdf(v["x"]), {"x": "real"}, {"x": ()}, NONE, coarse)
    np.testing.assert_allclose([found.log_integral, found.mean[0]], [0.0, 0.7], atol=1e-9)
    np.testing.assert_allclose(found.covariance, [[scale**2]], rtol=1e-8)


@pytest.mark.parametrize(
    ("d", "kind"),
    [(stats.gamma(0.7, scale=2.0), "positive"), (stats.gamma(8.0), "positive"), (stats.beta(0.8, 3.0), "probability")],
)
def test_other_supports(d, kind):
    found = port_moments(lambda v: d.logpdf(v["x"]), {"x": kind}, {"x": ()}, NONE)
    np.testing.assert_allclose([found.log_integral, found.mean[0]], [0.0, d.mean()], atol=1e-9)
    np.testing.assert_allclose(found.covariance, [[d.var()]], rtol=1e-7)


def test_heavy_tails():
    d = stats.t(9.0, 0.4, 0.7)
    found = port_moments(lambda v: d.logpdf(v["x"]), {"x": "real"}, {"x": ()}, NONE)
    np.testing.assert_allclose(found.covariance, [[d.var()]], rtol=1e-6)


def test_a_vector_with_correlations():
    d = stats.multivariate_normal([0.5, -2.0], [[1.0, 0.7], [0.7, 0.8]])
    found = port_moments(lambda v: d.logpdf(v["x"]) + 1.5, {"x": "real"}, {"x": (2,)}, NONE)
    np.testing.assert_allclose(found.log_integral, 1.5, rtol=1e-9)
    np.testing.assert_allclose(found.mean, d.mean, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, d.cov, rtol=1e-8)


def test_a_binary_port():
    found = port_moments(lambda v: np.log(np.where(v["x"] == 1.0, 0.6, 0.2)), {"x": "binary"}, {"x": ()}, NONE)
    np.testing.assert_allclose([found.log_integral, found.mean[0], found.covariance[0, 0]], [np.log(0.8), 0.75, 0.1875])


def test_variances_of_mean_and_noise_add():
    axes = [marginal_axis("m", Normal(1.0, 0.5), 20)]
    found = port_moments(lambda v: stats.norm.logpdf(v["x"], v["m"], 1.0), {"x": "real"}, {"x": ()}, axes)
    np.testing.assert_allclose([found.mean[0], found.covariance[0, 0]], [1.0, 1.5], rtol=1e-8)
