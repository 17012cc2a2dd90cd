"""Data of the reliability diagram."""

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from corners.comparison.reliability import reliability
from corners.comparison.scores.ece import Ece
from corners.errors import DataError, SpecError
from corners.predictive.categorical import CategoricalPredictive
from tests.support.forecasts import class_forecasts
from tests.support.golden import as_array, golden_cases
from tests.support.laws.score_laws import true_forecast

(GOLDEN,) = golden_cases("metrics", "classification_multiclass")


def golden_diagram():
    case = GOLDEN.values[0]
    return reliability(CategoricalPredictive(as_array(case["inputs"]["probs"])), as_array(case["inputs"]["y"])), case


def test_golden_counts():
    diagram, case = golden_diagram()
    assert diagram.count.tolist() == case["expected"]["bin_counts"]


@given(class_forecasts(classes=3))
def test_every_bin_is_the_definition_and_the_error_is_the_score(forecast):
    predictive, labels = forecast
    confidence = predictive.probabilities.max(axis=1)
    correct = predictive.probabilities.argmax(axis=1) == labels
    diagram = reliability(predictive, labels, 4)
    for b in range(4):
        inside = [n for n, c in enumerate(confidence) if b / 4 < c <= (b + 1) / 4]
        assert diagram.count[b] == len(inside)
        if inside:
            np.testing.assert_allclose(diagram.confidence[b], np.mean(confidence[inside]), rtol=1e-12)
            np.testing.assert_allclose(diagram.accuracy[b], np.mean(correct[inside]), rtol=1e-12)
        else:
            assert np.isnan(diagram.confidence[b]) and np.isnan(diagram.accuracy[b])
    np.testing.assert_allclose(diagram.error, Ece(4)(predictive, labels).mean, rtol=1e-9, atol=1e-15)


def test_of_one_class_it_compares_its_probability_with_its_frequency():
    predictive = CategoricalPredictive(np.tile([0.15, 0.25, 0.6], (4, 1)))
    diagram = reliability(predictive, np.array([1.0, 1.0, 1.0, 2.0]), of_class=1)
    assert diagram.count.tolist() == [0, 0, 4, 0, 0, 0, 0, 0, 0, 0]
    assert (diagram.confidence[2], diagram.accuracy[2]) == (0.25, 0.75)


def test_the_band_holds_the_truths_accuracies_about_as_often_as_it_says():
    held, within = 0, 0
    for seed in range(60):
        diagram = reliability(*true_forecast(1000, seed, "classes"))
        low, high = diagram.band(0.9)
        used = diagram.count > 0
        held += used.sum()
        within += ((low <= diagram.accuracy) & (diagram.accuracy <= high))[used].sum()
    assert within / held > 0.9 - 5.0 * np.sqrt(0.09 / held)
    assert within / held < 0.97  # counts are whole, so a band holds somewhat more than its level


def test_the_band_of_one_bin_is_the_binomial_one():
    predictive = CategoricalPredictive(np.tile([0.7, 0.3], (50, 1)))
    low, high = reliability(predictive, np.zeros(50)).band()
    np.testing.assert_allclose([low[6], high[6]], np.array(stats.binom.interval(0.95, 50, 0.7)) / 50, rtol=1e-12)
    assert np.isnan(low[0]) and np.isnan(high[9])


def test_records_have_a_row_a_bin():
    rows = golden_diagram()[0].records()
    assert [row["up_to"] for row in rows] == [b / 10 for b in range(1, 11)]
    assert rows[0]["confidence"] is None and rows[0]["count"] == 0 and rows[9]["accuracy"] == 1.0


def test_what_cannot_be_is_refused():
    predictive = CategoricalPredictive(np.full((2, 2), 0.5))
    with pytest.raises(SpecError, match="from 0 to 1; got 2"):
        reliability(predictive, np.zeros(2), of_class=2)
    with pytest.raises(SpecError, match="at least 1"):
        reliability(predictive, np.zeros(2), 0)
    with pytest.raises(DataError, match="class labels must be 0 to 1"):
        reliability(predictive, np.full(2, 2.0))
