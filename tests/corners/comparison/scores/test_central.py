"""Which targets lie in a central interval: the Gaussian form, and the form for any predictive."""

import numpy as np
from scipy import special

from corners.comparison.scores._central import LEVELS, inside_central
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.mixture import MixturePredictive
from tests.support.golden import assert_golden
from tests.support.laws.score_laws import gaussian_forecast


def test_golden_levels(case):
    assert_golden("metrics", LEVELS, case["expected"]["levels"])


def test_a_mixture_of_one_component_is_inside_where_the_gaussian_is():
    gaussian, targets = gaussian_forecast(500, 3)
    mixture = MixturePredictive(gaussian.mean[None], gaussian.variance[None])
    np.testing.assert_array_equal(inside_central(mixture, targets, LEVELS), inside_central(gaussian, targets, LEVELS))


def test_a_target_on_the_end_of_the_interval_is_inside():
    ends = special.ndtri(0.5 * (1.0 + LEVELS))
    unit = GaussianPredictive(np.zeros(19), np.ones(19))
    for targets in (ends, -ends):
        assert inside_central(unit, targets, LEVELS).diagonal().all()
        assert not inside_central(unit, np.nextafter(targets, 10 * targets), LEVELS).diagonal().any()
