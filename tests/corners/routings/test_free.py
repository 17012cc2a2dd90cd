"""Free routing: the mean starts as stated and nothing follows the data."""

import pytest
import torch

from corners.beliefs import Prior
from corners.covariances.none import NoCovariance
from corners.errors import SpecError
from corners.routings.free import MEAN, Free
from tests.support.problems import generators, normal, real
from tests.support.statistics import assert_within_se


def test_the_mean_starts_at_its_stated_spread():
    """``μ ~ N(0, 0.01/H)`` (theory 5.8): mean and variance over many draws, in standard errors."""
    params = Free().init(Prior(), NoCovariance(), 50, real(*(1.0,) * 40), generators(*range(40)))
    draws = params[MEAN].numpy().ravel()
    assert_within_se(draws, 0.0)
    assert_within_se(draws**2, 0.01 / 50)


def test_features_and_targets_play_no_part():
    params = Free().init(Prior(), NoCovariance(), 3, real(0.4), generators(1))
    one = Free().bind(params, NoCovariance(), normal(1, 1, 5, 3), normal(2, 1, 5), real(0.4), 0.0)
    other = Free().bind(params, NoCovariance(), normal(3, 1, 5, 3), normal(4, 1, 5), real(9.0), 0.0)
    assert torch.equal(one.belief.mean, other.belief.mean) and one.sites is None


@pytest.mark.parametrize("start", [-1.0, float("inf"), float("nan")])
def test_a_start_that_is_no_variance_is_refused(start):
    with pytest.raises(SpecError, match="initial_mean_var"):
        Free(initial_mean_var=start)
