"""Predictions against oracles, grids and quadrature: what is uncertain stays so, and nothing flows back (4.6)."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import inference as P
from inference import frozen
from inference.prediction import forward_product
from tests.support.engine_states import beliefs_of, expected_tau, gammas_of
from tests.support.expert_models import (
    bound,
    conjugate_regression,
    data_of,
    experts,
    independent_regression,
    latent_regression,
    local_level,
    mean_field,
    regression,
    settle,
    static,
)
from tests.support.gated_experts import Experts, Options, mean_of
from tests.support.gated_experts_forward import Globals, forward
from tests.support.link_oracle import gamma_link
from tests.support.simulated_experts import simulate

KNOWN = float("inf")
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(81)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def trained(o: Options, experts: int = 2, *, tau=(2.0, 0.5), constraints=None, rows: int = 20):
    """Simulated data, a result, and new rows."""
    x = simulate(11, rows=rows, experts=experts, d=2, tau=tau, kappa=(2.0, 0.5) if o.noisy else None).experts
    constraints = mean_field(o) if constraints is None else constraints
    result = P.infer(bound(x, o), data=data_of(x), constraints=constraints, iterations=30)
    rng = np.random.default_rng(12)
    return x, result, {"phi": rng.standard_normal((4, 2)), "yhat": rng.standard_normal((4, experts))}


def globals_of(x: Experts, result) -> Globals:
    """What the oracle needs of a result."""
    q, count = result.posteriors, x.yhat.shape[1]
    kept = [gammas_of(result.state, name, getattr(x, name), count) for name in ("tau", "beta", "kappa")]
    return Globals(q["w"].mean(), beliefs_of(x, result.state).cov_w, *kept)


def ahead(result, new, iterations: int = 50):
    """The local state of a forward prediction."""
    problem = frozen.problem(result, new)
    return frozen.settle(problem, problem.frozen, iterations)


# Forward

OPTIONS = [
    Options(jacobian=j, noisy=noisy, gamma_factor=rate)
    for j, noisy, rate in [(0, False, False), (0, False, True), (1, False, False), (1, True, True), (0, True, False)]
]


@pytest.mark.parametrize("o", OPTIONS, ids=str)
@pytest.mark.parametrize("structured", [False, True])
def test_forward_keeps_the_uncertainty_of_weights_and_noise(o, structured):
    """The oracle's way, row by row, whichever way the weights were trained."""
    if o.noisy and structured:
        constraints = ["q(w,z)q(pred)"]
    else:
        constraints = [P.Structured(("w", "z"))] if structured else mean_field(o)
    x, result, new = trained(o, constraints=constraints)
    expected = forward(x, o, globals_of(x, result), new["phi"], new["yhat"])
    found, (_, state) = result.predict(new), ahead(result, new)
    np.testing.assert_allclose(state.marginals["gamma"].mean(), expected.gamma, rtol=1e-9)
    np.testing.assert_allclose(found.mean(), expected.mean, rtol=1e-9)
    np.testing.assert_allclose(found.var(), expected.var, rtol=1e-9)


def test_forward_keeps_the_form_of_the_link():
    """A Gamma on gamma where training had one: the best against the softdot's message and the rate prior."""
    x, result, new = trained(Options("gamma", jacobian=1))
    q = forward(x, Options(), globals_of(x, result), new["phi"], new["yhat"])
    beta = mean_of(globals_of(x, result).beta)
    best = gamma_link(1.0 / q.message_var, q.message_mean, x.alpha - 1.0 + 1.0, np.broadcast_to(beta, (4, 2)))
    _, state = ahead(result, new)
    np.testing.assert_allclose(state.marginals["gamma"].mean(), best.shape / best.rate, rtol=1e-9)


@pytest.mark.parametrize("o", OPTIONS[:3], ids=str)
def test_the_forecasts_do_not_move_their_precisions(o):
    """Decision 0.5: without a target, forecasts that disagree wildly say nothing about gamma."""
    _, result, new = trained(o)
    _, one = ahead(result, new)
    _, other = ahead(result, {**new, "yhat": 1e3 * new["yhat"]})
    np.testing.assert_array_equal(other.marginals["gamma"].mean(), one.marginals["gamma"].mean())


