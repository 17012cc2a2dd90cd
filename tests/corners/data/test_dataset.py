import copy
import hashlib
import json
import pickle

import numpy as np
import pandas as pd
import pytest

from corners.data import Dataset
from corners.errors import DataError, SpecError


def table(**changes):
    return Dataset([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], [0.5, 1.5, 2.5], **changes)


def test_one_column_given_flat_and_targets_given_as_column_are_the_same_table():
    x, y = np.linspace(-1.0, 1.0, 7), np.arange(7.0)
    variants = [Dataset(a, b) for a in (x, x[:, None]) for b in (y, y[:, None])]
    assert {v.inputs.shape for v in variants} == {(7, 1)}
    assert {v.targets.shape for v in variants} == {(7,)}
    assert len({v.fingerprint for v in variants}) == 1


@pytest.mark.parametrize(
    ("inputs", "targets", "shapes"),
    [
        (np.zeros((4, 3)), np.zeros((4, 2)), ("(4, 3)", "(4, 2)", "(4,) or (4, 1)")),
        (np.zeros((4, 3)), np.zeros((1, 4)), ("(4, 3)", "(1, 4)")),
        (np.zeros((4, 3)), 1.0, ("(4, 3)", "()")),
        (np.zeros((2, 2, 2)), np.zeros(2), ("(2, 2, 2)", "(2,)", "(N, D)")),
        (np.zeros((4, 0)), np.zeros(4), ("(4, 0)", "(4,)", "at least one column")),
        (3.0, [1.0], ("()", "(1,)")),
    ],
)
def test_other_shapes_are_refused_with_both_shapes(inputs, targets, shapes):
    with pytest.raises(DataError) as refusal:
        Dataset(inputs, targets)
    assert all(shape in str(refusal.value) for shape in shapes)


def test_unequal_lengths_are_refused_with_both():
    with pytest.raises(DataError, match=r"5 rows of inputs but 4 targets"):
        Dataset(np.zeros((5, 2)), np.zeros(4))


def test_rows_of_unequal_length_are_refused():
    with pytest.raises(DataError, match="rows of unequal length"):
        Dataset([[1.0, 2.0], [3.0]], [1.0, 2.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused_with_column_row_and_count(bad):
    x = np.zeros((6, 3))
    x[4, 1] = x[5, 2] = bad
    with pytest.raises(DataError, match=r"inputs .* 2 time\(s\), first .* column 'b', row 4 "):
        Dataset(x, np.zeros(6), feature_names=["a", "b", "c"])
    with pytest.raises(DataError, match=r"targets .* 1 time\(s\), first .* column 'price', row 2 "):
        Dataset(np.zeros((3, 1)), [0.0, 0.0, bad], target_name="price")


@pytest.mark.parametrize("entry", ["7", None, 1j, object(), [1]])
def test_text_and_objects_are_refused_with_the_column_and_the_row(entry):
    rows = np.empty((3, 2), dtype=object)
    rows[...] = 1.0
    rows[2, 1] = entry
    with pytest.raises(DataError, match=r"column 'b' holds .* in row 2"):
        Dataset(rows, [1.0, 2.0, 3.0], feature_names=["a", "b"])


def test_text_among_numbers_in_a_list_is_found_although_numpy_makes_all_of_it_text():
    with pytest.raises(DataError, match=r"column 'x1' holds 'red' \(str\) in row 1"):
        Dataset([[1, 2], [3, "red"]], [1.0, 2.0])


def test_dates_and_complex_numbers_are_refused_though_they_could_be_cast():
    for values in (np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), np.array([1, 2], dtype="m8[ns]"), [1j, 2j]):
        with pytest.raises(DataError, match=r"column 'x0' holds .* only real numbers"):
            Dataset(values, [1.0, 2.0])


def test_a_masked_entry_is_a_missing_one():
    with pytest.raises(DataError, match=r"column 'x0', row 1"):
        Dataset(np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False]), [1.0, 2.0, 3.0])


def test_no_rows_are_refused_and_one_row_is_allowed():
    with pytest.raises(DataError, match="'empty' has no rows; at least one is needed"):
        Dataset(np.zeros((0, 2)), np.zeros(0), name="empty")
    assert Dataset([[1.0, 2.0]], [3.0]).n == 1


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.float32, np.float16, object])
def test_other_numbers_are_promoted_to_read_only_float64_copies(dtype):
    x, y = np.array([[0, 1], [1, 1]]).astype(dtype), np.array([1, 0]).astype(dtype)
    data = Dataset(x, y)
    for array, given in ((data.inputs, x), (data.targets, y)):
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, given.astype(float))
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    x[0, 0] = y[0] = 1
    assert data.inputs[0, 0] == 0


