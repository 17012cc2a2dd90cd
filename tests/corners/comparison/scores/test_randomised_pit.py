"""Randomised probability integral transform of counts."""

import numpy as np
import pytest
from scipy import stats

from corners.comparison.scores.coverage import Coverage
from corners.comparison.scores.randomised_pit import RandomisedPit
from corners.errors import DataError
from tests.support.forecasts import PoissonPredictive
from tests.support.laws.score_laws import count_forecast, true_forecast


def test_it_lies_between_the_steps_of_the_distribution_function():
    predictive, targets = count_forecast(500, 3)
    values = RandomisedPit()(predictive, targets).pointwise
    below, at = stats.poisson.cdf(targets - 1.0, predictive.rates), stats.poisson.cdf(targets, predictive.rates)
    assert ((below <= values) & (values <= at)).all()
    share = (values - below)[at > below] / (at - below)[at > below]
    np.testing.assert_allclose(share, np.random.default_rng(0).random(500)[at > below], atol=1e-6)


def test_it_is_uniform_where_the_predictive_is_the_truth_and_the_plain_transform_is_not():
    predictive, targets = true_forecast(2000, 5, "counts")
    assert stats.kstest(RandomisedPit()(predictive, targets).pointwise, "uniform").pvalue > 1e-3
    assert stats.kstest(predictive.cdf(targets), "uniform").pvalue < 1e-6


def test_the_seed_fixes_it():
    forecast = count_forecast(50, 1)
    first, again, other = (RandomisedPit(seed)(*forecast).pointwise for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).any()


def test_coverage_of_the_truth_is_its_level_though_counts_are_coarse():
    """Rates near one half: no interval of whole counts could cover 60 %."""
    generator = np.random.default_rng(4)
    rates = generator.uniform(0.3, 0.7, 5000)
    score = Coverage(0.6)(PoissonPredictive(rates), generator.poisson(rates).astype(float))
    assert abs(score.mean - 0.6) < 5.0 * score.se


@pytest.mark.parametrize("wrong", [0.5, -1.0])
def test_what_is_no_count_is_refused(wrong):
    with pytest.raises(DataError, match="row 1 holds"):
        RandomisedPit()(PoissonPredictive(np.ones(2)), np.array([0.0, wrong]))