def alone(**options):
    """One expert, certain weights and noise, one new row many times; the message to its ``z``."""
    w, tau, copies = np.array([0.7, -0.4]), 1.6, options.pop("copies", 1)
    x = simulate(11, rows=5, experts=1, d=2, tau=(KNOWN, tau)).experts
    fixed = P.Fixed("w", P.MvNormal(w[None], cov=1e-14 * np.eye(2)[None]))
    result = P.infer(bound(x, Options(gamma_factor=False)), data=data_of(x), constraints=[P.MeanField(), fixed])
    phi = np.array([1.2, 0.5])
    return result, {"phi": np.tile(phi, (copies, 1)), "yhat": np.full((copies, 1), 0.3)}, float(w @ phi), 1.0 / tau


def test_a_single_forecast_is_plugged_in_at_the_mean_precision():
    """``1/E gamma`` and ``E 1/gamma`` differ by ``e^v`` (Jensen): the plug-in says the former."""
    result, new, mean, var = alone()
    found, (_, state) = result.predict(new), ahead(result, new)
    np.testing.assert_allclose(found.mean(), [0.3], rtol=1e-12)
    np.testing.assert_allclose(found.var(), [np.exp(-mean - 0.5 * var)], rtol=1e-10)
    inverse = state.marginals["gamma"].mean_inverse()
    np.testing.assert_allclose(inverse, [[np.exp(-mean + 0.5 * var)]], rtol=1e-10)


def test_feeding_the_latent_target_back_moves_gamma():
    """At its fixed point ``E gamma (y - yhat)^2 = 1``, which acts as one more half count: ``v`` is ``1/(p + 1/2)``."""
    result, new, mean, var = alone()
    with pytest.warns(UserWarning, match="overconfident"):
        found = result.predict(new, mode="vmp", iterations=200)
    np.testing.assert_allclose(1.0 / found.var(), [np.exp(mean + 0.5 / (1.0 / var + 0.5))], rtol=1e-8)


def test_noisy_experts_keep_their_own_noise():
    """However sure the gate, an expert's forecast is as uncertain as ``1/E kappa``."""
    x, result, new = trained(replace(OPTIONS[4]), experts=1)
    variance = result.predict(new).var()
    kappa = float(result.posteriors["kappa"].mean()[0])
    _, state = ahead(result, new)
    np.testing.assert_allclose(variance, 1.0 / kappa + 1.0 / state.marginals["gamma"].mean()[:, 0], rtol=1e-10)


# Mixture


def assert_within(found, expected, errors: float = 4.5) -> None:
    """The mean over copies of one row, in standard errors."""
    found = np.asarray(found)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - expected) <= errors * error).all(), (found.mean(axis=0), expected, error)


def test_a_mixture_of_one_expert_is_its_scale_mixture():
    """Moments and cdf by quadrature over the lognormal gamma; the variance is ``E 1/gamma``."""
    result, new, mean, var = alone(copies=300)
    found = result.predict(new, mode="mixture", n_samples=40, seed=1)
    scale = np.exp(-0.5 * (mean + np.sqrt(var) * NODES))
    points = np.array([-2.0, 0.0, 0.9])
    cdf = (WEIGHTS * stats.norm(0.3, scale).cdf(points[:, None])).sum(-1)
    np.testing.assert_allclose(found.mean(), 0.3, rtol=1e-12)
    assert_within(found.var(), np.exp(-mean + 0.5 * var))
    assert_within(np.stack([found.cdf(np.full(300, point)) for point in points], axis=1), cdf)
    again = result.predict(new, mode="mixture", n_samples=40, seed=1)
    np.testing.assert_array_equal(again.var(), found.var())


def test_a_mixture_draws_the_noise_precisions_too():
    """``z`` at every draw of tau has variance ``phi'V phi + 1/tau``: by quadrature over both."""
    x, result, new = trained(OPTIONS[0], experts=1, rows=12)
    new = {name: np.repeat(array[:1], 300, axis=0) for name, array in new.items()}
    found = result.predict(new, mode="mixture", n_samples=60, seed=3)
    q, phi, yhat = globals_of(x, result), new["phi"][0], new["yhat"][0, 0]
    levels = (np.arange(200) + 0.5) / 200
    tau = stats.gamma(q.tau[0, 0], scale=1.0 / q.tau[1, 0]).ppf(levels)
    scales = np.sqrt(phi @ q.cov_w[0] @ phi + 1.0 / tau)
    z = phi @ q.mean_w[0] + scales[:, None] * NODES
    points = yhat + np.array([-1.0, 0.2, 2.0])
    cdf = [(WEIGHTS * stats.norm(yhat, np.exp(-0.5 * z)).cdf(point)).sum(-1).mean() for point in points]
    assert_within(np.stack([found.cdf(np.full(300, point)) for point in points], axis=1), cdf)


