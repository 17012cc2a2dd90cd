"""Brier score of two classes."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import brier_score_loss

from corners.comparison.scores.brier import Brier
from corners.comparison.scores.brier_binary import BrierBinary
from corners.errors import SpecError
from corners.predictive.categorical import CategoricalPredictive
from tests.support.forecasts import class_forecasts
from tests.support.golden import assert_golden, golden_cases


@pytest.mark.parametrize("golden_labels", golden_cases("metrics", "classification_binary"), indirect=True)
def test_golden_mean(golden_labels):
    predictive, labels, expected = golden_labels
    assert_golden("metrics", BrierBinary()(predictive, labels).mean, expected["brier_binary"])


@given(class_forecasts(classes=2))
def test_it_is_scikit_learns_and_half_the_sum_over_classes(forecast):
    predictive, labels = forecast
    score = BrierBinary()(predictive, labels)
    expected = brier_score_loss(labels, predictive.probabilities[:, 1], pos_label=1, labels=[0, 1])
    np.testing.assert_allclose(score.mean, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(2.0 * score.pointwise, Brier()(predictive, labels).pointwise, rtol=1e-9, atol=1e-15)


def test_three_classes_are_refused():
    with pytest.raises(SpecError, match="got 3: use brier"):
        BrierBinary()(CategoricalPredictive(np.full((1, 3), 1.0 / 3.0)), np.zeros(1))