def test_float64_arrays_are_copied():
    x, y = np.zeros((2, 1)), np.zeros(2)
    data = Dataset(x, y)
    x[0], y[0] = 9.0, 9.0
    assert data.inputs[0, 0] == data.targets[0] == 0.0
    assert x.flags.writeable


def test_pickled_and_copied_tables_stay_read_only_and_the_same():
    data = table()
    for again in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        assert again.fingerprint == data.fingerprint
        assert not again.inputs.flags.writeable
        assert not again.targets.flags.writeable


def test_fields_cannot_be_set():
    with pytest.raises(AttributeError):
        table().name = "other"  # type: ignore[misc]


def test_fingerprint_is_the_sha256_of_header_and_little_endian_numbers():
    header = json.dumps([3, 2, ["x0", "x1"], "target", "regression", None, None]).encode()
    numbers = np.array([1, 2, 3, 4, 5, 7, 0.5, 1.5, 2.5], dtype="<f8").tobytes()
    assert table().fingerprint == hashlib.sha256(header + numbers).hexdigest()


def test_fingerprint_sees_content_and_not_the_name():
    one = table()
    assert table(name="b", description="c", source="d").fingerprint == one.fingerprint
    others = [table(feature_names=["a", "b"]), table(target_name="t"), table(folds=["train", "validation", "test"])]
    others.append(Dataset(one.inputs, np.add(one.targets, [0, 0, 1e-15])))
    assert all(other.fingerprint != one.fingerprint for other in others)


def test_names_come_from_a_data_frame_and_a_series():
    frame = pd.DataFrame({"age": [1, 2], "size": [0.5, 1.5]})
    data = Dataset(frame, pd.Series([1, 2], name="price"))
    assert (data.feature_names, data.target_name) == (("age", "size"), "price")
    assert repr(data) == "Dataset('data', regression, n=2, d=2, target='price')"


def test_a_data_frame_with_text_or_categories_is_refused_by_the_constructor():
    with pytest.raises(DataError, match="column 'c' holds 'u'"):
        Dataset(pd.DataFrame({"a": [1, 2], "c": ["u", "v"]}), [1, 2])
    with pytest.raises(DataError, match=r"column 'c' is categorical; Dataset.from_dataframe"):
        Dataset(pd.DataFrame({"a": [1, 2], "c": pd.Categorical([1, 2])}), [1, 2])


def test_names_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="1 feature names were given for 2 columns: a"):
        table(feature_names=["a"])
    with pytest.raises(DataError, match="'a' occurs more than once"):
        table(feature_names=["a", "a"])


def test_tasks_and_their_targets():
    x = np.zeros((3, 1))
    with pytest.raises(SpecError, match="task is 'sorting'; it must be one of regression, classification, count"):
        Dataset(x, [0, 1, 2], task="sorting")
    with pytest.raises(DataError, match=r"class codes 0, 1, \.\.\., but row 1 .* 0.5"):
        Dataset(x, [0, 0.5, 1], task="classification")
    with pytest.raises(DataError, match=r"counts 0, 1, 2, \.\.\., but row 2 .* -1"):
        Dataset(x, [0, 1, -1], task="count")
    with pytest.raises(DataError, match=r"2 labels were given \(a, b\), but targets go up to class 2"):
        Dataset(x, [0, 1, 2], task="classification", labels=["a", "b"])
    with pytest.raises(SpecError, match="a regression task has none"):
        Dataset(x, [0, 1, 2], labels=["a", "b", "c"])
    assert Dataset(x, [0, 1, 2], task="classification").labels == ("0", "1", "2")
    assert Dataset(x, [0, 1, 2], task="count").labels is None


def test_own_split_labels_are_checked():
    assert table(folds=["train", "test", "train"]).folds == ("train", "test", "train")
    with pytest.raises(DataError, match=r"'dev' in row 1 .* train, validation, test"):
        table(folds=["train", "dev", "test"])
    with pytest.raises(DataError, match="2 fold labels were given for 3 rows"):
        table(folds=["train", "test"])