def agreement(g, yhat):
    """``(mean, variance, weight)`` of ``prod N(yhat_i; y, 1/g_i)`` in y, as printed in 4.6."""
    mean = (g * yhat).sum(-1) / g.sum(-1)
    quadratic = (g * (yhat - mean[..., None]) ** 2).sum(-1)
    return mean, 1.0 / g.sum(-1), np.sqrt(g.prod(-1) / g.sum(-1)) * np.exp(-0.5 * quadratic)


def test_the_normaliser_of_a_product_is_its_integral():
    x, result, new = trained(OPTIONS[0], experts=3)
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
    new = {"phi": np.ones((200, 1)), "yhat": np.tile(yhat, (200, 1))}
    found = result.predict(new, mode="mixture", n_samples=200, seed=2, reweight=reweight)
    z = np.stack(np.meshgrid(*(w[:, 0, None] + NODES / np.sqrt(tau)), indexing="ij"), axis=-1)
    mean, var, weight = agreement(np.exp(z), yhat)
    weight = WEIGHTS[:, None] * WEIGHTS * (weight if reweight else 1.0)
    weight = weight / weight.sum()
    center = (weight * mean).sum()
    assert_within(found.mean(), center)
    assert_within(found.cdf(np.full(200, 0.4)), (weight * stats.norm(mean, np.sqrt(var)).cdf(0.4)).sum())
    assert_within(found.logpdf(np.full(200, 0.1)), np.log((weight * stats.norm(mean, np.sqrt(var)).pdf(0.1)).sum()), 6.0)


# Exact models


def test_regression_predicts_as_linear_algebra_does():
    rng = np.random.default_rng(5)
    x, y, new = rng.standard_normal((9, 2)), rng.standard_normal(9), rng.standard_normal((4, 2))
    prior = np.array([[1.1, 0.3], [0.3, 0.9]])
    for model, noise in (
        (regression.bind(mean=np.zeros(2), cov=prior, tau=0.7), 1.0 / 0.7),
        (latent_regression.bind(mean=np.zeros(2), cov=prior, tau=0.7, s=2.2), 1.0 / 0.7 + 1.0 / 2.2),
    ):
        cov = np.linalg.inv(np.linalg.inv(prior) + x.T @ x / noise)
        found = P.infer(model, data={"x": x, "y": y}).predict({"x": new})
        np.testing.assert_allclose(found.mean(), new @ cov @ x.T @ y / noise, rtol=1e-10)
        np.testing.assert_allclose(found.var(), np.einsum("na,ab,nb->n", new, cov, new) + noise, rtol=1e-10)
    result, _ = settle(independent_regression.bind(w_precision=0.5, shape=2.0, rate=1.0), {"x": x, "y": y})
    w, tau = result.posteriors["w"], result.posteriors["tau"]
    spread = np.einsum("na,ab,nb->n", new, w.covariance, new)
    np.testing.assert_allclose(result.predict({"x": new}).var(), spread + tau.rate / tau.shape, rtol=1e-10)


def test_unknown_noise_predicts_a_student_t():
    """Df 2a, location x'm, squared scale ``(b/a)(1 + x'L^-1 x)`` (5.3)."""
    rng = np.random.default_rng(5)
    x, y, new = rng.standard_normal((9, 2)), rng.standard_normal(9), rng.standard_normal((4, 2))
    model = conjugate_regression.bind(mean=np.zeros(2), precision=0.6 * np.eye(2), shape=2.0, rate=1.5)
    result = P.infer(model, data={"x": x, "y": np.where(np.arange(9) == 3, np.nan, y)})
    seen = np.arange(9) != 3
    precision = 0.6 * np.eye(2) + x[seen].T @ x[seen]
    mean = np.linalg.solve(precision, x[seen].T @ y[seen])
    a, b = 2.0 + 4.0, 1.5 + 0.5 * (y[seen] @ y[seen] - mean @ precision @ mean)
    for found, at in ((result.predict({"x": new}), new), (result.predictions["y"], x[3:4])):
        scale = np.sqrt(b / a * (1.0 + np.einsum("na,ab,nb->n", at, np.linalg.inv(precision), at)))
        expected = stats.t(2.0 * a, at @ mean, scale)
        np.testing.assert_allclose(found.quantile(0.9), expected.ppf(0.9), rtol=1e-9)
        np.testing.assert_allclose(found.logpdf(np.full(len(at), 0.2)), expected.logpdf(0.2), rtol=1e-9)


