"""Share of labels that are predicted."""

import numpy as np
from hypothesis import given
from sklearn.metrics import accuracy_score

from corners.comparison.scores.accuracy import Accuracy
from corners.predictive.categorical import CategoricalPredictive
from tests.support.forecasts import class_forecasts
from tests.support.golden import assert_golden


def test_golden_mean(golden_labels):
    predictive, labels, expected = golden_labels
    assert_golden("metrics", Accuracy()(predictive, labels).mean, expected["accuracy"])


@given(class_forecasts(classes=3))
def test_it_is_scikit_learns(forecast):
    predictive, labels = forecast
    expected = accuracy_score(labels, np.argmax(predictive.probabilities, axis=1))
    np.testing.assert_allclose(Accuracy()(predictive, labels).mean, expected, rtol=1e-12)


def test_ties_go_to_the_lowest_class_but_of_two_to_the_second():
    three = CategoricalPredictive(np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]]))
    assert Accuracy()(three, np.array([0.0, 1.0])).pointwise.tolist() == [1.0, 1.0]
    two = CategoricalPredictive(np.full((2, 2), 0.5))
    assert Accuracy()(two, np.array([0.0, 1.0])).pointwise.tolist() == [0.0, 1.0]
