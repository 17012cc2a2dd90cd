"""Calibration error over nineteen central intervals."""

import numpy as np

from corners.comparison.scores._central import LEVELS
from corners.comparison.scores.calibration_error import CalibrationError
from tests.support.golden import assert_golden
from tests.support.laws.score_laws import gaussian_forecast, true_forecast


def test_golden_mean(case, golden_score):
    assert_golden("metrics", golden_score("calibration_error").mean, case["expected"]["calib_err"])


def test_a_calibrated_predictive_scores_what_its_docstring_says():
    values = [CalibrationError()(*true_forecast(900, seed)).mean for seed in range(200)]
    expected = np.sqrt(2 / np.pi / 900) * np.sqrt(LEVELS * (1 - LEVELS)).mean()
    assert abs(np.mean(values) - expected) < 5 * np.std(values, ddof=1) / np.sqrt(200)


def test_it_is_the_mean_distance_of_coverage_from_level():
    predictive, targets = gaussian_forecast(50, 4)
    inside = np.abs(2 * predictive.cdf(targets) - 1) <= LEVELS[:, None]
    expected = np.abs(inside.mean(axis=1) - LEVELS).mean()
    np.testing.assert_allclose(CalibrationError()(predictive, targets).mean, expected, rtol=1e-12)
