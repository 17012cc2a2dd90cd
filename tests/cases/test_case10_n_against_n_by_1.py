"""Case 10: (N,) and (N, 1) give identical results; any other shape is refused with both shapes; nothing becomes N x N."""

import numpy as np
import pytest

from corners.backbones.mlp import MLP
from corners.data.dataset import Dataset
from corners.errors import DataError
from corners.study import compare, make_method
from tests.support.problems import TINY_PROTOCOL

GENERATOR = np.random.default_rng(10)
INPUTS = GENERATOR.normal(size=30)
TARGETS = np.sin(INPUTS) + 0.2 * GENERATOR.normal(size=30)


def scores(inputs, targets) -> list:
    methods = ["sequential", "scroll_dense", "mean_closed_dense", "map", "gaussian_process"]
    comparison = compare(Dataset(inputs, targets), methods, backbone=MLP(3), seeds=[5], protocol=TINY_PROTOCOL)
    return [record["mean"] for record in comparison.records()]


def test_both_shapes_give_identical_scores():
    expected = scores(INPUTS, TARGETS)
    for inputs, targets in ((INPUTS[:, None], TARGETS), (INPUTS, TARGETS[:, None]), (INPUTS[:, None], TARGETS[:, None])):
        assert scores(inputs, targets) == expected


@pytest.mark.parametrize("shape", [(1, 30), (30, 2), (30, 1, 1), (29,), ()])
def test_any_other_shape_is_refused_with_both_shapes(shape):
    with pytest.raises(DataError) as refusal:
        Dataset(INPUTS[:, None], np.zeros(shape))
    assert "(30, 1)" in str(refusal.value) and str(shape) in str(refusal.value)


@pytest.mark.parametrize("name", ["sequential", "map", "gaussian_process"])
def test_a_predictive_refuses_a_column_of_targets(name):
    """Where broadcasting would give N x N."""
    data = Dataset(INPUTS, TARGETS)
    fit = make_method(name, protocol=TINY_PROTOCOL, backbone=MLP(3)).fit([_split(data)], [5])
    predictive = fit.predict(INPUTS)  # (N,) inputs are one column
    assert predictive.mean.shape == (30,)
    for score in (predictive.log_prob, predictive.cdf, predictive.crps):
        with pytest.raises(DataError, match=r"\(30,\).*got \(30, 1\)"):
            score(TARGETS[:, None])


def _split(data: Dataset):
    from corners.data.splitters import random_split

    return random_split(data, 5)
