import gzip

import numpy as np
import pandas as pd
import pytest

from corners.data import Dataset, predefined_split
from corners.errors import DataError, SpecError

FRAME = pd.DataFrame(
    {
        "size": [1, 2, 3, 4],
        "town": ["b", "a", "b", "c"],
        "new": [True, False, True, True],
        "grade": pd.Categorical(["low", "high", "low", "low"], categories=["low", "mid", "high"]),
        "zone": [7, 3, 5, 7],
        "flag": [1, 2, 2, 1],
        "price": [1.5, 2.5, 3.5, 4.5],
    }
)
TOWNS = {"town=a": [0, 1, 0, 0], "town=b": [1, 0, 1, 0], "town=c": [0, 0, 0, 1]}
GRADES = {"grade=low": [1, 0, 1, 1], "grade=mid": [0, 0, 0, 0], "grade=high": [0, 1, 0, 0]}
ZONES = {"zone=3": [0, 1, 0, 0], "zone=5": [0, 0, 1, 0], "zone=7": [1, 0, 0, 1]}


def columns(data):
    return {name: data.inputs[:, k].tolist() for k, name in enumerate(data.feature_names)}


def test_text_and_categories_become_one_column_a_category_and_the_rest_stays():
    data = Dataset.from_dataframe(FRAME, target="price", codes=["zone", "flag"])
    numeric = {"size": [1, 2, 3, 4], "new": [1, 0, 1, 1], "flag": [1, 2, 2, 1]}
    assert columns(data) == numeric | TOWNS | GRADES | ZONES
    assert data.description == "one-hot: town, grade, zone"
    assert data.targets.tolist() == [1.5, 2.5, 3.5, 4.5]


def test_codes_stay_numbers_where_only_text_is_encoded_or_none_are_named():
    for options in ({"codes": ["zone"], "categorical": "text"}, {}):
        assert columns(Dataset.from_dataframe(FRAME, target="price", **options))["zone"] == [7, 3, 5, 7]


def test_encoding_can_be_refused():
    with pytest.raises(DataError, match=r"column 'town' holds text or categories \(first 'b'\)"):
        Dataset.from_dataframe(FRAME, target="price", categorical="refuse")
    with pytest.raises(DataError, match="column 'zone' holds unordered codes"):
        Dataset.from_dataframe(FRAME[["zone", "price"]], target="price", categorical="refuse", codes=["zone"])
    with pytest.raises(SpecError, match="categorical is 'drop'; it must be one of one_hot, text, refuse"):
        Dataset.from_dataframe(FRAME, target="price", categorical="drop")


def test_an_unknown_column_lists_those_there():
    with pytest.raises(DataError, match=r"no column 'cost'; the columns are: size, town, .*, price"):
        Dataset.from_dataframe(FRAME, target="cost")
    with pytest.raises(DataError, match="no column 'area'"):
        Dataset.from_dataframe(FRAME, target="price", codes=["area"])


def test_a_column_twice_and_a_table_without_inputs_or_rows_are_refused():
    with pytest.raises(DataError, match="'size' occurs more than once"):
        Dataset.from_dataframe(FRAME[["size", "size", "price"]], target="price")
    with pytest.raises(DataError, match="no column beside 'price'"):
        Dataset.from_dataframe(FRAME[["price"]], target="price")
    with pytest.raises(DataError, match="has no rows"):
        Dataset.from_dataframe(FRAME.iloc[:0], target="price")


@pytest.mark.parametrize("column", ["size", "town", "grade", "price"])
def test_missing_values_are_named_by_column_and_row(column):
    frame = FRAME.copy()
    frame[column] = frame[column].where(np.arange(4) != 2)
    with pytest.raises(DataError, match=rf"1 value\(s\) are missing, the first in column '{column}', row 2 "):
        Dataset.from_dataframe(frame, target="price")


def test_infinity_in_a_frame_is_named_by_column_and_row():
    with pytest.raises(DataError, match=r"first inf in column 'size', row 3 "):
        Dataset.from_dataframe(FRAME.assign(size=[1.0, 2.0, 3.0, np.inf]), target="price")


def test_numbers_with_a_stray_word_are_a_mistake_and_not_categories():
    for stray in (["1", "2", "?", "4"], [1, 2, "?", 4], ["1", "2", "nan", "4"]):
        with pytest.raises(DataError, match=r"column 'size' mixes numbers with '(\?|nan)' in row 2"):
            Dataset.from_dataframe(FRAME.assign(size=pd.Series(stray, dtype=object)), target="price")


def test_dates_are_refused():
    with pytest.raises(DataError, match="column 'day' holds dates"):
        Dataset.from_dataframe(FRAME.assign(day=pd.date_range("2020", periods=4)), target="price")


