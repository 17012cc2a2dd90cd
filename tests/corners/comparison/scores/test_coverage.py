"""Coverage of the central interval."""

import numpy as np
import pytest

from corners.comparison.scores._central import LEVELS
from corners.comparison.scores.coverage import Coverage
from corners.errors import SpecError
from corners.predictive.mixture import MixturePredictive
from tests.support.golden import assert_golden


def test_golden_coverage_at_every_level(case, forecast):
    assert_golden("metrics", LEVELS, case["expected"]["levels"])
    coverage = [Coverage(float(level))(*forecast).mean for level in LEVELS]
    assert_golden("metrics", coverage, case["expected"]["coverage"])


def test_central_intervals_of_a_skewed_mixture_cut_equal_tails():
    mixture = MixturePredictive(np.array([[0.0], [4.0], [4.5]]), np.array([[1.0], [0.2], [0.2]]))
    low, high = mixture.quantile(0.2)[0], mixture.quantile(0.8)[0]
    for target, expected in ((low - 1e-6, 0), (low + 1e-6, 1), (high - 1e-6, 1), (high + 1e-6, 0)):
        assert Coverage(0.6)(mixture, np.array([target])).mean == expected


@pytest.mark.parametrize("level", [0.0, 1.0, 90.0])
def test_a_level_outside_the_open_interval_is_refused(level):
    with pytest.raises(SpecError, match="strictly between 0 and 1"):
        Coverage(level)
