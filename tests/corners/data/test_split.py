import inspect
import pickle

import numpy as np
import pytest

from corners.data import Part, Split
from corners.data.split import _refuse_parts
from corners.errors import DataError


def part(rows, columns=2, start=0):
    return Part(np.arange(rows * columns).reshape(rows, columns) + start, np.arange(rows) + start)


def split(**changes):
    return Split(part(4), part(2, start=10), part(3, start=20), name="tiny", **changes)


def test_a_part_takes_both_shapes_and_is_a_read_only_copy():
    x, y = np.arange(3.0), np.arange(3.0)
    for one in (Part(x, y), Part(x[:, None], y[:, None])):
        assert (one.inputs.shape, one.targets.shape, one.n, one.d) == ((3, 1), (3,), 3, 1)
        assert not one.inputs.flags.writeable
        assert not one.targets.flags.writeable
    with pytest.raises(DataError, match=r"\(3,\) and targets have shape \(3, 2\)"):
        Part(x, np.zeros((3, 2)))
    with pytest.raises(DataError, match="column 'x0', row 1"):
        Part([0.0, np.nan], [0.0, 1.0])


def test_a_split_says_what_it_is():
    one = split(seed=5, kind="random", feature_names=["a", "b"], dropped=["c"])
    assert (one.n, one.d, one.feature_names, one.seed) == (9, 2, ("a", "b"), 5)
    assert repr(one) == "Split('tiny', random (seed 5), 4 train + 2 validation + 3 test rows, d=2, dropped c)"
    assert split().feature_names == ("x0", "x1")


@pytest.mark.parametrize("empty", ["train", "validation", "test"])
def test_a_part_without_rows_is_refused_by_name(empty):
    parts = {"train": part(3), "validation": part(2), "test": part(1)} | {empty: part(0)}
    with pytest.raises(DataError, match=f"the {empty} part of 'tiny' has no rows; every part needs at least one"):
        Split(**parts, name="tiny")


def test_parts_of_different_width_are_refused_with_all_widths():
    with pytest.raises(DataError, match=r"different numbers of columns \(train 2, validation 2, test 3\)"):
        Split(part(3), part(2), part(1, columns=3))


def test_something_else_than_a_part_is_refused():
    with pytest.raises(DataError, match=r"the test part is a tuple; give Part\(inputs, targets\)"):
        inspect.unwrap(_refuse_parts)({"train": part(2), "validation": part(1), "test": ([1], [2])}, "tiny")


def test_labels_are_those_of_all_parts_although_one_may_lack_the_last_class():
    parts = (Part([0.0, 1.0, 2.0], [0, 1, 2]), Part([3.0], [0]), Part([4.0], [1]))
    assert Split(*parts, task="classification").labels == ("0", "1", "2")
    assert Split(*parts, task="classification", labels=["u", "v", "w"]).labels == ("u", "v", "w")
    with pytest.raises(DataError, match="class codes"):
        Split(parts[0], parts[1], Part([4.0], [0.5]), task="classification")


def test_fingerprint_is_that_of_the_content_and_survives_pickling():
    one = split(seed=1)
    assert split(seed=2, kind="other").fingerprint == one.fingerprint
    assert pickle.loads(pickle.dumps(one)).fingerprint == one.fingerprint
    swapped = Split(one.train, one.test, one.validation)
    assert swapped.fingerprint != one.fingerprint
    assert split(feature_names=["a", "b"]).fingerprint != one.fingerprint
