"""Mean squared standardised residual."""

import numpy as np

from corners.comparison.scores.squared_z import SquaredZ
from corners.predictive.gaussian import GaussianPredictive
from tests.support.golden import assert_golden


def test_golden_mean(case, golden_score):
    assert_golden("metrics", golden_score("squared_z").mean, case["expected"]["mean_z2"])


def test_a_predictive_four_times_too_wide_scores_a_quarter():
    targets = np.array([1.0, -2.0, 0.5])
    right, wide = (SquaredZ()(GaussianPredictive(np.zeros(3), np.full(3, v)), targets).mean for v in (1.0, 4.0))
    assert wide == right / 4.0
