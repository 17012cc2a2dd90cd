import hashlib
import json
import shutil
import subprocess
import sys

import pytest

from corners.data import available, load
from corners.data.catalogue import CATALOGUE
from corners.errors import DataError, SpecError, UnknownNameError


def small_folder(path, *names):
    """A folder with one table of two rows under each name."""
    path.mkdir()
    (path / "t.csv").write_text("a,target\n1,2\n3,4\n")
    digest = hashlib.sha256((path / "t.csv").read_bytes()).hexdigest()
    entry = {"file": "t.csv", "task": "regression", "n": 2, "d": 1, "target": "target", "sha256": digest}
    files = [{"name": name, **entry} for name in names]
    (path / "MANIFEST.json").write_text(json.dumps({"format": 1, "files": files}))
    return path


def test_the_folder_of_the_environment_comes_first(tmp_path, monkeypatch):
    assert load("iris").source.startswith("scikit-learn")
    monkeypatch.setenv("CORNERS_DATA", str(small_folder(tmp_path / "mine", "iris")))
    assert load("iris").source.startswith("folder: t.csv")
    assert load("iris", source="embedded").n == 150
    assert {e.name: e.source for e in available()}["iris"] == "folder"
    assert load("sine").source.startswith("synthetic")


def test_a_folder_given_is_the_only_one_asked(tmp_path):
    folder = small_folder(tmp_path / "mine", "prices")
    assert load("prices", folder=folder).targets.tolist() == [2.0, 4.0]
    with pytest.raises(UnknownNameError, match=r"no table in '.*mine' is called 'diabetes'.* Known: prices"):
        load("diabetes", folder=folder)
    with pytest.raises(SpecError, match="contradict each other"):
        load("prices", folder=folder, source="openml")


def test_a_table_under_its_own_name_goes_before_an_alias(tmp_path):
    both = small_folder(tmp_path / "both", "wine", "wine_red")
    assert load("wine", folder=both).name == "wine"
    ours = small_folder(tmp_path / "ours", "wine_red")
    assert load("wine", folder=ours).name == "wine_red"


def test_a_folder_that_does_not_exist_is_said_at_once(monkeypatch):
    monkeypatch.setenv("CORNERS_DATA", "/no/such/folder")
    for call in (lambda: load("diabetes"), available):
        with pytest.raises(DataError, match=r"no data folder '/no/such/folder'; .* correct or unset CORNERS_DATA"):
            call()


def test_an_unknown_name_lists_the_known_ones_with_the_nearest_first():
    with pytest.raises(
        UnknownNameError, match=r"no data set is called 'diabets'. Did you mean 'diabetes'\?"
    ) as refusal:
        load("diabets")
    assert all(name in str(refusal.value) for name in ("boston", "yacht", "sine", "digits"))


@pytest.mark.parametrize("name", ["yacht", "power", "wine_white", "bike_day", "ccpp"])
def test_a_known_table_that_is_nowhere_says_what_to_do(name):
    with pytest.raises(
        DataError, match=r"known but not here, and OpenML has no table .*; set CORNERS_DATA to a folder"
    ):
        load(name)
    with pytest.raises(DataError, match=r"OpenML has no table that is known to be .*; set CORNERS_DATA"):
        load(name, source="openml")


def test_an_option_that_a_source_does_not_have_is_refused():
    with pytest.raises(SpecError, match=r"'sine' from source 'synthetic' has no option 'rows'; it has: n, seed"):
        load("sine", rows=5)
    with pytest.raises(SpecError, match="'diabetes' from source 'embedded' has no option 'n'; it has: none"):
        load("diabetes", n=5)


def test_an_unknown_source_and_a_folder_that_is_not_set():
    with pytest.raises(
        UnknownNameError, match=r"no data source is called 'kaggle'.* embedded, folder, openml, synthetic"
    ):
        load("iris", source="kaggle")
    with pytest.raises(DataError, match=r"source 'folder' is not set up; .* set CORNERS_DATA"):
        load("iris", source="folder")


def test_available_lists_what_can_be_loaded_without_asking_for_it(tmp_path):
    found = {entry.name: entry for entry in available()}
    assert list(found) == sorted(found)
    assert {"diabetes", "digits", "sine", "boston"} <= set(found)
    assert (found["boston"].source, found["boston"].note) == ("openml", "network, unless cached")
    assert all(CATALOGUE[name].openml_id for name, entry in found.items() if entry.source == "openml")
    own = available(small_folder(tmp_path / "mine", "boston"))
    assert {e.name: (e.source, e.n) for e in own}["boston"] == ("folder", 2)
    assert {e.name for e in own} == set(found)


HEAVY = ("torch", "sklearn", "pandas", "scipy", "matplotlib", "pymc")


def test_listing_is_light():
    code = (
        "import sys, time, numpy, jaxtyping\n"
        "start = time.perf_counter()\n"
        "from corners.data import available\n"
        "assert len(available()) > 20\n"
        f"print([m for m in {HEAVY} if m in sys.modules], time.perf_counter() - start)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy, _, seconds = out.rpartition(" ")
    assert heavy == "[]"
    assert float(seconds) < 1.0  # 0.02 on a free machine


@pytest.mark.needs_tables
def test_published_names_load_from_the_folder(data_folder, monkeypatch):
    monkeypatch.setenv("CORNERS_DATA", str(data_folder))
    for published, ours in (("wine", "wine_red"), ("blood", "blood_transfusion"), ("bostonHousing", "boston")):
        assert load(published).name == ours
    assert load("credit-g", categorical="one_hot").d == 61


@pytest.mark.needs_tables
def test_a_time_series_of_the_folder_is_said_to_be_one(data_folder, monkeypatch):
    monkeypatch.setenv("CORNERS_DATA", str(data_folder))
    for options in ({}, {"folder": data_folder}):
        with pytest.raises(DataError, match="'ETTh1' is of kind 'forecasting', not a table of inputs and targets"):
            load("ETTh1", **options)


@pytest.mark.needs_tables
def test_a_folder_that_was_moved_loads_the_same_table(data_folder, tmp_path):
    (tmp_path / "regression").mkdir()
    for file in ("MANIFEST.json", "regression/yacht.csv.gz"):
        shutil.copy(data_folder / file, tmp_path / file)
    assert load("yacht", folder=tmp_path).fingerprint == load("yacht", folder=data_folder).fingerprint
