"""The true Bethe energy, part by part from definitions, and the coupling that a shared belief loses."""

import numpy as np
import pytest
from hypothesis import given

from corners.exact import bethe_parts, coupling_lost, joint_minus_plates
from tests.corners.exact.problems import EVERY_SHAPE, problem
from tests.support import oracles
from tests.support.statistics import assert_within_se
from tests.support.strategies import layers


@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_parts_are_log_normalisers_and_their_sum_is_the_evidence(given_problem):
    features, targets, precision, noise_var = given_problem
    rows, width = features.shape
    prior = precision * np.eye(width)
    site = features.T @ features / noise_var, features.T @ targets / noise_var
    parts = bethe_parts(*given_problem.arguments)
    posterior = oracles.log_normaliser(prior + site[0], site[1])
    np.testing.assert_allclose(parts.posterior_normaliser, posterior, rtol=1e-10)
    np.testing.assert_allclose(parts.prior_normaliser, oracles.log_normaliser(prior, np.zeros(width)), rtol=1e-10)
    for n in range(rows):
        row = features[n]
        cavity = prior + site[0] - np.outer(row, row) / noise_var, site[1] - row * targets[n] / noise_var
        np.testing.assert_allclose(
            parts.counting_terms[n], posterior - oracles.log_normaliser(*cavity), rtol=1e-8, atol=1e-9
        )
    predictive = -oracles.leave_one_out(*given_problem).terms
    np.testing.assert_allclose(parts.cavity_log_predictives, predictive, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(parts.log_evidence, oracles.log_evidence(*given_problem), rtol=1e-9, atol=1e-10)


@given(layers())
def test_the_sum_is_the_evidence_in_every_regime(layer):
    parts = bethe_parts(layer.features, layer.targets, layer.precision, layer.noise_var**0.5)
    expected = oracles.log_evidence(layer.features, layer.targets, layer.precision, layer.noise_var)
    size = abs(parts.posterior_normaliser) + np.abs(parts.counting_terms).sum()
    np.testing.assert_allclose(parts.log_evidence, expected, rtol=1e-7, atol=1e-11 * size + 1e-7)


def test_without_the_counting_terms_it_is_another_number():
    """What ``−log Z_w + Σ −log Zₙ`` leaves out is not small."""
    parts = bethe_parts(*problem(12, 4).arguments)
    assert abs(parts.counting_terms.sum()) > 10.0


@given(layers())
def test_coupling_lost_is_the_gap_of_hadamard(layer):
    width = layer.features.shape[1]
    root = np.random.default_rng(0).standard_normal((width, width))
    covariance = root @ root.T
    joint = layer.noise_var * np.eye(len(layer.targets)) + layer.features @ covariance @ layer.features.T
    expected = 0.5 * (np.log(joint.diagonal()).sum() - np.linalg.slogdet(joint)[1])
    lost = coupling_lost(layer.features, covariance, layer.noise_var**0.5)
    assert lost >= -1e-9
    np.testing.assert_allclose(lost, expected, rtol=1e-6, atol=1e-7)


def test_joint_differs_from_the_plates_by_the_coupling_in_the_mean():
    """Drawn from the joint, plates minus joint has mean "coupling lost"; single draws have both signs."""
    features, _, _, noise_var = problem(6, 2)
    generator = np.random.default_rng(1)
    covariance, mean = np.array([[0.6, 0.2], [0.2, 0.3]]), np.array([0.5, -1.0])
    joint = noise_var * np.eye(6) + features @ covariance @ features.T
    draws = features @ mean + generator.standard_normal((400, 6)) @ np.linalg.cholesky(joint).T
    gaps = np.array([-joint_minus_plates(features, y, mean, covariance, noise_var**0.5) for y in draws])
    assert_within_se(gaps, coupling_lost(features, covariance, noise_var**0.5))
    assert gaps.min() < 0.0 < gaps.max()
    means, variances = features @ mean, joint.diagonal()
    direct = -oracles.normal_log_density(draws[0], means, joint) - oracles.plate_terms(draws[0], means, variances).sum()
    np.testing.assert_allclose(-gaps[0], direct, rtol=1e-10)
