"""The same mean-field models in BayesPy, which shares no line with us (message passing 6.8)."""

import numpy as np
import pytest
from bayespy.inference import VB
from bayespy.nodes import Gamma, GaussianARD, SumMultiply

from tests.support.expert_models import independent_regression, sample_of_normals, settle

MEAN, PRECISION, SHAPE, RATE = 1.6, 0.35, 2.0, 1.5
RNG = np.random.default_rng(0)
Y = RNG.standard_normal(30) + 1.0
X = RNG.standard_normal((30, 3))


def converged(observed, *latent) -> float:
    """Run BayesPy to where its bound stands; the bound."""
    engine = VB(observed, *latent)
    engine.update(repeat=500, tol=0.0, verbose=False)
    return float(engine.loglikelihood_lowerbound())


def assert_same(result, energy: float, bound: float, name: str, weights, tau) -> None:
    """Moments and natural parameters to 1e-8, ``L = -F`` to 1e-10 of itself."""
    mean, second = weights.get_moments()
    q, precision = result.posteriors[name], result.posteriors["tau"]
    np.testing.assert_allclose(q.mean(), mean, rtol=1e-8, atol=1e-8)
    spread = q.covariance if np.ndim(mean) else q.var()
    np.testing.assert_allclose(spread + np.multiply.outer(q.mean(), q.mean()), second, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose([-precision.rate, precision.shape], [float(part) for part in tau.phi], rtol=1e-8)
    np.testing.assert_allclose(-energy, bound, rtol=1e-10)


def test_a_sample_of_normals():
    tau = Gamma(SHAPE, RATE)
    mu = GaussianARD(MEAN, PRECISION)
    observed = GaussianARD(mu, tau, plates=(30,))
    observed.observe(Y)
    bound = converged(observed, mu, tau)
    model = sample_of_normals.bind(mean=MEAN, precision=PRECISION, shape=SHAPE, rate=RATE)
    assert_same(*settle(model, {"y": Y}), bound, "mu", mu, tau)


@pytest.mark.parametrize("masked", [False, True], ids=["complete", "gaps"])
def test_regression(masked):
    seen = np.arange(30) % 4 != 1 if masked else np.ones(30, bool)
    tau = Gamma(SHAPE, RATE)
    w = GaussianARD(0.0, PRECISION, shape=(3,))
    observed = GaussianARD(SumMultiply("i,i", w, X), tau)
    observed.observe(Y, mask=seen)
    bound = converged(observed, w, tau)
    model = independent_regression.bind(w_precision=PRECISION, shape=SHAPE, rate=RATE)
    assert_same(*settle(model, {"x": X, "y": np.where(seen, Y, np.nan)}), bound, "w", w, tau)
