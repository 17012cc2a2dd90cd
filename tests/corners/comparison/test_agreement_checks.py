"""The checks one by one: their scores are calibrated where the belief is the posterior (theory 10.3)."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from corners.comparison.agreement_checks import covariance_check, marginals, z_check
from tests.support.last_layers import posterior_layer, random_problem
from tests.support.references import independent_reference
from tests.support.statistics import assert_within_se

POSTERIOR = posterior_layer(*random_problem(40, 3, 11), 2.0, 0.2)
REPEATS = 200


def reference(seed: int):
    return independent_reference(POSTERIOR, POSTERIOR.mean, POSTERIOR.covariance, np.random.default_rng(seed))


def bare_draws(generator: np.random.Generator, count: int) -> SimpleNamespace:
    """Standard normal draws of one weight and nothing else: quick to make thousands of."""
    sizes = {"ess_mean": np.full(1, float(count)), "ess_sd": np.full(1, float(count))}
    weights = generator.standard_normal((1, count, 1))
    return SimpleNamespace(weights=weights, hyperparameters={}, passed=True, log_predictive=max, **sizes)


def test_z_scores_are_standard_normal_where_the_belief_is_the_posterior():
    found = [marginals(POSTERIOR, POSTERIOR.covariance, reference(seed)) for seed in range(REPEATS)]
    for name in ("mean_z", "sd_z"):
        z = np.array([getattr(each, name) for each in found])
        assert_within_se(z, 0.0, label=name)
        assert_within_se(z**2, 1.0, label=f"{name} squared")


def test_the_expected_covariance_error_is_one_unit():
    """``E‖cov(u) - I‖²_F = H(H + 1)/S`` for independent normal draws."""
    errors = [covariance_check(POSTERIOR.mean, POSTERIOR.covariance, reference(s)).worst for s in range(REPEATS)]
    assert_within_se(np.array(errors) ** 2, 1.0)


def test_the_stated_false_alarm_rate_of_the_covariance_check():
    """For one weight three units are three standard errors: ``P(χ²₁ > 9) = 0.0027``; counted over many references."""
    generator = np.random.default_rng(6)
    checks = [covariance_check(np.zeros(1), np.eye(1), bare_draws(generator, 1000)) for _ in range(1500)]
    rate = np.mean([check.failed for check in checks])
    assert checks[0].false_alarm == pytest.approx(2.0 * stats.norm.sf(3.0))
    assert abs(rate - 0.0027) < 5.0 * np.sqrt(0.0027 / 1500)


def test_nan_fails():
    assert z_check("x", np.array([0.0, np.nan]), "weight").failed == 1
