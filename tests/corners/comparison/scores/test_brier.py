"""Brier score over all classes."""

import numpy as np
from hypothesis import given

from corners.comparison.scores.brier import Brier
from corners.predictive.categorical import CategoricalPredictive
from tests.support.forecasts import class_forecasts
from tests.support.golden import assert_golden


def test_golden_sum_over_classes(golden_labels):
    predictive, labels, expected = golden_labels
    name = "brier_two_class_sum" if predictive.classes == 2 else "brier_multiclass_sum"
    assert_golden("metrics", Brier()(predictive, labels).mean, expected[name])


@given(class_forecasts())
def test_it_is_the_sum_of_squares_and_between_zero_and_two(forecast):
    predictive, labels = forecast
    score = Brier()(predictive, labels)
    for n, label in enumerate(labels):
        squares = [(p - (k == label)) ** 2 for k, p in enumerate(predictive.probabilities[n])]
        np.testing.assert_allclose(score.pointwise[n], sum(squares), rtol=1e-12, atol=1e-15)
    assert (score.pointwise >= 0.0).all() and (score.pointwise <= 2.0 + 1e-12).all()


def test_its_ends_are_reached_and_the_predictive_is_left_as_it_was():
    predictive = CategoricalPredictive(np.array([[1.0, 0.0, 0.0]]))
    assert Brier()(predictive, np.array([0.0])).mean == 0.0
    assert Brier()(predictive, np.array([2.0])).mean == 2.0
    assert predictive.probabilities.tolist() == [[1.0, 0.0, 0.0]]
