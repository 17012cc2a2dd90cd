"""Case 10: (N,) and (N, 1) give identical results; any other shape is refused with both shapes."""

import numpy as np
import pytest

from corners.backbones.mlp import MLP
from corners.data.dataset import Dataset
from corners.data.splitters import random_split
from corners.errors import DataError
from corners.study import compare, make_method
from tests.support.problems import TINY_PROTOCOL

GENERATOR = np.random.default_rng(10)
INPUTS = GENERATOR.normal(size=30)
TARGETS = np.sin(INPUTS) + 0.2 * GENERATOR.normal(size=30)


def scores(inputs, targets) -> list:
    methods = ["sequential", "scroll_dense", "map"]
    comparison = compare(Dataset(inputs, targets), methods, backbone=MLP(3), seeds=[5], protocol=TINY_PROTOCOL)
    return [record["mean"] for record in comparison.records()]


def test_both_shapes_give_identical_scores():
    expected = scores(INPUTS, TARGETS)
    for inputs, targets in (
        (INPUTS[:, None], TARGETS),
        (INPUTS, TARGETS[:, None]),
        (INPUTS[:, None], TARGETS[:, None]),
    ):
        assert scores(inputs, targets) == expected


@pytest.mark.parametrize("shape", [(1, 30), (30, 2), (30, 1, 1), (29,), ()])
def test_any_other_shape_is_refused_with_both_shapes(shape):
    with pytest.raises(DataError) as refusal:
        Dataset(INPUTS[:, None], np.zeros(shape))
    assert "(30, 1)" in str(refusal.value) and str(shape) in str(refusal.value)


@pytest.mark.parametrize("name", ["sequential", "map", "gaussian_process"])
def test_inputs_without_a_second_dimension_are_one_column(name):
    """A column of targets, which would broadcast to N x N, is refused: integration/test_without_type_checks.py."""
    fit = make_method(name, protocol=TINY_PROTOCOL, backbone=MLP(3)).fit(
        [random_split(Dataset(INPUTS, TARGETS), 5)], [5]
    )
    one, other = fit.predict(INPUTS[:, None]), fit.predict(INPUTS)
    np.testing.assert_array_equal(one.mean, other.mean)
    assert other.log_prob(TARGETS).shape == (30,)
