"""``Evidence`` and the from-scratch log evidence against the dense density, golden values, autograd and peers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corners.errors import DataError, SpecError
from corners.exact import Evidence, log_evidence, log_evidence_and_gradient
from tests.corners.exact import torch_cells
from tests.corners.exact.problems import EVERY_SHAPE, problem
from tests.support import oracles
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.strategies import layers


def unpack(case):
    inputs = case["inputs"]
    return as_array(inputs["Psi"]), as_array(inputs["y"]), float(inputs["alpha"]), float(inputs["sigma2"]) ** 0.5


@pytest.mark.parametrize("case", golden_cases("evidence"))
def test_golden_values_and_gradients(case):
    features, targets, precision, scale = unpack(case)
    expected, evidence = case["expected"], Evidence(features, targets)
    value, gradient = evidence.value_and_gradient(precision, scale)
    assert_golden("evidence", -value, expected["neg_log_evidence"])
    assert_golden("evidence", -gradient.log_prior_precision, expected["grad_log_alpha"])
    assert_golden("evidence", -gradient.log_noise_var, expected["grad_log_sigma2"])
    assert_golden("evidence", -evidence.feature_gradient(precision, scale), expected["grad_Psi"])
    assert_golden("evidence", evidence.effective_dimension(precision, scale), expected["gamma"])
    assert_golden("evidence", evidence.leverage(precision, scale), expected["leverage"])


@pytest.mark.parametrize("case", golden_cases("evidence"))
def test_golden_posterior_and_predictive(case):
    features, targets, precision, scale = unpack(case)
    expected, evidence = case["expected"], Evidence(features, targets)
    mean, covariance = evidence.posterior(precision, scale)
    assert_golden("evidence", mean, expected["post_mean"])
    assert_golden("evidence", covariance, expected["post_cov"])
    assert_golden("evidence", -np.linalg.slogdet(covariance)[1], expected["logdet_A"])
    predicted = evidence.predict(as_array(case["inputs"]["Psi_test"]), precision, scale)
    assert_golden("evidence", predicted.means, expected["pred_mean"])
    assert_golden("evidence", predicted.variances, expected["pred_var"])


@pytest.mark.parametrize("case", golden_cases("evidence"))
def test_golden_from_scratch(case):
    value, gradient = log_evidence_and_gradient(*unpack(case))
    assert_golden("evidence", -value, case["expected"]["neg_log_evidence"])
    assert_golden("evidence", -gradient.log_prior_precision, case["expected"]["grad_log_alpha"])
    assert_golden("evidence", -gradient.log_noise_var, case["expected"]["grad_log_sigma2"])
    assert_golden("evidence", -gradient.features, case["expected"]["grad_Psi"])


@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_every_form_is_the_dense_density(given_problem):
    expected = oracles.log_evidence(*given_problem[:2], given_problem.precision, given_problem.noise_var)
    forms = [log_evidence(*given_problem.arguments, space=space) for space in ("auto", "features", "data")]
    forms.append(Evidence(*given_problem[:2]).log_evidence(given_problem.precision, given_problem.noise_scale))
    np.testing.assert_allclose(forms, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_gradients_are_those_of_autograd(given_problem):
    leaves = torch_cells.Leaves(given_problem)
    prior, noise, slope = leaves.gradients(torch_cells.log_evidence(leaves))
    evidence = Evidence(*given_problem[:2])
    hyper = evidence.gradient(given_problem.precision, given_problem.noise_scale)
    scratch = log_evidence_and_gradient(*given_problem.arguments)[1]
    np.testing.assert_allclose([*hyper, *scratch[:2]], [prior, noise, prior, noise], rtol=1e-10, atol=1e-11)
    of_features = evidence.feature_gradient(given_problem.precision, given_problem.noise_scale)
    np.testing.assert_allclose(of_features, slope, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(scratch.features, slope, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_posterior_predictive_and_leverage_are_dense(given_problem):
    features, _, precision, noise_var = given_problem
    mean, covariance = oracles.posterior(*given_problem)
    evidence, scale = Evidence(*given_problem[:2]), given_problem.noise_scale
    np.testing.assert_allclose(evidence.posterior(precision, scale).mean, mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(evidence.posterior(precision, scale).covariance, covariance, rtol=1e-10, atol=1e-12)
    latent = np.einsum("nh,hk,nk->n", features, covariance, features)
    np.testing.assert_allclose(evidence.leverage(precision, scale), latent / noise_var, rtol=1e-10, atol=1e-12)
    new = np.random.default_rng(3).standard_normal((4, features.shape[1]))
    predicted = evidence.predict(new, precision, scale)
    np.testing.assert_allclose(predicted.means, new @ mean, rtol=1e-10, atol=1e-12)
    expected = noise_var + np.einsum("nh,hk,nk->n", new, covariance, new)
    np.testing.assert_allclose(predicted.variances, expected, rtol=1e-10, atol=1e-12)


@given(layers())
def test_evidence_is_the_dense_density_in_every_regime(layer):
    expected = oracles.log_evidence(layer.features, layer.targets, layer.precision, layer.noise_var)
    scale = layer.noise_var**0.5
    actual = Evidence(layer.features, layer.targets).log_evidence(layer.precision, scale)
    np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(log_evidence(layer.features, layer.targets, layer.precision, scale), actual, rtol=1e-9)


@given(layers(), st.floats(0.01, 100.0))
def test_rescaling_the_targets_shifts_by_the_log_of_the_scale(layer, factor):
    """``y → a y``, ``σ → a σ``, ``α → α/a²`` is a change of units: every plate's density is divided by ``a``."""
    scale = layer.noise_var**0.5
    before = Evidence(layer.features, layer.targets).log_evidence(layer.precision, scale)
    rescaled = Evidence(layer.features, factor * layer.targets)
    after = rescaled.log_evidence(layer.precision / factor**2, factor * scale)
    np.testing.assert_allclose(after, before - len(layer.targets) * np.log(factor), rtol=1e-9, atol=1e-9)


