"""Mixtures over draws of the precisions against quadrature and grids (message passing 4.6)."""

import numpy as np
import pytest
from scipy import stats

import inference as P
from inference.prediction import forward_product
from tests.support.expert_models import bound, data_of, regression
from tests.support.gated_experts import Options
from tests.support.predicted_experts import KNOWN, ahead, alone, globals_of, trained
from tests.support.simulated_experts import simulate

pytestmark = pytest.mark.unchecked

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(81)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
COPIES = 300
PLAIN = Options(gamma_factor=False)


def assert_within(found, expected, errors: float = 4.5) -> None:
    """The mean over copies of one row, in standard errors."""
    found = np.asarray(found)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - expected) <= errors * error).all(), (found.mean(axis=0), expected, error)


def test_a_mixture_of_one_expert_is_its_scale_mixture():
    """Moments and cdf by quadrature over the lognormal gamma; the variance is ``E 1/gamma``."""
    result, new, mean, var = alone(copies=600)
    found = result.predict(new, mode="mixture", n_samples=20, seed=1)
    scale = np.exp(-0.5 * (mean + np.sqrt(var) * NODES))
    points = np.array([-2.0, 0.0, 0.9])
    cdf = (WEIGHTS * stats.norm(0.3, scale).cdf(points[:, None])).sum(-1)
    np.testing.assert_allclose(found.mean(), 0.3, rtol=1e-12)
    assert_within(found.var(), np.exp(-mean + 0.5 * var))
    assert_within(np.stack([found.cdf(np.full(600, point)) for point in points], axis=1), cdf)
    again = result.predict(new, mode="mixture", n_samples=20, seed=1)
    np.testing.assert_array_equal(again.var(), found.var())


def test_a_mixture_draws_the_noise_precisions_too():
    """``z`` at every draw of tau has variance ``phi'V phi + 1/tau``: by quadrature over both."""
    x, result, new = trained(PLAIN, experts=1, rows=12)
    new = {name: np.repeat(array[:1], 600, axis=0) for name, array in new.items()}
    found = result.predict(new, mode="mixture", n_samples=25, seed=3)
    q, phi, yhat = globals_of(x, result), new["phi"][0], new["yhat"][0, 0]
    levels = (np.arange(200) + 0.5) / 200
    tau = stats.gamma(q.tau[0, 0], scale=1.0 / q.tau[1, 0]).ppf(levels)
    scales = np.sqrt(phi @ q.cov_w[0] @ phi + 1.0 / tau)
    z = phi @ q.mean_w[0] + scales[:, None] * NODES
    points = yhat + np.array([-1.0, 0.2, 2.0])
    cdf = [(WEIGHTS * stats.norm(yhat, np.exp(-0.5 * z)).cdf(point)).sum(-1).mean() for point in points]
    assert_within(np.stack([found.cdf(np.full(600, point)) for point in points], axis=1), cdf)


def agreement(g, yhat):
    """``(mean, variance, weight)`` of ``prod N(yhat_i; y, 1/g_i)`` in y, as printed in 4.6."""
    mean = (g * yhat).sum(-1) / g.sum(-1)
    quadratic = (g * (yhat - mean[..., None]) ** 2).sum(-1)
    return mean, 1.0 / g.sum(-1), np.sqrt(g.prod(-1) / g.sum(-1)) * np.exp(-0.5 * quadratic)


def test_the_normaliser_of_a_product_is_its_integral():
    _, result, new = trained(PLAIN, experts=3)
    program, state = ahead(result, new)
    gamma = np.random.default_rng(0).uniform(0.2, 3.0, (4, 3))
    found = forward_product(program, state.updated(marginals={"gamma": P.PointMass(gamma)}), "y")
    mean, var, weight = agreement(gamma, new["yhat"])
    np.testing.assert_allclose(found.distribution.mean(), mean, rtol=1e-12)
    np.testing.assert_allclose(found.distribution.var(), var, rtol=1e-12)
    np.testing.assert_allclose(found.log_normaliser, np.log(weight) - np.log(2.0 * np.pi), rtol=1e-12)


@pytest.mark.parametrize("reweight", [True, False])
def test_a_mixture_is_weighted_by_the_agreement_of_experts(reweight):
    """Two experts, on a grid of both ``z`` (4.6)."""
    w, tau, yhat = np.array([[0.5], [-0.2]]), 1.3, np.array([0.9, -0.8])
    x = simulate(11, rows=4, experts=2, d=1, tau=(KNOWN, tau)).experts
    fixed = P.Fixed("w", P.MvNormal(w, cov=1e-14 * np.ones((2, 1, 1))))
    result = P.infer(bound(x, Options(gamma_factor=False)), data=data_of(x), constraints=[P.MeanField(), fixed])
    new = {"phi": np.ones((COPIES, 1)), "yhat": np.tile(yhat, (COPIES, 1))}
    found = result.predict(new, mode="mixture", n_samples=100, seed=2, reweight=reweight)
    z = np.stack(np.meshgrid(*(w[:, 0, None] + NODES / np.sqrt(tau)), indexing="ij"), axis=-1)
    mean, var, weight = agreement(np.exp(z), yhat)
    weight = WEIGHTS[:, None] * WEIGHTS * (weight if reweight else 1.0)
    weight = weight / weight.sum()
    center = (weight * mean).sum()
    assert_within(found.mean(), center)
    assert_within(found.cdf(np.full(COPIES, 0.4)), (weight * stats.norm(mean, np.sqrt(var)).cdf(0.4)).sum())
    assert_within(
        found.logpdf(np.full(COPIES, 0.1)), np.log((weight * stats.norm(mean, np.sqrt(var)).pdf(0.1)).sum()), 6.0
    )


def test_without_precisions_to_draw_a_mixture_is_the_forward_prediction():
    rng = np.random.default_rng(5)
    model = regression.bind(mean=np.zeros(2), cov=np.eye(2), tau=0.7)
    result = P.infer(model, data={"x": rng.standard_normal((5, 2)), "y": rng.standard_normal(5)})
    new = {"x": rng.standard_normal((3, 2))}
    found, plain = result.predict(new, mode="mixture", n_samples=4), result.predict(new)
    np.testing.assert_allclose(found.mean(), plain.mean(), rtol=1e-12)
    np.testing.assert_allclose(found.var(), plain.var(), rtol=1e-12)
