"""Case 8: double in gives double out; single precision in training is a choice, and results are double either way."""

import numpy as np
import pytest

from corners.backbones.mlp import MLP
from corners.data.split import Part, Split
from corners.method import Method
from corners.predictive.categorical import CategoricalPredictive
from corners.protocols import Protocol
from corners.study import make_method, method_names
from tests.support.problems import tiny_split
from tests.support.task_splits import tiny_classes, tiny_counts

SINGLE = Protocol("single", learning_rate=0.03, max_steps=8, patience=5, dtype="float32")
NAMES = [name for name in method_names() if make_method(name).host is None]


def single(split: Split) -> Split:
    parts = [
        Part(p.inputs.astype(np.float32), p.targets.astype(np.float32))
        for p in (split.train, split.validation, split.test)
    ]
    return Split(*parts, split.name, task=split.task, labels=split.labels)


def table_for(method: Method) -> Split:
    tables = {"regression": tiny_split, "classification": tiny_classes, "count": tiny_counts}
    return single(tables[method.tasks[0]](1))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_results_are_double(name, dtype):
    protocol = Protocol("tiny", learning_rate=0.03, max_steps=8, patience=5, dtype=dtype)
    method = make_method(name, protocol=protocol, backbone=MLP(3))
    split = table_for(method)
    fit = method.fit([split], [5])
    predictive = fit.predict(split.test.inputs)
    if isinstance(predictive, CategoricalPredictive):
        assert predictive.probabilities.dtype == predictive.entropy.dtype == np.float64
    else:
        assert predictive.mean.dtype == predictive.variance.dtype == np.float64
    assert predictive.log_prob(split.test.targets).dtype == np.float64
    assert all(isinstance(value, float) for value in fit.learned(0).values())


@pytest.mark.parametrize("name", ["sequential", "scroll_dense", "map"])
def test_single_precision_is_the_same_run_up_to_rounding(name):
    split = tiny_split(1)
    double = Protocol("double", learning_rate=0.03, max_steps=8, patience=5)
    one, other = (
        make_method(name, protocol=p, backbone=MLP(3)).fit([split], [5]).predict(split.test.inputs)
        for p in (SINGLE, double)
    )
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-2)
    assert not np.array_equal(one.mean, other.mean)


def test_the_choice_is_documented():
    assert 'dtype : "float64" or "float32"' in (Protocol.__doc__ or "")
