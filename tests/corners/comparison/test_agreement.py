"""Agreement with draws that are known to be right, or known to be wrong; chance judged in standard errors."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from corners.comparison.agreement import FREE_NOTE, MARGINAL_NOTE, _energy, agreement
from corners.errors import DataError, TruthError
from tests.support.last_layers import posterior_layer, random_problem
from tests.support.references import independent_reference
from tests.support.statistics import assert_within_se

FEATURES, TARGETS = random_problem(40, 3, 11)
POSTERIOR = posterior_layer(FEATURES, TARGETS, 2.0, 0.2)


def reference(seed: int, mean=POSTERIOR.mean, covariance=POSTERIOR.covariance, **rest):
    return independent_reference(POSTERIOR, mean, covariance, np.random.default_rng(seed), **rest)


def failed(report) -> set[str]:
    return {check.name for check in report.checks if not check.passed}


@pytest.mark.parametrize("seed", range(12))
def test_draws_of_the_posterior_agree_with_it(seed):
    report = agreement(POSTERIOR, reference(seed))
    assert report.agrees and "agrees with the posterior within Monte Carlo error" in report.sentence
    assert report.w2_relative < 0.1


def test_the_energy_distance_is_zero_on_average_and_sees_a_shift():
    def energy(seed: int, shift: float) -> float:
        mean = POSTERIOR.mean + shift * np.sqrt(np.diag(POSTERIOR.covariance))
        draws = np.random.default_rng(seed).multivariate_normal(mean, POSTERIOR.covariance, size=(4, 250))
        return _energy(POSTERIOR.mean, POSTERIOR.covariance, draws, np.random.default_rng(1000 + seed))

    assert_within_se(np.array([energy(seed, 0.0) for seed in range(60)]), 0.0)
    report = agreement(POSTERIOR, reference(1), generator=np.random.default_rng(1))
    assert energy(1, 1.0) > 10.0 * report.energy_null.max() > 0.0


@pytest.mark.parametrize(
    ("name", "mean", "covariance"),
    [
        ("posterior means", POSTERIOR.mean + 0.15 * np.sqrt(np.diag(POSTERIOR.covariance)), POSTERIOR.covariance),
        ("posterior standard deviations", POSTERIOR.mean, 1.3 * POSTERIOR.covariance),
        ("whitened covariance", POSTERIOR.mean, np.diag(np.diag(POSTERIOR.covariance))),
        ("log predictive densities", POSTERIOR.mean, 4.0 * POSTERIOR.covariance),
    ],
)
def test_wrong_draws_are_detected_by_the_check_that_should_see_them(name, mean, covariance):
    report = agreement(POSTERIOR, reference(1, mean, covariance))
    assert name in failed(report) and not report.agrees
    assert name in report.sentence and report.sentence.startswith("differs from the posterior")


def test_a_wrong_correlation_is_seen_by_the_covariance_check_alone():
    report = agreement(POSTERIOR, reference(2, POSTERIOR.mean, np.diag(np.diag(POSTERIOR.covariance))))
    assert not failed(report) & {"posterior means", "posterior standard deviations"}


def test_a_shift_of_one_weight_names_that_weight():
    mean = POSTERIOR.mean.copy()
    mean[1] += np.sqrt(POSTERIOR.covariance[1, 1])
    (check,) = [each for each in agreement(POSTERIOR, reference(3, mean)).checks if each.name == "posterior means"]
    assert check.where == "weight 1" and check.failed == 1


def test_log_predictive_z_scores_are_of_order_one():
    """The reference estimates its error from batches, so the scores have somewhat heavier tails than a normal."""
    z = np.array([agreement(POSTERIOR, reference(seed)).log_predictive.z for seed in range(40)])
    assert_within_se(z, 0.0)
    assert 0.8 < np.sqrt((z**2).mean()) < 1.2


def test_the_false_alarm_rate_counts_the_tests():
    report = agreement(POSTERIOR, reference(7))
    one = 2.0 * stats.norm.sf(4.5)
    assert report.false_alarm == pytest.approx((3 + 3 + 40) * one + stats.chi2.sf(54.0, 6))
    assert sum(check.count for check in report.checks) == 47


def test_a_reference_that_failed_its_gate_is_refused():
    with pytest.raises(TruthError, match="failed its gate"):
        agreement(POSTERIOR, reference(8, rhat=1.2))


def test_a_reference_of_another_layer_is_refused():
    features, targets = random_problem(40, 4, 12)
    with pytest.raises(DataError, match="the reference has 3 weights, the layer 4"):
        agreement(posterior_layer(features, targets, 1.0, 0.2), reference(9))


def test_a_point_belief_has_no_covariance_check_and_says_why():
    point = replace(POSTERIOR, covariance=np.zeros((3, 3)), family="none", routing="free")
    report = agreement(point, reference(10), generator=np.random.default_rng(0))
    assert "whitened covariance" not in {check.name for check in report.checks}
    assert "posterior standard deviations" in failed(report) and "the belief is a point" in report.sentence
    np.testing.assert_allclose(report.w2_relative, 1.0, atol=0.05)


def test_a_singular_covariance_is_infinitely_far():
    report = agreement(replace(POSTERIOR, covariance=np.diag([0.1, 0.1, 0.0])), reference(11))
    (check,) = [each for each in report.checks if each.name == "whitened covariance"]
    assert check.worst == np.inf and "a singular covariance" in str(check)


def test_a_free_belief_is_said_to_be_no_approximation():
    report = agreement(replace(POSTERIOR, covariance=np.eye(3), routing="free", cavity="shared"), reference(12))
    assert report.free and FREE_NOTE in report.sentence
    assert FREE_NOTE not in agreement(POSTERIOR, reference(12)).sentence


def test_sampled_hyperparameters_are_said():
    report = agreement(POSTERIOR, reference(13, noise_draws=np.full((4, 1000), np.sqrt(0.2))))
    assert report.agrees and MARGINAL_NOTE in report.sentence


def test_without_a_generator_nothing_random_is_computed_and_it_is_said():
    report = agreement(POSTERIOR, reference(14))
    assert report.energy is None and report.energy_null.size == 0
    assert "energy distance not computed" in report.sentence and "energy distance:" not in str(report)


def test_the_same_generator_gives_the_same_report():
    first, second = (agreement(POSTERIOR, reference(15), generator=np.random.default_rng(1)) for _ in range(2))
    assert first.energy == second.energy


def test_k_hat_gets_the_unnormalised_posterior():
    """At the exact posterior ``log p(y, w) - log q(w)`` is constant; the oracle of k-hat calls that exact."""
    from inference.truth import gaussian_k_hat

    report = agreement(POSTERIOR, reference(16), generator=np.random.default_rng(2), k_hat=gaussian_k_hat)
    assert report.k_hat == "exact" and "k-hat: exact" in str(report)
    point = replace(POSTERIOR, covariance=np.zeros((3, 3)), family="none")
    singular = agreement(point, reference(16), generator=np.random.default_rng(2), k_hat=gaussian_k_hat)
    assert singular.k_hat == "not defined: the covariance is singular"


def test_rescaled_weights_change_no_check():
    """``Ψ → cΨ``, ``w → w/c``: every z-score, the whitened error and the relative distances stay."""
    factor, first = 8.0, reference(17)
    second = replace(first, weights=first.weights / factor)
    scaled = replace(
        POSTERIOR,
        features=factor * FEATURES,
        test_features=factor * FEATURES,
        mean=POSTERIOR.mean / factor,
        covariance=POSTERIOR.covariance / factor**2,
    )
    one, other = agreement(POSTERIOR, first), agreement(scaled, second)
    for check, again in zip(one.checks, other.checks, strict=True):
        np.testing.assert_allclose(again.worst, check.worst, rtol=1e-6)
    np.testing.assert_allclose(other.w2_relative, one.w2_relative, rtol=1e-6)


def test_records_are_flat():
    report = agreement(POSTERIOR, reference(18), generator=np.random.default_rng(3))
    for row in [*report.records(), *report.marginals.weight_records()]:
        assert all(isinstance(value, str | bool | int | float | None) for value in row.values())
    assert len(report.marginals.weight_records()) == 3
