"""Probability integral transform."""

import numpy as np
from scipy import stats

from corners.comparison.scores.pit import Pit
from tests.support.golden import assert_golden
from tests.support.laws.score_laws import true_forecast


def test_golden_values(case, golden_score):
    assert_golden("metrics", golden_score("pit").pointwise, case["expected"]["pit"])


def test_it_is_uniform_where_the_predictive_is_the_truth():
    values = Pit()(*true_forecast()).pointwise
    assert stats.kstest(values, "uniform").pvalue > 1e-4
    assert np.isclose(values.var(), 1 / 12, rtol=0.1)
