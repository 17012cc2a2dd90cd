import numpy as np
import pytest

from inference.truth.diagnostics import psis_loo
from inference.truth.loo import PsisLoo
from tests.inference.truth import oracles
from tests.support.golden import as_array


def test_golden_leave_one_out(fixed_run, fixed_case):
    """Theory 10.3: |elpd difference| <= max(0.1, 0.05 se) when every k-hat is below the threshold."""
    expected, loo = fixed_case["expected"], fixed_run.loo
    assert loo.flagged.size == 0 and loo.threshold == 0.7
    assert abs(loo.elpd - expected["elpd_loo"]) <= max(0.1, 0.05 * loo.se)
    np.testing.assert_allclose(loo.lpd, as_array(expected["loo_lpd"]), atol=0.1)


def test_flagged_points_are_refitted_exactly(generator):
    """Case 22: an outlier no other point speaks for defeats importance sampling; the refit is the truth."""
    features = np.concatenate([generator.normal(size=(20, 2)), [[9.0, -9.0]]])
    targets = np.append(features[:20] @ [1.0, -1.0] + 0.3 * generator.normal(size=20), 12.0)
    mean, covariance = oracles.posterior(features, targets, 1.0, 0.3)
    weights = generator.multivariate_normal(mean, covariance, size=4000)
    log_likelihood = -0.5 * ((targets - weights @ features.T) / 0.3) ** 2 - np.log(0.3 * np.sqrt(2.0 * np.pi))
    loo = psis_loo(log_likelihood)
    assert 20 in loo.flagged

    def refit(n):
        keep = np.arange(21) != n
        full = oracles.log_evidence(features, targets, 1.0, 0.3)
        return full - oracles.log_evidence(features[keep], targets[keep], 1.0, 0.3)

    fixed = loo.refitted(refit)
    assert fixed.flagged.size == 0
    np.testing.assert_allclose(fixed.lpd[20], refit(20))
    kept = np.setdiff1d(np.arange(21), loo.flagged)
    np.testing.assert_array_equal(fixed.lpd[kept], loo.lpd[kept])
    assert abs(loo.lpd[20] - refit(20)) > 1.0  # the estimate it replaces was badly off


@pytest.mark.parametrize(("draws", "threshold"), [(100, 0.5), (1000, 1.0 - 1.0 / 3.0), (10_000, 0.7)])
def test_threshold(draws, threshold):
    np.testing.assert_allclose(PsisLoo(np.zeros(1), np.zeros(1), draws).threshold, threshold)


def test_a_k_hat_that_is_not_a_number_is_flagged():
    assert PsisLoo(np.zeros(3), np.array([np.nan, 0.1, -np.inf]), 4000).flagged.tolist() == [0]


def test_standard_error_of_the_total():
    loo = PsisLoo(np.array([-1.0, -3.0]), np.zeros(2), 4000)
    np.testing.assert_allclose(loo.se, np.sqrt(2.0 * 2.0))  # N times the variance of (-1, -3)
    assert np.isnan(PsisLoo(np.zeros(1), np.zeros(1), 4000).se)
