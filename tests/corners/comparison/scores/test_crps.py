"""Continuous ranked probability score."""

import numpy as np
from scipy import stats

from corners.comparison.scores.crps import Crps
from corners.predictive.mixture import MixturePredictive
from tests.support.forecasts import PoissonPredictive
from tests.support.golden import assert_golden


def test_golden_mean(case, golden_score):
    assert_golden("metrics", golden_score("crps").mean, case["expected"]["crps_mean"])


def test_two_sharp_spikes_score_what_the_definition_says():
    """``E|Y - y| - ½ E|Y - Y'|`` with Y at 0 or 4 and y = 1: ``½ (1 + 3) - ½ ½ 4 = 1``."""
    mixture = MixturePredictive(np.array([[0.0], [4.0]]), np.full((2, 1), 1e-20))
    np.testing.assert_allclose(Crps()(mixture, np.array([1.0])).mean, 1.0, rtol=1e-9)


def test_of_counts_it_is_the_sum_of_squares_over_whole_numbers():
    rates, targets = np.array([0.3, 4.0, 30.0]), np.array([2.0, 1.0, 45.0])
    whole = np.arange(200.0)[:, None]
    expected = ((stats.poisson.cdf(whole, rates) - (targets <= whole)) ** 2).sum(axis=0)
    np.testing.assert_allclose(Crps()(PoissonPredictive(rates), targets).pointwise, expected, rtol=1e-10)
