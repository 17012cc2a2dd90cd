"""Predictions where data have gaps, by exact models and by experts; which plates are those of new rows."""

import numpy as np
import pytest
from scipy import stats

import inference as P
from tests.support.expert_models import (
    bound,
    conjugate_regression,
    data_of,
    independent_regression,
    latent_regression,
    local_level,
    regression,
    settle,
    static,
)
from tests.support.gated_experts import Options
from tests.support.predicted_experts import KNOWN, ahead, trained
from tests.support.simulated_experts import simulate

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
    _, result, new = trained(Options(gamma_factor=False), experts=3)
    gaps = np.zeros((4, 3), bool)
    gaps[1, 0] = gaps[3, 1:] = True
    _, state = ahead(result, new)
    gamma = np.where(gaps, 0.0, state.marginals["gamma"].mean())
    found = result.predict({**new, "yhat": np.where(gaps, np.nan, new["yhat"])})
    assert isinstance(found, P.Normal)
    np.testing.assert_allclose(found.mean(), (gamma * new["yhat"]).sum(1) / gamma.sum(1), rtol=1e-9)
    np.testing.assert_allclose(found.var(), 1.0 / gamma.sum(1), rtol=1e-9)


@pytest.mark.parametrize("count", [1, 2])
def test_nothing_is_predicted_from_nothing(count):
    """A forecast and its target missing together: neither is made up from the other; another expert helps one."""
    x = simulate(9, rows=12, experts=count, d=2).experts
    data = {**data_of(x), "y": x.y.copy(), "yhat": x.yhat.copy()}
    data["y"][3] = data["yhat"][3, 0] = np.nan
    result = P.infer(bound(x, Options()), data=data)
    if count == 1:
        with pytest.raises(P.NoRule, match="nothing that is known says anything about"):
            _ = result.predictions
    else:
        assert list(result.predictions) == ["y"]
        np.testing.assert_allclose(result.predictions["y"].mean(), x.yhat[3, 1:], rtol=1e-12)


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