def test_a_level_forecasts_its_last_value_with_growing_variance():
    """NaN at the end, and in between, by the dense conditional."""
    y = np.array([0.3, np.nan, 1.1, 0.8, np.nan, np.nan, np.nan])
    seen = ~np.isnan(y)
    states = 0.8 + 1.9 * np.minimum.outer(np.arange(7.0), np.arange(7.0))
    gain = states[~seen][:, seen] @ np.linalg.inv(states[np.ix_(seen, seen)] + 1.4 * np.eye(3))
    result = P.infer(local_level.bind(start_mean=0.4, start_var=0.8, q=1.9, r=1.4), data={"y": y})
    found = result.predictions["y"]
    np.testing.assert_allclose(found.mean(), 0.4 + gain @ (y[seen] - 0.4), rtol=1e-10)
    spread = states[np.ix_(~seen, ~seen)] - gain @ states[seen][:, ~seen]
    np.testing.assert_allclose(found.var(), np.diag(spread) + 1.4, rtol=1e-10)
    np.testing.assert_allclose(np.diff(found.var()[-3:]), 1.9, rtol=1e-9)


# Gaps


def test_missing_targets_of_training_are_predicted_as_new_rows_are():
    """Exactly so where the open ``z`` is in the cluster of its weights."""
    x = simulate(9, rows=12, experts=2, d=2, tau=(KNOWN, 3.0)).experts
    gone = np.arange(12) % 5 == 2
    data = {**data_of(x), "y": np.where(gone, np.nan, x.y)}
    result, _ = settle(bound(x, Options(gamma_factor=False)), data, tolerance=1e-12)
    found, new = result.predictions["y"], result.predict({"phi": x.phi[gone], "yhat": x.yhat[gone]})
    assert result.missing["y"].tolist() == gone.tolist()
    np.testing.assert_allclose(found.mean(), new.mean(), rtol=1e-9)
    np.testing.assert_allclose(found.var(), new.var(), rtol=1e-9)


def test_a_missing_forecast_is_predicted_around_its_target():
    x = simulate(9, rows=12, experts=2, d=2).experts
    data = {**data_of(x), "yhat": x.yhat.copy()}
    data["yhat"][3, 1] = np.nan
    result = P.infer(bound(x, Options()), data=data)
    found = result.predictions["yhat"]
    np.testing.assert_allclose(found.mean(), [x.y[3]], rtol=1e-12)
    np.testing.assert_allclose(found.var(), [1.0 / result.posteriors["gamma"].mean()[3, 1]], rtol=1e-12)


def test_a_forecast_that_is_missing_at_a_new_row_leaves_the_others():
    """The target comes from those that spoke; of a forecast whose target is missing too nothing is said."""
    _, result, new = trained(OPTIONS[0], experts=3)
    gaps = np.zeros((4, 3), bool)
    gaps[1, 0] = gaps[3, 1:] = True
    _, state = ahead(result, new)
    gamma = np.where(gaps, 0.0, state.marginals["gamma"].mean())
    found = result.predict({**new, "yhat": np.where(gaps, np.nan, new["yhat"])})
    assert isinstance(found, P.Normal)
    np.testing.assert_allclose(found.mean(), (gamma * new["yhat"]).sum(1) / gamma.sum(1), rtol=1e-9)
    np.testing.assert_allclose(found.var(), 1.0 / gamma.sum(1), rtol=1e-9)


def test_nothing_is_predicted_from_nothing():
    """A forecast and its target missing together: neither is made up from the other."""
    x = simulate(9, rows=12, experts=1, d=2).experts
    data = {**data_of(x), "y": x.y.copy(), "yhat": x.yhat.copy()}
    data["y"][3] = data["yhat"][3, 0] = np.nan
    result = P.infer(bound(x, Options()), data=data)
    with pytest.raises(P.NoRule, match="nothing that is known says anything about"):
        _ = result.predictions


# Which rows are new


def test_the_new_rows_are_those_of_what_is_predicted():
    """The static ensemble is asked with forecasts alone, which vary over rows and experts: gamma is not local."""
    rng = np.random.default_rng(1)
    y, yhat, new = rng.standard_normal(6), rng.standard_normal((6, 2)), rng.standard_normal((3, 2))
    result = P.infer(static.bind(shape=1.5, rate=0.7), data={"y": y, "yhat": yhat})
    g = result.posteriors["gamma"].mean()
    for found in (result.predict({"yhat": new}), result.predict({"yhat": new}, rows="obs")):
        np.testing.assert_allclose(found.mean(), new @ g / g.sum(), rtol=1e-12)
        np.testing.assert_allclose(found.var(), 1.0 / g.sum(), rtol=1e-12)