@given(layers(), st.floats(0.01, 100.0))
def test_evidence_does_not_change_with_the_units_of_the_features(layer, factor):
    """``Ψ → cΨ``, ``α → c²α``: invariant, unlike the shared cells (theory 7.1.5)."""
    scale = layer.noise_var**0.5
    before = Evidence(layer.features, layer.targets).log_evidence(layer.precision, scale)
    after = Evidence(factor * layer.features, layer.targets).log_evidence(factor**2 * layer.precision, scale)
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9)


@given(layers())
def test_effective_dimension_lies_between_nothing_and_the_rank(layer):
    evidence, scale = Evidence(layer.features, layer.targets), layer.noise_var**0.5
    dimension = evidence.effective_dimension(layer.precision, scale)
    assert 0.0 <= dimension <= min(layer.features.shape)
    np.testing.assert_allclose(dimension, evidence.leverage(layer.precision, scale).sum(), rtol=1e-9)


def test_profile_noise_is_the_maximum_at_its_ridge():
    given_problem = problem(12, 4)
    evidence, ridge = Evidence(*given_problem[:2]), 0.3
    best = evidence.profile_noise_scale(ridge)
    values = [evidence.log_evidence(ridge / s**2, s) for s in (0.999 * best, best, 1.001 * best)]
    assert values[1] > max(values[0], values[2])


def test_null_model_is_the_limit_of_a_growing_precision():
    given_problem = problem(8, 3)
    evidence = Evidence(*given_problem[:2])
    limit = evidence.log_evidence(np.inf, 0.7)
    np.testing.assert_allclose(limit, evidence.log_evidence(1e14, 0.7), rtol=1e-11)
    np.testing.assert_allclose(limit, log_evidence(*given_problem[:2], np.inf, 0.7), rtol=1e-14)
    assert evidence.gradient(np.inf, 0.7).log_prior_precision == 0.0
    mean, covariance = evidence.posterior(np.inf, 0.7)
    assert not mean.any()
    assert not covariance.any()


