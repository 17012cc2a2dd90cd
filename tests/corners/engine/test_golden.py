"""Golden energies and gradients of the Gaussian cells, through the engine and autograd."""

import numpy as np
import pytest
import torch

from corners.beliefs import GammaPrior, GaussianBelief, Marginals, Prior
from corners.covariances._base import Params
from corners.engine.corner import Corner
from corners.likelihoods.gaussian import LOG_NOISE_VAR, TARGET_VAR
from corners.routings.free import MEAN
from tests.support.corner_cells import cell, energy_at, gradient
from tests.support.golden import as_array, assert_golden, golden, golden_cases
from tests.support.problems import batch, real
from tests.support.strategies import Layer

CELL_OF_FAMILY = {
    "none": "scroll_none",
    "diag": "scroll_diagonal",
    "full": "scroll_dense",
    "lowrank": "scroll_low_rank",
}


def layer_of(case) -> Layer:
    given = case["inputs"]
    noise_var = given.get("sigma2", given.get("head_params", {}).get("sigma2"))
    return Layer(as_array(given["Psi"]), as_array(given["y"]), given["alpha"], noise_var)


def hyperparameters(layer: Layer) -> Params:
    """What closed cells need."""
    return {
        Prior.parameter: real(layer.precision).log(),
        LOG_NOISE_VAR: real(layer.noise_var).log(),
        TARGET_VAR: real(1.0),
    }


def free_parameters(case) -> Params:
    """The golden belief in the engine's parameters."""
    given, own = case["inputs"], case["inputs"]["family_params"]
    params = hyperparameters(layer_of(case)) | {MEAN: batch([as_array(given["mu"])])}
    if given["family"] == "diag":
        params["covariance.log_var"] = batch([np.log(own["s"])])
    if given["family"] == "full":
        lower = as_array(own["L"])
        params |= {
            "covariance.log_diagonal": batch([np.log(np.diag(lower))]),
            "covariance.strict_lower": batch([np.tril(lower, -1)]),
        }
    if given["family"] == "lowrank":
        params |= {"covariance.log_var": batch([np.log(own["D"])]), "covariance.factor": batch([as_array(own["B"])])}
    return params


def free_corner(case, **options) -> Corner:
    jitter = case["inputs"]["jitter_eps"]
    return cell(CELL_OF_FAMILY[case["inputs"]["family"]], jitter=jitter, **options)


@pytest.mark.parametrize("case", golden_cases("shared_free", "free_gaussian"))
def test_shared_free_terms(case):
    corner, layer, expected = free_corner(case), layer_of(case), case["expected"]
    params, features, targets = free_parameters(case), batch([layer.features]), batch([layer.targets])
    routed = corner.route(params, features, targets)
    marginals = corner.cavity.marginals(routed, features)
    assert_golden("shared_free", marginals.mean[0], expected["mean"])
    assert_golden("shared_free", marginals.variance[0], expected["v"])
    loss = -corner.likelihood.log_partition(params, targets, marginals)
    assert_golden("shared_free", loss[0], expected["data_terms"])
    energy = corner.energy(params, features, targets, routed)
    assert_golden("shared_free", energy.prior[0], expected["prior_term"])
    assert_golden("shared_free", energy.total[0], expected["total"])


@pytest.mark.parametrize("case", golden_cases("shared_free", "free_gaussian"))
def test_shared_free_plate_slopes(case):
    expected, corner = case["expected"], free_corner(case)
    mean, variance = (batch([as_array(expected[name])]).requires_grad_() for name in ("mean", "v"))
    targets = batch([layer_of(case).targets])
    loss = -corner.likelihood.log_partition(free_parameters(case), targets, Marginals(mean, variance)).sum()
    slopes = torch.autograd.grad(loss, (mean, variance))
    assert_golden("shared_free", slopes[0][0], expected["plate_dm"])
    assert_golden("shared_free", slopes[1][0], expected["plate_dv"])


@pytest.mark.parametrize("case", golden_cases("shared_free", "free_gaussian"))
def test_shared_free_gradients(case):
    """``grad_L`` is with respect to raw entries; the engine's diagonal is a logarithm: chained through ``L_dd``."""
    corner, layer, expected = free_corner(case), layer_of(case), case["expected"]
    slopes, of_features = gradient(corner, free_parameters(case), [layer])
    assert_golden("shared_free", of_features[0], expected["grad_Psi"])
    for name, key in ((MEAN, "grad_mu"), (Prior.parameter, "grad_log_alpha"), (LOG_NOISE_VAR, "grad_log_sigma2")):
        assert_golden("shared_free", slopes[name][0], expected[key])
    if case["inputs"]["family"] == "full":
        lower, raw = as_array(case["inputs"]["family_params"]["L"]), as_array(expected["grad_L"])
        assert_golden("shared_free", slopes["covariance.strict_lower"][0], np.tril(raw, -1))
        assert_golden("shared_free", slopes["covariance.log_diagonal"][0], np.diag(raw) * np.diag(lower))
    for name, key in (
        ("covariance.log_var", "grad_log_s"),
        ("covariance.log_var", "grad_log_D"),
        ("covariance.factor", "grad_B"),
    ):
        if key in expected:
            assert_golden("shared_free", slopes[name][0], expected[key])


