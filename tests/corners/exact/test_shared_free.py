"""The free shared cell: golden terms and gradients of every head and family, dense definition, autograd, identities."""

import numpy as np
import pytest
import torch
from hypothesis import given

from corners.errors import DataError, SpecError
from corners.exact import (
    DiagonalCovariance,
    Evidence,
    FactorCovariance,
    LowRankCovariance,
    MatrixCovariance,
    NoCovariance,
    PlateTerms,
    gaussian_plates,
    gradient_from_plates,
    prior_overlap,
    shared_closed_terms,
    shared_free_gradient,
    shared_free_terms,
)
from tests.corners.exact import torch_cells
from tests.corners.exact.problems import EVERY_SHAPE, problem
from tests.support import oracles
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.strategies import layers

GRADIENTS = {
    "mean": "grad_mu",
    "log_prior_precision": "grad_log_alpha",
    "features": "grad_Psi",
    "covariance": "grad_Sigma",
}
FAMILY_GRADIENTS = {
    "log_scales": "grad_log_s",
    "lower": "grad_L",
    "log_diagonal": "grad_log_D",
    "factor": "grad_B",
}


def covariance_of(inputs):
    given_values = {name: as_array(value) for name, value in inputs["family_params"].items()}
    jitter = float(inputs["jitter_eps"])
    makers = {
        "none": NoCovariance,
        "diag": lambda: DiagonalCovariance(given_values["s"], jitter),
        "full": lambda: FactorCovariance(given_values["L"], jitter),
        "lowrank": lambda: LowRankCovariance(given_values["D"], given_values["B"], jitter),
    }
    return makers[inputs["family"]]()


SINGLE_OUTPUT = [case for case in golden_cases("shared_free") if "ova" not in case.id]


@pytest.mark.parametrize("case", golden_cases("shared_free", "free_gaussian"))
def test_golden_gaussian_terms_and_gradients(case):
    inputs, expected = case["inputs"], case["expected"]
    belief = as_array(inputs["mu"]), covariance_of(inputs), float(inputs["alpha"])
    scale = float(inputs["head_params"]["sigma2"]) ** 0.5
    cell = shared_free_terms(as_array(inputs["Psi"]), as_array(inputs["y"]), *belief, scale)
    named = {
        "v": "variances",
        "mean": "means",
        "prior_term": "prior_term",
        "data_terms": "data_terms",
        "total": "total",
    }
    for theirs, ours in named.items():
        assert_golden("shared_free", getattr(cell, ours), expected[theirs], label=theirs)
    gradient = shared_free_gradient(as_array(inputs["Psi"]), as_array(inputs["y"]), *belief, scale)
    assert_golden("shared_free", gradient.log_noise_var, expected["grad_log_sigma2"])
    plates = gaussian_plates(as_array(inputs["y"]), cell.means, cell.variances, scale)
    assert_golden("shared_free", plates.slope_mean, expected["plate_dm"])
    assert_golden("shared_free", plates.slope_var, expected["plate_dv"])


@pytest.mark.parametrize("case", SINGLE_OUTPUT)
def test_golden_chain_of_every_head(case):
    """The chain from per-plate derivatives is the same for all heads; their own derivatives are the golden ones
    here.
    """
    inputs, expected = case["inputs"], case["expected"]
    plates = PlateTerms(*(as_array(expected[name]) for name in ("data_terms", "plate_dm", "plate_dv")))
    covariance, precision = covariance_of(inputs), float(inputs["alpha"])
    mean = as_array(inputs["mu"])
    gradient = gradient_from_plates(as_array(inputs["Psi"]), mean, covariance, precision, plates)
    assert_golden("shared_free", prior_overlap(mean, covariance, precision).value, expected["prior_term"])
    for ours, theirs in GRADIENTS.items():
        if theirs in expected:
            assert_golden("shared_free", getattr(gradient, ours), expected[theirs], label=theirs)
    assert len(gradient.family) == {"none": 0, "diag": 1, "full": 1, "lowrank": 2}[inputs["family"]]
    for ours, value in gradient.family.items():
        assert_golden("shared_free", value, expected[FAMILY_GRADIENTS[ours]], label=ours)
    assert np.isnan(gradient.log_noise_var)


def families(width, seed=5):
    """One member of every family, with the dense matrix it stands for."""
    generator = np.random.default_rng(seed)
    scales, lower = generator.uniform(0.05, 0.4, width), np.tril(0.4 * generator.standard_normal((width, width)))
    factor = 0.5 * generator.standard_normal((width, 2))
    identity, jitter = np.eye(width), 1e-3
    return {
        "none": (NoCovariance(), 0.0 * identity),
        "diagonal": (DiagonalCovariance(scales, jitter), np.diag(scales) + jitter * identity),
        "dense": (FactorCovariance(lower, jitter), lower @ lower.T + jitter * identity),
        "low_rank": (
            LowRankCovariance(scales, factor, jitter),
            np.diag(scales) + factor @ factor.T + jitter * identity,
        ),
        "matrix": (MatrixCovariance(lower @ lower.T, jitter), lower @ lower.T + jitter * identity),
    }


