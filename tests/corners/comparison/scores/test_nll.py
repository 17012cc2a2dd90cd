"""Negative log predictive density."""

import numpy as np
import pytest
from scipy import stats

from corners.comparison.scores.nll import Nll
from corners.errors import DataError
from corners.predictive.categorical import CategoricalPredictive
from corners.predictive.gaussian import GaussianPredictive
from tests.support.forecasts import PoissonPredictive
from tests.support.golden import assert_golden


def test_golden_mean(case, golden_score):
    assert_golden("metrics", golden_score("nll").mean, case["expected"]["nll"])


def test_it_is_the_log_density_of_the_target():
    predictive, targets = GaussianPredictive(np.array([1.0, -2.0]), np.array([0.3, 9.0])), np.array([0.0, 5.0])
    expected = -stats.norm(predictive.means, np.sqrt(predictive.variances)).logpdf(targets)
    np.testing.assert_allclose(Nll()(predictive, targets).pointwise, expected, rtol=1e-13)


def test_golden_mean_of_classes(golden_labels):
    predictive, labels, expected = golden_labels
    assert_golden("metrics", Nll()(predictive, labels).mean, expected["nll"])


def test_of_classes_it_is_the_log_probability_of_the_true_class():
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    expected = [-np.log(0.2), -np.log(0.6)]
    np.testing.assert_allclose(Nll()(CategoricalPredictive(p), np.array([1.0, 2.0])).pointwise, expected, rtol=1e-14)


def test_class_probabilities_are_clipped_at_one_in_a_million_million():
    p = np.array([[1.0, 0.0], [1.0 - 1e-13, 1e-13], [1.0 - 1e-11, 1e-11]])
    values = Nll()(CategoricalPredictive(p), np.ones(3)).pointwise
    np.testing.assert_allclose(values, np.log(10.0) * np.array([12.0, 12.0, 11.0]), rtol=1e-12)


def test_log_probabilities_keep_the_digits_near_one():
    logs = np.array([[np.log1p(-1e-20), np.log(1e-20)]])
    value = Nll()(CategoricalPredictive(np.exp(logs), logs), np.zeros(1)).mean
    np.testing.assert_allclose(value, 1e-20, rtol=1e-12)


def test_counts_and_densities_are_not_clipped():
    value = Nll()(PoissonPredictive(np.array([1e-3])), np.array([20.0])).mean
    np.testing.assert_allclose(value, -stats.poisson.logpmf(20, 1e-3), rtol=1e-12)
    assert value > 100.0


def test_labels_that_are_no_codes_are_refused():
    for label in (2.0, -1.0, 0.5):
        with pytest.raises(DataError, match="class labels must be 0 to 1"):
            Nll()(CategoricalPredictive(np.full((1, 2), 0.5)), np.array([label]))
