"""Second-order quantities of the diagonal free cell: golden values, autograd Hessian, the expectation that information
is.
"""

import numpy as np
import pytest
import torch
from hypothesis import given

from corners.exact import (
    DiagonalCovariance,
    attribution_hessian,
    attribution_information,
    attribution_slopes,
    shared_free_gradient,
    shared_free_terms,
)
from tests.corners.exact import torch_cells
from tests.corners.exact.problems import EVERY_SHAPE, problem
from tests.support.golden import as_array, assert_golden, golden, golden_cases
from tests.support.strategies import layers

STATISTICS = [case for case in golden_cases("identifiability") if "hessian_block" in case.values[0]["expected"]]


def unpack(case):
    inputs = case["inputs"]
    arrays = [as_array(inputs[name]) for name in ("Psi", "y", "mu", "s")]
    return *arrays, float(inputs["alpha"]), float(inputs["sigma2"]) ** 0.5


@pytest.mark.parametrize("case", STATISTICS)
def test_golden_hessian_and_information(case):
    features, targets, mean, scales, precision, noise_scale = unpack(case)
    hessian = attribution_hessian(features, targets, mean, scales, precision, noise_scale)
    information = attribution_information(features, scales, noise_scale)
    assert_golden("identifiability", hessian, case["expected"]["hessian_block"])
    assert_golden("identifiability", information, case["expected"]["fim_per_plate"])
    assert_golden("identifiability", np.linalg.eigvalsh(hessian)[0], case["expected"]["hessian_min_eig"])


@pytest.mark.parametrize("case", STATISTICS)
def test_golden_normalised_gradients(case):
    features, targets, mean, scales, precision, noise_scale = unpack(case)
    gradient = shared_free_gradient(features, targets, mean, DiagonalCovariance(scales), precision, noise_scale)
    rows, width = features.shape
    assert_golden("identifiability", gradient.log_noise_var / rows, case["expected"]["grad_log_sigma2_over_N"])
    assert_golden("identifiability", gradient.log_prior_precision / width, case["expected"]["grad_log_alpha_over_H"])


def test_golden_exact_ridge_through_noise_covariance_and_prior():
    """Constant feature norm: ``(σ², Σ, 1/α) → (σ² − tR², Σ + tI, 1/α − t)`` leaves the whole objective unchanged."""
    case = next(c for c in golden("identifiability")["cases"] if c["id"] == "exact_ridge_constant_norm")
    features, targets, mean, scales, precision, noise_scale = unpack(case)
    shift, norm2 = float(case["inputs"]["shift"]), float(case["inputs"]["R2"])
    before = shared_free_terms(features, targets, mean, DiagonalCovariance(scales), precision, noise_scale)
    moved = DiagonalCovariance(scales + shift)
    precision, noise_var = 1.0 / (1.0 / precision - shift), noise_scale**2 - shift * norm2
    after = shared_free_terms(features, targets, mean, moved, precision, noise_var**0.5)
    assert_golden("identifiability", before.total, case["expected"]["objective_before"])
    assert_golden("identifiability", after.total, case["expected"]["objective_after"])
    np.testing.assert_allclose(after.total, before.total, rtol=1e-12)
    np.testing.assert_allclose(after.data_terms, before.data_terms, rtol=1e-12)


def test_bias_column_trades_noise_for_variance():
    """``ψₙ₀ ≡ 1``: ``(σ², Σ₀₀) → (σ² − t, Σ₀₀ + t)`` leaves every predictive variance unchanged (theory 7.3)."""
    features, targets, precision, noise_var = problem(8, 3)
    features[:, 0] = 1.0
    scales, mean = np.array([0.2, 0.1, 0.3]), np.zeros(3)
    moved = scales + np.array([0.05, 0.0, 0.0])
    one = shared_free_terms(features, targets, mean, DiagonalCovariance(scales), precision, noise_var**0.5)
    two = shared_free_terms(features, targets, mean, DiagonalCovariance(moved), precision, (noise_var - 0.05) ** 0.5)
    np.testing.assert_allclose(two.data_terms, one.data_terms, rtol=1e-12)
    information = attribution_information(features, scales, noise_var**0.5)
    assert np.linalg.cond(information) > 1e12


@pytest.mark.parametrize("jitter", [0.0, 0.02])
@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_hessian_is_that_of_autograd(given_problem, jitter):
    leaves = torch_cells.Leaves(given_problem)
    width = given_problem.features.shape[1]
    generator = np.random.default_rng(2)
    mean, scales = generator.standard_normal(width), generator.uniform(0.05, 0.5, width)

    def objective(parameters):
        leaves.log_noise_var = parameters[0]
        covariance = torch.diag(parameters[1:].exp() + jitter)
        return torch_cells.shared_free(leaves, torch.tensor(mean), covariance)

    start = torch.tensor(np.concatenate([[np.log(given_problem.noise_var)], np.log(scales)]))
    expected = torch.autograd.functional.hessian(objective, start).numpy()
    actual = attribution_hessian(
        *given_problem[:2], mean, scales, given_problem.precision, given_problem.noise_scale, jitter=jitter
    )
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-10)


@given(layers())
def test_information_is_the_expected_data_hessian(layer):
    """At ``r² = V`` in expectation the data block of the Hessian is ``N`` times the information per plate."""
    width, scale = layer.features.shape[1], layer.noise_var**0.5
    scales = np.full(width, 0.3)
    total = layer.noise_var + layer.features**2 @ scales
    slopes = attribution_slopes(layer.features, scales, layer.noise_var)
    expected = 0.5 * np.einsum("np,nq,n->pq", slopes, slopes, total**-2) / len(total)
    np.testing.assert_allclose(attribution_information(layer.features, scales, scale), expected, rtol=1e-10)
