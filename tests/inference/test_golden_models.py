"""The engine reaches every golden fixed point of a whole model (message passing 9)."""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy import stats

import inference as P
from inference import frozen
from tests.support.expert_models import (
    bound,
    conjugate_regression,
    data_of,
    independent_regression,
    latent_regression,
    local_level,
    mean_field,
    regression,
    sample_of_normals,
    settle,
    static,
)
from tests.support.gated_experts_golden import golden_configurations, golden_experts, golden_new_rows
from tests.support.golden import as_array, golden

pytestmark = pytest.mark.unchecked

EVERY = [pytest.param(entry, id=entry.name) for entry in golden_configurations()]
FORWARD = [pytest.param(e, id=e.name) for e in golden_configurations() if "new_mean" in e.expected]
(DUAL,) = (entry for entry in golden_configurations() if entry.options.link_marginal == "dual")


def assert_exact(found, expected) -> None:
    """To the 1e-10 of linear-Gaussian models."""
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def parameters(q) -> np.ndarray:
    """Shapes over rates."""
    return np.array([q.shape, q.rate])


@cache
def settled(name: str):
    """The entry's model where its parameters stand; the structured entries are what happens without constraints."""
    (entry,) = (each for each in golden_configurations() if each.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", P.DualProjection)
        constraints = [] if entry.structured else mean_field(entry.options)
        return settle(bound(golden_experts(), entry.options), data_of(golden_experts()), constraints, tolerance=1e-9)


@pytest.mark.parametrize("entry", EVERY)
def test_gated_experts(entry):
    result, energy = settled(entry.name)
    q = result.posteriors
    found = {"bfe": energy, "mean_w": q["w"].mean().T, "cov_w": q["w"].covariance, "var_w": q["w"].var()}
    found |= {name: parameters(q[name]) for name in ("tau", "beta", "kappa") if name in q}
    found |= {
        "E_gamma": q["gamma"].mean(),
        "E_log_gamma": q["z"].mean(),
        "mean_z": q["z"].mean(),
        "var_z": q["z"].var(),
    }
    if entry.options.noisy:
        found |= {"pred_mean": q["pred"].mean(), "pred_var": q["pred"].var()}
    if entry.options.link_marginal == "dual":
        found |= {"gamma_shape": q["gamma"].shape, "gamma_rate": q["gamma"].rate}
    for name, value in entry.expected.items():
        if not name.startswith("new_"):
            np.testing.assert_allclose(found[name], value, rtol=1e-7, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("entry", FORWARD)
def test_gated_experts_forward(entry):
    phi, yhat = golden_new_rows()
    result, _ = settled(entry.name)
    new = {"phi": phi, "yhat": yhat}
    problem = frozen.problem(result.trained, new)
    found, (_, ahead) = result.predict(new), frozen.settle(problem, problem.frozen, 20)
    np.testing.assert_allclose(ahead.marginals["gamma"].mean(), entry.expected["new_E_gamma"], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.mean(), entry.expected["new_mean"], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.var(), entry.expected["new_var"], rtol=1e-7, atol=1e-7)


def test_the_dual_projection_warns_once_and_has_no_free_energy():
    with pytest.warns(P.DualProjection) as said:
        result = P.infer(
            bound(golden_experts(), DUAL.options), data=data_of(golden_experts()), constraints=mean_field(DUAL.options)
        )
    assert len(said) == 1 and result.free_energy is None and "dual" in result.free_energy_reason
    assert result.free_energy_diagnostic is not None and np.isfinite(result.free_energy_diagnostic).all()


# Linear-Gaussian


def regression_data():
    """The golden regression: data and what is bound."""
    x = golden("mp_linear_gaussian")["linear_regression"]["inputs"]
    data = {"x": as_array(x["X"]), "y": as_array(x["y"])}
    return data, {"mean": as_array(x["m0"]), "cov": as_array(x["V0"]), "tau": x["tau"]}, x["s"]


@pytest.mark.parametrize("latent", [False, True], ids=["observed", "latent z"])
def test_regression_with_known_noise(latent):
    data, priors, s = regression_data()
    expected = golden("mp_linear_gaussian")["linear_regression"]["expected"]
    model = regression.bind(**priors)
    if latent:
        expected, model = expected["latent_z_model"], latent_regression.bind(**priors, s=s)
    result = P.infer(model, data=data, constraints=[P.BeliefPropagation()])
    w = result.posteriors["w"]
    assert_exact(w.mean(), expected["mean"])
    assert_exact(w.covariance, expected["cov"])
    assert_exact(-result.free_energy[-1], expected["log_evidence"])
    assert result.converged and result.n_iter == 1


@pytest.mark.parametrize("latent", [False, True], ids=["observed", "latent z"])
def test_regression_one_row_at_a_time(latent):
    """Predictive before update; the scores sum to the evidence (5.1)."""
    data, priors, s = regression_data()
    expected = golden("mp_linear_gaussian")["linear_regression"]["expected"]
    model = regression.bind(**priors)
    if latent:
        expected, model = expected["latent_z_model"], latent_regression.bind(**priors, s=s)
    stream = P.Stream(model, carry=["w"])
    steps = [stream.step({"x": data["x"][n : n + 1], "y": data["y"][n : n + 1]}) for n in range(len(data["y"]))]
    ahead = [step.predictive["y"] for step in steps]
    assert_exact(np.ravel([q.mean() for q in ahead]), expected["seq_pred_mean"])
    assert_exact(np.ravel([q.var() for q in ahead]), expected["seq_pred_var"])
    assert_exact(sum(step.logscore for step in steps), expected["log_evidence"])
    assert_exact([step.free_energy for step in steps], [-step.logscore for step in steps])
    assert_exact(steps[-1].posteriors["w"].mean(), expected["mean"])
    assert_exact(steps[-1].posteriors["w"].covariance, expected["cov"])


def test_a_local_level_with_a_gap():
    case = golden("mp_linear_gaussian")["local_level"]
    x, expected = case["inputs"], case["expected"]
    priors = {"start_mean": x["m0"], "start_var": x["P0"], "q": x["q"], "r": x["r"]}
    result = P.infer(local_level.bind(**priors), data={"y": x["y"]})
    level, gap = result.posteriors["x"], result.predictions["y"]
    assert_exact(level.mean(), expected["smooth_mean"])
    assert_exact(level.var(), expected["smooth_var"])
    assert_exact(result.state.pairs["x.step"].cross, expected["lag1_cov"])
    assert_exact(-result.free_energy[-1], expected["log_evidence"])
    assert gap.batch_shape == (1,) and result.missing["y"].tolist() == [v is None for v in x["y"]]
    assert_exact(gap.mean(), [expected["missing_pred_mean"]])
    assert_exact(gap.var(), [expected["missing_pred_var"]])


# Unknown noise


def conjugate():
    """The golden normal-gamma regression: data and model."""
    x = {name: as_array(v) for name, v in golden("mp_normal_gamma_regression")["inputs"].items() if name != "note"}
    priors = {"mean": x["m0"], "precision": x["Lambda0"], "shape": float(x["a0"]), "rate": float(x["b0"])}
    return {"x": x["X"], "y": x["y"]}, conjugate_regression.bind(**priors)


def test_conjugate_regression():
    (data, model), expected = conjugate(), golden("mp_normal_gamma_regression")["expected"]
    result = P.infer(model, data=data)
    joint = result.posteriors["w"].arrays()
    for name, theirs in {"mean": "mean", "precision": "Lambda", "shape": "a", "rate": "b"}.items():
        assert_exact(joint[name], expected[theirs])
    assert_exact(parameters(result.posteriors["tau"]), [expected["a"], expected["b"]])
    assert_exact(-result.free_energy[-1], expected["log_evidence"])


def test_conjugate_regression_one_row_at_a_time():
    """Student-t predictives (5.3)."""
    (data, model), expected = conjugate(), golden("mp_normal_gamma_regression")["expected"]
    stream = P.Stream(model, carry=["w", "tau"])
    steps = [stream.step({"x": data["x"][n : n + 1], "y": data["y"][n : n + 1]}) for n in range(len(data["y"]))]
    assert_exact([s.logscore for s in steps], expected["seq_logpdf"])
    for n, step in enumerate(steps):
        df, loc, scale = (expected[f"seq_{name}"][n] for name in ("df", "loc", "scale"))
        levels = np.array([0.05, 0.5, 0.8])
        assert_exact(np.ravel(step.predictive["y"].quantile(levels)), stats.t(df, loc, scale).ppf(levels))
    joint = steps[-1].posteriors["w"].arrays()
    assert_exact(joint["rate"], expected["b"])


def test_a_sample_of_normals_under_mean_field():
    case = golden("mp_conjugate")["normal_gamma"]
    x, expected = case["inputs"], case["expected"]
    priors = {"mean": x["mu0"], "precision": x["prec0"], "shape": x["shape0"], "rate": x["rate0"]}
    result, energy = settle(sample_of_normals.bind(**priors), {"y": as_array(x["y"])})
    q = result.posteriors
    found = [q["mu"].mean(), q["mu"].var(), q["tau"].shape, q["tau"].rate, energy]
    wanted = [expected[name] for name in ("mu_mean", "mu_var", "tau_shape", "tau_rate", "bfe")]
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-7)


def test_regression_under_mean_field():
    case = golden("mp_conjugate")["regression"]
    x, expected = case["inputs"], case["expected"]
    model = independent_regression.bind(
        w_precision=x["w_prior_precision"], shape=x["tau_prior"][0], rate=x["tau_prior"][1]
    )
    result, energy = settle(model, {"x": as_array(x["X"]), "y": as_array(x["y"])})
    q = result.posteriors
    found = {"mean_w": q["w"].mean(), "cov_w": q["w"].covariance, "bfe": energy}
    found |= {"tau_shape": q["tau"].shape, "tau_rate": q["tau"].rate}
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-7, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("case", golden("mp_static"))
def test_the_static_ensemble(case):
    x, expected = {name: as_array(value) for name, value in case["inputs"].items()}, case["expected"]
    model = static.bind(shape=x["shape0"], rate=x["rate0"])
    result = P.infer(model, data={"yhat": x["yhat"], "y": x["y"]})
    found = result.predict({"yhat": x["yhat_new"]})
    np.testing.assert_allclose(
        parameters(result.posteriors["gamma"]), [expected["shape"], expected["rate"]], rtol=1e-12
    )
    np.testing.assert_allclose(-result.free_energy[-1], expected["log_evidence"], rtol=1e-12)
    np.testing.assert_allclose(found.mean(), expected["pred_mean"], rtol=1e-12)
    np.testing.assert_allclose(found.var(), expected["pred_var"], rtol=1e-12)
