"""Root mean squared error."""

import numpy as np

from corners.comparison.scores.rmse import Rmse
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.mixture import MixturePredictive
from tests.support.golden import assert_golden


def test_golden_mean(case, golden_score):
    assert_golden("metrics", golden_score("rmse").mean, case["expected"]["rmse"])


def test_the_mean_of_a_mixture_is_the_forecast():
    mixture = MixturePredictive(np.array([[0.0], [0.0], [9.0]]), np.ones((3, 1)))
    assert Rmse()(mixture, np.array([1.0])).mean == 2.0


def test_a_perfect_forecast_has_no_error():
    score = Rmse()(GaussianPredictive(np.arange(3.0), np.ones(3)), np.arange(3.0))
    assert score.mean == 0.0 and score.se == 0.0
