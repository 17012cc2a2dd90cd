"""Negative log predictive density."""

import numpy as np
from scipy import stats

from corners.comparison.scores.nll import Nll
from corners.predictive.gaussian import GaussianPredictive
from tests.support.golden import assert_golden


def test_golden_mean(case, golden_score):
    assert_golden("metrics", golden_score("nll").mean, case["expected"]["nll"])


def test_it_is_the_log_density_of_the_target():
    predictive, targets = GaussianPredictive(np.array([1.0, -2.0]), np.array([0.3, 9.0])), np.array([0.0, 5.0])
    expected = -stats.norm(predictive.means, np.sqrt(predictive.variances)).logpdf(targets)
    np.testing.assert_allclose(Nll()(predictive, targets).pointwise, expected, rtol=1e-13)
