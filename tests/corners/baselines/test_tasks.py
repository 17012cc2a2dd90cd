"""Which tables a baseline is for, and what is said of classes nobody has seen."""

import numpy as np
import pytest

from corners.baselines._tasks import class_count, methods_for, missing_classes, require_task
from corners.data.split import Part, Split
from corners.errors import DataError
from corners.method import METHODS
from tests.support.problems import tiny_split
from tests.support.task_splits import tiny_classes, tiny_counts


def split(labels, names) -> Split:
    part = Part(np.arange(len(labels), dtype=float)[:, None], labels)
    return Split(part, part, part, "own", task="classification", labels=names)


def test_every_method_is_for_a_task_and_every_task_has_methods():
    by_task = {task: methods_for(task) for task in ("regression", "classification", "count")}
    assert set().union(*by_task.values()) == set(METHODS.names())
    assert {"map", "ridge_cv", "nuts"} <= set(by_task["regression"])
    assert {"softmax", "softmax_ensemble", "probit_eb", "vbll_discriminative"} <= set(by_task["classification"])
    assert by_task["count"] == ["count_map", "poisson_glm"]


@pytest.mark.parametrize(
    ("name", "table", "words"),
    [
        (
            "map",
            tiny_classes(1),
            "map is for regression targets, but the task of 'classes' is classification; .*softmax",
        ),
        (
            "softmax",
            tiny_counts(1),
            "softmax is for classes, but the task of 'counts' is count; for counts: count_map, ",
        ),
        ("count_map", tiny_split(1), "count_map is for counts, but the task of 'tiny' is regression; .*map"),
    ],
)
def test_another_task_is_refused_with_the_methods_for_it(name, table, words):
    with pytest.raises(DataError, match=words):
        METHODS.get(name).example().fit([table], [5])


def test_one_class_alone_is_refused():
    with pytest.raises(DataError, match=r"'own' has one class alone \(yes\); a classifier needs at least two"):
        require_task(METHODS.get("softmax").example(), [split([0, 0], ["yes"])])


def test_splits_fitted_together_have_the_same_classes():
    splits = [tiny_classes(1), tiny_classes(2, classes=2)]
    assert class_count(splits[:1]) == 3
    with pytest.raises(DataError, match="these have 2 and 3 labels"):
        class_count(splits)
    with pytest.raises(DataError, match="these have 2 and 3 labels"):
        METHODS.get("softmax").example().fit(splits, [5, 6])


def test_missing_classes_are_named():
    assert missing_classes(split([0, 1, 1], ["a", "b"])) == ()
    assert "has class b:" in missing_classes(split([0, 2, 2], ["a", "b", "c"]))[0]
    assert "has classes a, c:" in missing_classes(split([1, 1], ["a", "b", "c"]))[0]
