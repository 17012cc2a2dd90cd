"""Expected calibration error with bins of equal width."""

import numpy as np
import pytest
from hypothesis import given

from corners.comparison.scores.ece import Ece
from corners.errors import SpecError
from corners.predictive.categorical import CategoricalPredictive
from tests.support.forecasts import class_forecasts
from tests.support.golden import assert_golden
from tests.support.laws.score_laws import true_forecast


def test_golden_mean(golden_labels):
    predictive, labels, expected = golden_labels
    assert_golden("metrics", Ece()(predictive, labels).mean, expected["ece10"])


def by_definition(confidence, correct, bins):
    """The sum over bins, one bin and one point after another."""
    total = 0.0
    for b in range(bins):
        inside = [b / bins < c <= (b + 1) / bins or (b == 0 and c == 0.0) for c in confidence]
        if any(inside):
            total += abs(np.mean(correct[inside]) - np.mean(confidence[inside])) * sum(inside) / len(confidence)
    return total


@given(class_forecasts(classes=3))
def test_it_is_the_definition_and_between_zero_and_one(forecast):
    predictive, labels = forecast
    p = predictive.probabilities
    correct = np.argmax(p, axis=1) == labels
    for bins in (1, 10, 15):
        value = Ece(bins)(predictive, labels).mean
        np.testing.assert_allclose(value, by_definition(p.max(axis=1), correct, bins), rtol=1e-12, atol=1e-15)
        assert 0.0 <= value <= 1.0


def test_a_confidence_on_an_edge_belongs_to_the_bin_below():
    """0.6 shares a bin with 0.55, not with 0.65: the gaps of right 0.6 and wrong 0.55 are subtracted in one bin."""
    p = np.array([[0.6, 0.2, 0.2], [0.55, 0.45, 0.0], [0.65, 0.35, 0.0]])
    value = Ece()(CategoricalPredictive(p), np.array([0.0, 1.0, 1.0])).mean
    np.testing.assert_allclose(value, (abs(0.4 - 0.55) + 0.65) / 3.0, rtol=1e-12)


def test_a_calibrated_predictive_scores_what_its_docstring_says():
    """The bins' gaps are nearly normal: their mean sizes are ``√(2/π)`` times their standard deviations."""
    values, expected = [], []
    for seed in range(200):
        predictive, labels = true_forecast(2000, seed, "classes")
        values.append(Ece()(predictive, labels).mean)
        confidence = predictive.probabilities.max(axis=1)
        of_bin = np.ceil(10.0 * confidence)
        spreads = [np.sqrt((c * (1.0 - c)).sum()) for c in (confidence[of_bin == b] for b in np.unique(of_bin))]
        expected.append(np.sqrt(2.0 / np.pi) * sum(spreads) / 2000)
    error = np.std(np.subtract(values, expected), ddof=1) / np.sqrt(200)
    assert abs(np.mean(values) - np.mean(expected)) < 5.0 * error


@pytest.mark.parametrize("bins", [0, -1])
def test_no_bins_are_refused(bins):
    with pytest.raises(SpecError, match="at least 1"):
        Ece(bins)