@pytest.mark.parametrize("case", golden_cases("shared_closed"))
def test_shared_closed(case):
    corner, layer, expected = cell("shared_closed", jitter=0.0), layer_of(case), case["expected"]
    params, features, targets = hyperparameters(layer), batch([layer.features]), batch([layer.targets])
    routed = corner.route(params, features, targets)
    marginals = corner.cavity.marginals(routed, features)
    assert_golden("shared_closed", marginals.variance[0] + layer.noise_var, expected["V"])
    assert_golden(
        "shared_closed", -corner.likelihood.log_partition(params, targets, marginals)[0], expected["data_terms"]
    )
    energy = corner.energy(params, features, targets, routed)
    assert_golden("shared_closed", energy.prior[0], expected["prior_term"])
    assert_golden("shared_closed", energy.total[0], expected["total"])
    loo = energy_at(cell("leave_one_out"), params, features, targets)
    assert_golden("shared_closed", loo.data[0] - energy.data[0], np.sum(as_array(expected["loo_minus_shared_data"])))
    evidence = energy_at(cell("sequential"), params, features, targets)
    assert_golden("shared_closed", evidence.total[0], expected["neg_log_evidence"])


@pytest.mark.parametrize(
    ("file", "name", "case"),
    [
        pytest.param(file, name, case, id=f"{name}-{case['id']}")
        for file, name in (("evidence", "sequential"), ("loo", "leave_one_out"), ("shared_closed", "shared_closed"))
        for case in golden(file)["cases"]
    ],
)
def test_gradients_of_closed_cells(file, name, case):
    """Autograd through the binding against the stated derivatives."""
    corner = cell(name, jitter=0.0)
    slopes, of_features = gradient(corner, hyperparameters(layer_of(case)), [layer_of(case)])
    assert_golden(file, slopes[Prior.parameter][0], case["expected"]["grad_log_alpha"])
    assert_golden(file, slopes[LOG_NOISE_VAR][0], case["expected"]["grad_log_sigma2"])
    assert_golden(file, of_features[0], case["expected"]["grad_Psi"])


@pytest.mark.parametrize("case", golden_cases("elbo_map"))
def test_map_is_the_free_cell_without_covariance(case):
    """``L_MAP = F_sf`` at ``Σ = 0`` (theory 3.6)."""
    layer = layer_of(case)
    params = hyperparameters(layer) | {MEAN: batch([as_array(case["inputs"]["mu"])])}
    energy = energy_at(cell("scroll_none"), params, batch([layer.features]), batch([layer.targets]))
    assert_golden("elbo_map", energy.total[0], case["expected"]["map_objective"])


@pytest.mark.parametrize("case", golden_cases("elbo_map"))
def test_the_negated_elbo_is_the_expectation_functional_plus_kl(case):
    """MAP, Bethe and ELBO are one objective with another functional of the likelihood."""
    layer, given = layer_of(case), case["inputs"]
    params, targets = hyperparameters(layer), batch([layer.targets])
    belief = GaussianBelief(batch([as_array(given["mu"])]), dense_of(as_array(given["Sigma"])))
    marginals = belief.marginals(batch([layer.features]))
    data = -cell("scroll_dense").likelihood.expected_log_prob(params, targets, marginals).sum()
    assert_golden("elbo_map", data + case["expected"]["kl"], case["expected"]["neg_elbo"])


def dense_of(matrix: np.ndarray):
    from corners.covariances.dense import FactorCovariance

    return FactorCovariance(batch([np.linalg.cholesky(matrix)]))


@pytest.mark.parametrize("case", golden_cases("free_optimum"))
def test_the_stated_optimum_has_the_stated_value(case):
    """The engine's objective, hyperprior included, at the golden optimum; tolerance of the file (absolute, in nats)."""
    given, expected = case["inputs"], case["expected"]
    gamma = given["gamma_hyperprior_shape_rate"]
    prior = Prior(hyperprior=None if gamma is None else GammaPrior(gamma[0], rate=gamma[1]))
    corner = free_corner(case, prior=prior)
    layer = Layer(as_array(given["Psi"]), as_array(given["y"]), expected["alpha"], expected["sigma2"])
    params = hyperparameters(layer) | {MEAN: batch([as_array(expected["mu"])])} | at(expected["Sigma"], given)
    total = energy_at(corner, params, batch([layer.features]), batch([layer.targets])).total[0]
    assert abs(float(total) - expected["best_value"]) <= golden("free_optimum")["tolerance"]["value_abs"]


def at(matrix, given) -> Params:
    """The free part of a golden covariance, its jitter taken off, in the engine's parameters."""
    if given["family"] == "none":
        return {}
    free = as_array(matrix) - given["jitter_eps"] * np.eye(len(matrix))
    if given["family"] == "diag":
        return {"covariance.log_var": batch([np.log(np.diag(free).clip(1e-30))])}
    values, vectors = np.linalg.eigh(free)
    _, upper = np.linalg.qr((vectors * np.sqrt(values.clip(1e-30))).T)
    lower = (upper * np.sign(np.diag(upper))[:, None]).T
    return {
        "covariance.log_diagonal": batch([np.log(np.diag(lower))]),
        "covariance.strict_lower": batch([np.tril(lower, -1)]),
    }
