"""Expected calibration error with bins of equal mass."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from corners.comparison.scores.adaptive_ece import AdaptiveEce
from corners.comparison.scores.ece import Ece
from corners.errors import SpecError
from corners.predictive.categorical import CategoricalPredictive
from tests.support.forecasts import class_forecasts
from tests.support.laws.score_laws import class_forecast


def test_without_ties_it_is_the_definition():
    """Sorted by confidence and cut into ten parts as equal as can be."""
    for count in (7, 10, 95, 200):
        predictive, labels = class_forecast(count, count)
        p = predictive.probabilities
        order = np.argsort(p.max(axis=1))
        ends = [-(-b * count // 10) for b in range(11)]
        total = 0.0
        for low, high in pairwise(ends):
            rows = order[low:high]
            total += abs(sum((np.argmax(p[n]) == labels[n]) - p[n].max() for n in rows))
        np.testing.assert_allclose(AdaptiveEce()(predictive, labels).mean, total / count, rtol=1e-10)


def test_equal_confidences_share_a_bin():
    p = np.tile([0.75, 0.25], (20, 1))
    labels = np.repeat([0.0, 1.0], [15, 5])
    np.testing.assert_allclose(AdaptiveEce()(CategoricalPredictive(p), labels).mean, 0.0, atol=1e-15)


@given(class_forecasts(classes=3))
def test_it_lies_between_one_bin_and_a_bin_a_confidence(forecast):
    """Merging bins can only lower the sum, by the triangle inequality."""
    predictive, labels = forecast
    confidence = predictive.probabilities.max(axis=1)
    errors = (predictive.probabilities.argmax(axis=1) == labels) - confidence
    finest = sum(abs(errors[confidence == c].sum()) for c in np.unique(confidence)) / len(labels)
    value = AdaptiveEce()(predictive, labels).mean
    assert Ece(1)(predictive, labels).mean - 1e-12 <= value <= finest + 1e-12


def test_no_bins_are_refused():
    with pytest.raises(SpecError, match="at least 1"):
        AdaptiveEce(0)
