"""Calibration error of every class's probability."""

import numpy as np
import pytest
from hypothesis import given

from corners.comparison.scores.classwise_ece import ClasswiseEce
from corners.comparison.scores.ece import Ece
from corners.errors import SpecError
from corners.predictive.categorical import CategoricalPredictive
from tests.corners.comparison.scores.test_ece import by_definition
from tests.support.forecasts import class_forecasts


@given(class_forecasts())
def test_it_is_the_mean_of_the_definition_over_classes(forecast):
    predictive, labels = forecast
    p = predictive.probabilities
    expected = np.mean([by_definition(p[:, k], labels == k, 10) for k in range(p.shape[1])])
    np.testing.assert_allclose(ClasswiseEce()(predictive, labels).mean, expected, rtol=1e-12, atol=1e-15)


def test_it_sees_what_the_predicted_class_hides():
    """The confidence is right; the other two classes have each other's frequencies, each off by 0.3."""
    p = np.tile([0.6, 0.35, 0.05], (100, 1))
    labels = np.repeat([0.0, 1.0, 2.0], [60, 5, 35])
    predictive = CategoricalPredictive(p)
    np.testing.assert_allclose(Ece()(predictive, labels).mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(ClasswiseEce()(predictive, labels).mean, 0.6 / 3.0, rtol=1e-12)


def test_no_bins_are_refused():
    with pytest.raises(SpecError, match="at least 1"):
        ClasswiseEce(0)
