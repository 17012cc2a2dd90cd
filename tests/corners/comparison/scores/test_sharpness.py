"""Mean predictive standard deviation."""

import numpy as np
import pytest

from corners.comparison.scores.sharpness import Sharpness
from corners.errors import DataError
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.mixture import MixturePredictive


def test_the_targets_do_not_matter_but_their_number_does():
    predictive = GaussianPredictive(np.zeros(3), np.array([1.0, 4.0, 9.0]))
    assert Sharpness()(predictive, np.zeros(3)).mean == Sharpness()(predictive, np.arange(3.0)).mean == 2.0
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        Sharpness()(predictive, np.zeros(2))


def test_a_mixture_counts_the_spread_of_its_components():
    mixture = MixturePredictive(np.array([[-4.0], [4.0]]), np.full((2, 1), 9.0))
    assert Sharpness()(mixture, np.zeros(1)).mean == 5.0