def test_an_identifier_is_refused():
    frame = pd.DataFrame({"id": [f"p{k}" for k in range(101)], "y": range(101)})
    with pytest.raises(DataError, match="'id' has 101 different values, more than 100; if it is an identifier drop it"):
        Dataset.from_dataframe(frame, target="y")
    assert Dataset.from_dataframe(frame.iloc[:100], target="y").d == 100


def test_a_target_of_text_is_refused_for_regression_and_encoded_for_classification():
    with pytest.raises(DataError, match=r"target 'town' is not numeric: row 0 .* holds 'b'; .* task='classification'"):
        Dataset.from_dataframe(FRAME, target="town")
    data = Dataset.from_dataframe(FRAME, target="town", task="classification")
    assert (data.targets.tolist(), data.labels) == ([1, 0, 1, 2], ("a", "b", "c"))
    data = Dataset.from_dataframe(FRAME, target="flag", task="classification")
    assert (data.targets.tolist(), data.labels) == ([0, 1, 1, 0], ("1", "2"))


def test_a_target_with_too_many_classes_is_refused():
    frame = pd.DataFrame({"a": range(101), "y": np.linspace(0, 1, 101)})
    with pytest.raises(DataError, match="target 'y' has 101 different values; is the task a regression"):
        Dataset.from_dataframe(frame, target="y", task="classification")


def test_a_fold_column_becomes_the_own_split():
    frame = FRAME.assign(part=["train", "train", "validation", "test"])
    data = Dataset.from_dataframe(frame, target="price", fold="part")
    assert not any("part" in name for name in data.feature_names)
    split = predefined_split(data)
    assert [part.targets.tolist() for part in (split.train, split.validation, split.test)] == [[1.5, 2.5], [3.5], [4.5]]


def test_the_frame_given_is_left_as_it_was():
    before = FRAME.copy(deep=True)
    Dataset.from_dataframe(FRAME, target="price", codes=["zone"])
    pd.testing.assert_frame_equal(FRAME, before)


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_csv_file_is_read_to_the_last_bit(tmp_path, ending):
    values = np.random.default_rng(0).standard_normal((50, 2))
    text = "a,none,y\n" + "".join(f"{a!r},none,{b!r}\n" for a, b in values.tolist())
    path = tmp_path / f"mine.{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    data = Dataset.from_csv(path, target="y")
    assert (data.name, data.source, data.feature_names) == ("mine", f"file mine.{ending}", ("a", "none=none"))
    np.testing.assert_array_equal(np.column_stack([data.inputs[:, 0], data.targets]), values)


def csv(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_csv_refusals(tmp_path):
    with pytest.raises(DataError, match=r"there is no file '.*gone.csv'; check the path"):
        Dataset.from_csv(tmp_path / "gone.csv", target="y")
    with pytest.raises(DataError, match="no column 'z'; the columns are: a, y"):
        Dataset.from_csv(csv(tmp_path, "a,y\n1,2\n"), target="z")
    with pytest.raises(DataError, match=r"1 value.s. are missing, the first in column 'a', row 1 "):
        Dataset.from_csv(csv(tmp_path, "a,y\n1,2\n,3\n"), target="y")
    with pytest.raises(DataError, match="column 'a' mixes numbers with 'NA' in row 2 "):
        Dataset.from_csv(csv(tmp_path, "a,y\n1,2\n2,3\nNA,4\n"), target="y")
    with pytest.raises(DataError, match=r"target 'y' is not numeric: row 1 .* holds 'many'"):
        Dataset.from_csv(csv(tmp_path, "a,y\n1,2\n2,many\n"), target="y")


def test_csv_that_is_none(tmp_path):
    for content in ("", b"a,y\n\xff\xfe,1\n", "a,y\n1,2\n1,2,3,4\n", "a,y\n1,2,3\n4,5,6\n"):
        with pytest.raises(DataError, match=r"'t.csv' cannot be read as UTF-8 CSV with separator ','"):
            Dataset.from_csv(csv(tmp_path, content), target="y")
    broken = tmp_path / "t.csv.gz"
    broken.write_bytes(gzip.compress(b"a,y\n1,2\n" * 999)[:40])
    with pytest.raises(DataError, match=r"'t.csv.gz' cannot be read"):
        Dataset.from_csv(broken, target="y")


def test_another_separator_is_recognised_and_can_be_given(tmp_path):
    path = csv(tmp_path, "a;y\n1;2\n3;5\n")
    with pytest.raises(DataError, match=r"one column only; .* give separator=';'"):
        Dataset.from_csv(path, target="y")
    assert Dataset.from_csv(path, target="y", separator=";", name="semi").name == "semi"