@pytest.mark.parametrize("family", families(1))
@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_terms_are_the_definition(given_problem, family):
    features, targets, precision, noise_var = given_problem
    mean = np.random.default_rng(9).standard_normal(features.shape[1])
    covariance, dense = families(features.shape[1])[family]
    prior, data = oracles.free_terms(features, targets, mean, dense, precision, noise_var)
    cell = shared_free_terms(features, targets, mean, covariance, precision, given_problem.noise_scale)
    np.testing.assert_allclose(cell.prior_term, prior, rtol=1e-11)
    np.testing.assert_allclose(cell.data_terms, data, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("family", families(1))
@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_gradients_are_those_of_autograd(given_problem, family):
    leaves = torch_cells.Leaves(given_problem)
    width = given_problem.features.shape[1]
    covariance, dense = families(width)[family]
    mean = torch.tensor(np.random.default_rng(9).standard_normal(width), requires_grad=True)
    matrix = torch.tensor(dense, requires_grad=True)
    objective = torch_cells.shared_free(leaves, mean, 0.5 * (matrix + matrix.T))
    of_mean, of_matrix = torch.autograd.grad(objective, (mean, matrix), retain_graph=True)
    prior, noise, slope = leaves.gradients(objective)
    gradient = shared_free_gradient(
        *given_problem[:2], mean.detach().numpy(), covariance, given_problem.precision, given_problem.noise_scale
    )
    np.testing.assert_allclose(gradient.mean, of_mean.numpy(), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(gradient.covariance, of_matrix.numpy(), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(gradient.features, slope, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        [gradient.log_prior_precision, gradient.log_noise_var], [prior, noise], rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize("family", ["diagonal", "dense", "low_rank"])
def test_family_gradients_are_central_differences(family):
    given_problem = problem(9, 3)
    covariance, _ = families(3)[family]
    mean = np.array([0.4, -0.3, 0.2])
    rest = given_problem.precision, given_problem.noise_scale
    gradient = shared_free_gradient(*given_problem[:2], mean, covariance, *rest).family
    moved = {
        "log_scales": lambda step: DiagonalCovariance(covariance.scales * np.exp(step), covariance.jitter),
        "lower": lambda step: FactorCovariance(covariance.lower + step, covariance.jitter),
        "log_diagonal": lambda step: LowRankCovariance(
            covariance.diagonal * np.exp(step), covariance.factor, covariance.jitter
        ),
        "factor": lambda step: LowRankCovariance(covariance.diagonal, covariance.factor + step, covariance.jitter),
    }
    for name, slope in gradient.items():
        for index in np.ndindex(slope.shape):
            if name == "lower" and index[1] > index[0]:
                assert slope[index] == 0.0
                continue
            step = np.zeros(slope.shape)
            step[index] = 1e-5
            ends = [
                shared_free_terms(*given_problem[:2], mean, moved[name](sign * step), *rest).total for sign in (1, -1)
            ]
            np.testing.assert_allclose(slope[index], (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-7, err_msg=name)


@given(layers())
def test_at_the_posterior_it_is_the_closed_cell(layer):
    scale = layer.noise_var**0.5
    belief = Evidence(layer.features, layer.targets).posterior(layer.precision, scale)
    free = shared_free_terms(layer.features, layer.targets, belief.mean, belief.covariance, layer.precision, scale)
    closed = shared_closed_terms(layer.features, layer.targets, layer.precision, scale)
    np.testing.assert_allclose(free.total, closed.total, rtol=1e-7, atol=1e-7)


@given(layers())
def test_plate_derivatives_obey_the_heat_equation(layer):
    """``g = ½(∂²ₘℓ − (∂ₘℓ)²)`` for any head; here ``∂²ₘℓ = 1/V`` (theory 3.5)."""
    means, variances = layer.targets * 0.3, np.abs(layer.targets)
    plates = gaussian_plates(layer.targets, means, variances, layer.noise_var**0.5)
    curvature = 1.0 / (layer.noise_var + variances)
    np.testing.assert_allclose(plates.slope_var, 0.5 * (curvature - plates.slope_mean**2), rtol=1e-9, atol=1e-12)


def test_interior_stationary_identity_of_the_prior_precision():
    """Where ``G = 0``: ``∂_log α F = (1/α) Σ gₙ‖ψₙ‖²`` (theory 7.3); here ``G`` is removed from both sides by tracing
    it.
    """
    features, targets, precision, noise_var = problem(9, 3)
    covariance = families(3)["dense"][0]
    mean = np.array([0.4, -0.3, 0.2])
    cell = shared_free_terms(features, targets, mean, covariance, precision, noise_var**0.5)
    plates = gaussian_plates(targets, cell.means, cell.variances, noise_var**0.5)
    gradient = shared_free_gradient(features, targets, mean, covariance, precision, noise_var**0.5)
    from_plates = float(plates.slope_var @ (features**2).sum(axis=1)) / precision
    np.testing.assert_allclose(
        gradient.log_prior_precision, from_plates - np.trace(gradient.covariance) / precision, rtol=1e-11
    )


def test_beliefs_that_do_not_fit_are_refused():
    features, targets, precision, scale = problem(5, 3).arguments
    with pytest.raises(DataError, match=r"mean must have shape \(3,\)"):
        shared_free_terms(features, targets, np.zeros(2), None, precision, scale)
    with pytest.raises(SpecError, match=r"shape \(3, 3\).*got \(2, 2\)"):
        shared_free_terms(features, targets, np.zeros(3), np.eye(2), precision, scale)
    with pytest.raises(SpecError, match="symmetric"):
        MatrixCovariance(np.array([[1.0, 0.5], [0.0, 1.0]]))
    with pytest.raises(SpecError, match="non-negative"):
        DiagonalCovariance(np.array([-0.1]))