def test_nearly_singular_gram_in_single_precision():
    """Fifty tanh features of one input, noise 1e-3: both spaces keep eight digits, and no jitter is added."""
    generator = np.random.default_rng(0)
    inputs = np.linspace(-1.0, 1.0, 300)
    features = np.tanh(np.outer(inputs, 2.0 * generator.standard_normal(50)) + generator.standard_normal(50))
    features, targets = features.astype(np.float32), np.sin(3.0 * inputs) + 1e-3 * generator.standard_normal(300)
    evidence = Evidence(features, targets)
    reference = evidence.log_evidence(1e-2, 1e-3)
    assert evidence.features.dtype == np.float64
    for space in ("features", "data"):
        np.testing.assert_allclose(log_evidence(features, targets, 1e-2, 1e-3, space=space), reference, rtol=1e-8)
    assert (evidence.predict(features, 1e-2, 1e-3).variances > 0.0).all()


@pytest.mark.parametrize("noise_scale", [1e-4, 1e-6])
def test_ill_conditioned_evidence_keeps_its_digits(noise_scale):
    generator = np.random.default_rng(1)
    features = np.vander(np.linspace(-1.0, 1.0, 25), 8)
    targets = features @ generator.standard_normal(8) + noise_scale * generator.standard_normal(25)
    expected = -oracles.precise_sequential(features, targets, 1e-3, noise_scale**2).terms.sum()
    np.testing.assert_allclose(log_evidence(features, targets, 1e-3, noise_scale), expected, rtol=1e-9)
    np.testing.assert_allclose(Evidence(features, targets).log_evidence(1e-3, noise_scale), expected, rtol=1e-9)


def test_column_of_targets_is_the_same_problem():
    features, targets, precision, scale = problem(6, 2).arguments
    one = Evidence(features, targets).log_evidence(precision, scale)
    assert Evidence(features, targets[:, None]).log_evidence(precision, scale) == one
    assert Evidence(features.tolist(), targets.tolist()).log_evidence(precision, scale) == one


def test_it_keeps_its_own_copy_of_the_data():
    features, targets, precision, scale = problem(6, 2).arguments
    mine = features.copy()
    evidence = Evidence(mine, targets)
    mine[:] = 0.0
    assert evidence.log_evidence(precision, scale) == Evidence(features, targets).log_evidence(precision, scale)
    with pytest.raises(ValueError, match="read-only"):
        evidence.features[0, 0] = 1.0


@pytest.mark.parametrize(
    ("features", "targets", "said"),
    [
        (np.ones((5, 2)), np.ones(4), r"\(5,\) or \(5, 1\).*got \(4,\)"),
        (np.ones((5, 2)), np.ones((5, 2)), r"got \(5, 2\)"),
        (np.ones(5), np.ones(5), r"\(N, H\).*got \(5,\)"),
        (np.ones((0, 2)), np.ones(0), r"N, H >= 1"),
        (np.array([[1.0, 2.0], [3.0, np.nan]]), np.ones(2), "features holds nan at row 1, column 1"),
        (np.ones((2, 2)), np.array([1.0, np.inf]), "targets holds inf at row 1"),
        ([["a"]], np.ones(1), "features must be numbers"),
    ],
)
def test_unusable_data_is_refused_in_words(features, targets, said):
    with pytest.raises(DataError, match=said):
        Evidence(features, targets)


def test_hyperparameters_out_of_range_are_refused():
    evidence = Evidence(*problem(4, 2)[:2])
    with pytest.raises(SpecError, match="add a prior"):
        evidence.log_evidence(0.0, 1.0)
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(SpecError, match="noise_scale must be a positive finite number"):
            evidence.log_evidence(1.0, bad)
    with pytest.raises(SpecError, match="prior_precision"):
        evidence.leave_one_out(np.inf, 1.0)
    with pytest.raises(DataError, match="new features have 3 columns"):
        evidence.predict(np.ones((1, 3)), 1.0, 1.0)
    with pytest.raises(SpecError, match="space must be one of"):
        log_evidence(np.ones((2, 1)), np.ones(2), 1.0, 1.0, space="weights")
