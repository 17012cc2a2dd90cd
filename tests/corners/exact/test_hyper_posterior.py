"""Integration over hyperparameters: the golden reference of NUTS, a closed form, and grids that do not matter."""

import math

import numpy as np
import pytest

from corners.errors import SpecError
from corners.exact import Evidence, integrate_hyperparameters
from tests.corners.exact.problems import problem
from tests.support.golden import as_array, golden

CASES = {case["id"]: case for case in golden("nuts_reference")["cases"]}
EXACT = golden("nuts_reference")["tolerance"]["exact_quantities_rel"]


def gamma_and_half_normal(log_precision, log_scale):
    """``α ~ Gamma(2, rate 1)``, ``σ ~ HalfNormal(1)`` as a density of the logarithms."""
    precision, scale = math.exp(log_precision), math.exp(log_scale)
    of_precision = 2.0 * log_precision - precision
    return of_precision + 0.5 * math.log(2.0 / math.pi) - 0.5 * scale**2 + log_scale


def grid_covariance(features, targets):
    """Covariance of the weights over 161 x 161 nodes of ``(log α, log σ)``, each by a dense density and an inverse."""
    precisions, scales = np.exp(np.linspace(-7.0, 3.5, 161)), np.exp(np.linspace(-2.4, 0.2, 161))
    width = features.shape[1]
    gram, along = features.T @ features, features.T @ targets
    mass, first, second = 0.0, np.zeros(width), np.zeros((width, width))
    for precision in precisions:
        inverse = np.linalg.inv(precision * np.eye(width) + gram / scales[:, None, None] ** 2)
        means = inverse @ along / scales[:, None] ** 2
        kernel = features @ features.T / precision + np.eye(len(targets)) * scales[:, None, None] ** 2
        solved = np.linalg.solve(kernel, np.broadcast_to(targets[:, None], (161, len(targets), 1)))[..., 0]
        log_density = -0.5 * (np.linalg.slogdet(kernel)[1] + solved @ targets)
        priors = [gamma_and_half_normal(math.log(precision), math.log(s)) for s in scales]
        weights = np.exp(log_density + np.array(priors))
        mass += weights.sum()
        first += weights @ means
        second += (means.T * weights) @ means + np.einsum("s,sab->ab", weights, inverse)
    return second / mass - np.outer(first, first) / mass**2


def test_golden_posterior_with_hyperpriors():
    case = CASES["gaussian_hyperpriors"]
    evidence, expected = Evidence(as_array(case["inputs"]["Psi"]), as_array(case["inputs"]["y"])), case["expected"]
    exact = integrate_hyperparameters(evidence, gamma_and_half_normal)
    assert exact.mean_log_prior_precision == pytest.approx(expected["mean_log_alpha"], rel=EXACT)
    assert exact.sd_log_prior_precision == pytest.approx(expected["sd_log_alpha"], rel=EXACT)
    assert exact.mean_log_noise_scale == pytest.approx(expected["mean_log_sigma"], rel=EXACT)
    assert exact.sd_log_noise_scale == pytest.approx(expected["sd_log_sigma"], rel=EXACT)
    assert exact.log_evidence == pytest.approx(expected["log_evidence"], rel=EXACT)
    np.testing.assert_allclose(exact.mean_weights, as_array(expected["mean_w"]), rtol=EXACT)
    # The golden covariance carries a quadrature error of 1e-6 of its own, so it is judged by a grid of the definition.
    covariance = grid_covariance(evidence.features, evidence.targets)
    np.testing.assert_allclose(exact.covariance_weights, covariance, rtol=EXACT, atol=EXACT * covariance.max())
    np.testing.assert_allclose(covariance, as_array(expected["cov_w"]), rtol=1e-5)


def test_golden_fixed_hyperparameters():
    case = CASES["gaussian_fixed_hyper"]
    inputs, expected = case["inputs"], case["expected"]
    evidence = Evidence(as_array(inputs["Psi"]), as_array(inputs["y"]))
    precision, scale = float(inputs["alpha"]), float(inputs["sigma2"]) ** 0.5
    posterior, scored = evidence.posterior(precision, scale), evidence.leave_one_out(precision, scale)
    np.testing.assert_allclose(posterior.mean, as_array(expected["post_mean"]), rtol=EXACT)
    np.testing.assert_allclose(posterior.covariance, as_array(expected["post_cov"]), rtol=EXACT)
    assert evidence.log_evidence(precision, scale) == pytest.approx(expected["log_evidence"], rel=EXACT)
    np.testing.assert_allclose(-scored.terms, as_array(expected["loo_lpd"]), rtol=EXACT)
    assert -scored.total == pytest.approx(expected["elpd_loo"], rel=EXACT)
    predicted = evidence.predict(as_array(inputs["Psi_test"]), precision, scale)
    errors = as_array(inputs["y_test"]) - predicted.means
    density = -0.5 * (np.log(2 * np.pi * predicted.variances) + errors**2 / predicted.variances)
    np.testing.assert_allclose(density, as_array(expected["test_lpd"]), rtol=EXACT)


def test_without_features_the_noise_has_a_closed_posterior():
    """Zero features and ``1/σ² ~ Gamma(a, b)``: the posterior is ``Gamma(a + N/2, b + ‖y‖²/2)``."""
    targets, shape, rate = np.array([0.5, -1.2, 0.3, 2.0]), 3.0, 1.5

    def log_prior(log_precision, log_scale):
        noise_precision = math.exp(-2.0 * log_scale)
        of_noise = shape * math.log(rate) - math.lgamma(shape) - 2.0 * shape * log_scale - rate * noise_precision
        return of_noise + math.log(2.0) - 0.5 * (log_precision**2 + math.log(2.0 * math.pi))

    exact = integrate_hyperparameters(Evidence(np.zeros((4, 1)), targets), log_prior)
    new_shape, new_rate = shape + 2.0, rate + 0.5 * float(targets @ targets)
    marginal = shape * math.log(rate) - math.lgamma(shape) + math.lgamma(new_shape) - new_shape * math.log(new_rate)
    assert exact.log_evidence == pytest.approx(marginal - 2.0 * math.log(2.0 * math.pi), rel=1e-9)
    digamma = -0.5772156649015329 + sum(1.0 / k for k in range(1, 5))  # of 5
    assert exact.mean_log_noise_scale == pytest.approx(-0.5 * (digamma - math.log(new_rate)), rel=1e-9)
    assert exact.mean_log_prior_precision == pytest.approx(0.0, abs=1e-9)
    assert exact.sd_log_prior_precision == pytest.approx(1.0, rel=1e-9)


def test_a_sharp_peak_is_found():
    """With 2000 plates the peak is far narrower than a node of the first grid; its width is that of the information."""
    features, targets, _, _ = problem(2000, 2)
    exact = integrate_hyperparameters(Evidence(features, targets), gamma_and_half_normal)
    assert exact.mean_log_noise_scale == pytest.approx(math.log(0.4), abs=0.06)
    assert exact.sd_log_noise_scale == pytest.approx(1.0 / math.sqrt(4000.0), rel=0.05)


def test_an_improper_posterior_is_refused():
    with pytest.raises(SpecError, match="reaches the edge of the box"):
        integrate_hyperparameters(Evidence(*problem(5, 2)[:2]), lambda *_: 0.0)
