import gzip
import json
import shutil

import numpy as np
import pandas as pd
import pytest

from corners.data import predefined_split, random_split
from corners.data.sources.folder import FolderSource
from corners.errors import DataError

REGRESSION = [
    *("boston", "california", "concrete", "energy", "kin8nm", "naval"),
    *("power", "protein", "wine_red", "wine_white", "yacht"),
]
CLASSES = [
    *("australian", "banknote", "blood_transfusion", "credit_g", "heart_statlog"),
    *("ionosphere", "magic", "pima", "sonar", "spambase"),
]
COUNTS = [
    *("abalone", "bike_day", "bike_hour", "bio_chemists"),
    *("doctor_visits", "nmes1988", "quine", "recreation_demand"),
]


def listed(folder, name):
    return next(f for f in json.loads((folder / "MANIFEST.json").read_text())["files"] if f["name"] == name)


def as_published(folder, meta):
    return pd.read_csv(folder / meta["file"], keep_default_na=False)


@pytest.mark.needs_tables
@pytest.mark.parametrize("name", REGRESSION)
def test_regression_tables_are_as_their_files_have_them(data_folder, name):
    meta = listed(data_folder, name)
    data = FolderSource(data_folder).load(name)
    frame = as_published(data_folder, meta)
    np.testing.assert_array_equal(data.inputs, frame.drop(columns="target").to_numpy(dtype=float))
    np.testing.assert_array_equal(data.targets, frame["target"].to_numpy(dtype=float))
    assert (data.n, data.d, data.task) == (meta["n"], meta["d"], "regression")
    assert list(data.feature_names) == meta["features"]
    assert data.target_name == meta["original_target"]
    assert data.targets.mean() == pytest.approx(meta["target_mean"], abs=1e-6)
    assert meta["sha256"] in data.source
    split = random_split(data, 5)
    assert list(split.dropped) == meta["constant_columns"]
    assert split.n == data.n


@pytest.mark.needs_tables
@pytest.mark.parametrize("name", CLASSES + COUNTS)
def test_categories_of_the_other_tables_are_encoded_one_hot(data_folder, name):
    meta = listed(data_folder, name)
    data = FolderSource(data_folder).load(name)
    frame = as_published(data_folder, meta)
    several = [c for c in meta["categorical"] if c in meta["string_columns"] or frame[c].nunique() > 2]
    assert data.d == meta["d"] - len(several) + sum(frame[c].nunique() for c in several)
    for column in several:
        block = data.inputs[:, [k for k, f in enumerate(data.feature_names) if f.startswith(f"{column}=")]]
        np.testing.assert_array_equal(block.sum(axis=1), 1.0)
        values = [f.removeprefix(f"{column}=") for f in data.feature_names if f.startswith(f"{column}=")]
        assert [values[k] for k in block.argmax(axis=1)] == frame[column].astype(str).tolist()
    if meta["task"] == "classification":
        assert list(data.labels or ()) == meta["labels"]
        assert np.bincount(data.targets.astype(int)).tolist() == meta["class_counts"]
    if several:
        assert data.description.endswith(f"one-hot: {', '.join(several)}")


@pytest.mark.needs_tables
def test_codes_can_stay_numbers(data_folder):
    source = FolderSource(data_folder)
    assert (source.load("heart_statlog").d, source.load("heart_statlog", categorical="text").d) == (20, 13)
    with pytest.raises(DataError, match="column 'a4' holds unordered codes"):
        source.load("australian", categorical="refuse")


@pytest.mark.needs_tables
def test_sentence_pairs_come_with_their_own_split(data_folder):
    data = FolderSource(data_folder).load("sick_minilm")
    split = predefined_split(data)
    with np.load(data_folder / "embeddings" / "sick_minilm.npz", allow_pickle=False) as z:
        u, v = (z["emb"].astype(np.float32)[z[k]] for k in ("idx_a", "idx_b"))
        features, of_row = np.hstack([np.abs(u - v), u * v]), z["split"]
        for k, part in enumerate((split.train, split.validation, split.test)):
            np.testing.assert_array_equal(part.inputs, features[of_row == k])
            np.testing.assert_array_equal(part.targets, z["target"][of_row == k])
    assert (data.n, data.d) == (9840, 768)
    assert data.feature_names[383:385] == ("abs_difference383", "product0")


@pytest.fixture
def copied(data_folder, tmp_path):
    (tmp_path / "regression").mkdir()
    for file in ("MANIFEST.json", "regression/yacht.csv.gz"):
        shutil.copyfile(data_folder / file, tmp_path / file)
    return tmp_path


@pytest.mark.needs_tables
def test_a_table_with_one_changed_digit_is_refused(copied):
    file = copied / "regression" / "yacht.csv.gz"
    text = gzip.decompress(file.read_bytes()).decode()
    assert FolderSource(copied).load("yacht").n == 308
    file.write_bytes(gzip.compress(text.replace("0.568", "0.569", 1).encode()))
    with pytest.raises(
        DataError, match=r"yacht.csv.gz' is not the file of the manifest: its sha256 is .*, expected .*; copy"
    ):
        FolderSource(copied).load("yacht")


@pytest.mark.needs_tables
def test_a_listed_file_that_is_missing_is_said(copied):
    with pytest.raises(DataError, match=r"'boston' is listed, but its file .* is missing; copy it there again"):
        FolderSource(copied).load("boston")


def test_folders_that_are_none(tmp_path):
    with pytest.raises(DataError, match=r"no data folder '.*gone'; give an existing one"):
        FolderSource(tmp_path / "gone").entries()
    with pytest.raises(DataError, match=r"has no MANIFEST.json"):
        FolderSource(tmp_path).entries()
    manifest = tmp_path / "MANIFEST.json"
    for content in ("not json", "[]", "{}", '{"format": 1, "files": [{"name": "a"}]}'):
        manifest.write_text(content)
        with pytest.raises(DataError, match="is no manifest of tables"):
            FolderSource(tmp_path).entries()
    manifest.write_text('{"format": 2, "files": []}')
    with pytest.raises(DataError, match="has format 2; only format 1 is known"):
        FolderSource(tmp_path).entries()


def test_the_default_is_the_folder_of_the_environment(monkeypatch, tmp_path):
    assert FolderSource.default() is None
    monkeypatch.setenv("CORNERS_DATA", str(tmp_path))
    assert FolderSource.default() == FolderSource(tmp_path)
