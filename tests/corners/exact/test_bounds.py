"""ELBO, KL, MAP and the diagonal optimum: golden values, identities with the evidence, and a second route."""

import numpy as np
import pytest
from hypothesis import given

from corners.exact import (
    DiagonalCovariance,
    Evidence,
    diagonal_optimum,
    kl_divergence,
    kl_to_prior,
    map_objective,
    neg_elbo,
    shared_free_terms,
)
from tests.corners.exact.problems import EVERY_SHAPE, problem
from tests.support import oracles
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.strategies import layers


@pytest.mark.parametrize("case", golden_cases("elbo_map"))
def test_golden_objectives(case):
    inputs, expected = case["inputs"], case["expected"]
    features, targets, mean, covariance = (as_array(inputs[name]) for name in ("Psi", "y", "mu", "Sigma"))
    precision, scale = float(inputs["alpha"]), float(inputs["sigma2"]) ** 0.5
    bound = neg_elbo(features, targets, mean, covariance, precision, scale)
    assert_golden("elbo_map", bound.total, expected["neg_elbo"])
    assert_golden("elbo_map", bound.prior_term, expected["kl"])
    posterior = Evidence(features, targets).posterior(precision, scale)
    assert_golden("elbo_map", kl_divergence(mean, covariance, *posterior), expected["kl_q_posterior"])
    at_posterior = neg_elbo(features, targets, posterior.mean, posterior.covariance, precision, scale)
    assert_golden("elbo_map", at_posterior.total, expected["neg_elbo_at_posterior"])
    point = map_objective(features, targets, mean, precision, scale)
    assert_golden("elbo_map", point.total, expected["map_objective"])


@pytest.mark.parametrize("case", golden_cases("elbo_map"))
def test_golden_diagonal_optimum(case):
    inputs, expected = case["inputs"], case["expected"]["diag_optimum"]
    scale = float(inputs["sigma2"]) ** 0.5
    best = diagonal_optimum(as_array(inputs["Psi"]), as_array(inputs["y"]), float(inputs["alpha"]), scale)
    assert_golden("elbo_map", best.mean, expected["mu"])
    assert_golden("elbo_map", best.scales, expected["s"])
    assert_golden("elbo_map", best.neg_elbo, expected["neg_elbo"])
    assert_golden("elbo_map", best.neg_elbo - best.gap, case["expected"]["neg_log_evidence"])


@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_negative_elbo_is_the_evidence_plus_the_divergence(given_problem):
    """``L_ELBO(q) = −log Z + KL(q‖q*)``, with the evidence and the divergence by dense oracles."""
    width = given_problem.features.shape[1]
    generator = np.random.default_rng(4)
    mean, root = generator.standard_normal(width), 0.3 * generator.standard_normal((width, width))
    covariance = root @ root.T + 0.1 * np.eye(width)
    bound = neg_elbo(*given_problem[:2], mean, covariance, given_problem.precision, given_problem.noise_scale)
    divergence = oracles.kl_divergence(mean, covariance, *oracles.posterior(*given_problem))
    np.testing.assert_allclose(bound.total, -oracles.log_evidence(*given_problem) + divergence, rtol=1e-9)
    at_prior = oracles.kl_divergence(mean, covariance, np.zeros(width), np.eye(width) / given_problem.precision)
    np.testing.assert_allclose(kl_to_prior(mean, covariance, given_problem.precision), at_prior, rtol=1e-10)


@given(layers())
def test_diagonal_optimum_is_a_minimum_above_the_evidence(layer):
    scale = layer.noise_var**0.5
    best = diagonal_optimum(layer.features, layer.targets, layer.precision, scale)
    evidence = Evidence(layer.features, layer.targets).log_evidence(layer.precision, scale)
    assert best.gap >= 0.0
    np.testing.assert_allclose(best.neg_elbo + evidence, best.gap, rtol=1e-6, atol=1e-6 * (1.0 + abs(evidence)))
    for factor in (0.9, 1.1):
        other = DiagonalCovariance(best.scales * factor)
        moved = neg_elbo(layer.features, layer.targets, best.mean, other, layer.precision, scale)
        assert moved.total > best.neg_elbo - 1e-9 * (1.0 + abs(best.neg_elbo))


@given(layers())
def test_map_is_the_shared_cell_without_spread(layer):
    mean, scale = np.linspace(-1.0, 1.0, layer.features.shape[1]), layer.noise_var**0.5
    point = map_objective(layer.features, layer.targets, mean, layer.precision, scale)
    cell = shared_free_terms(layer.features, layer.targets, mean, None, layer.precision, scale)
    np.testing.assert_allclose(point.prior_term, cell.prior_term, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(point.data_terms, cell.data_terms, rtol=1e-11, atol=1e-12)


def test_a_point_belief_has_no_finite_elbo():
    features, targets, precision, scale = problem(4, 2).arguments
    assert neg_elbo(features, targets, np.zeros(2), None, precision, scale).total == np.inf
