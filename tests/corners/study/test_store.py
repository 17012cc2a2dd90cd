"""Cell files: whole or not at all, refused when newer, stale when something changed."""

import json
import math

import pytest

from corners.errors import DataError, OutputError
from corners.study.execute import Job
from corners.study.store import DONE, FAILED, MISSING, STALE, Store, read_cell
from tests.corners.study.studies import result_of, small_study


@pytest.fixture
def cell(tmp_path):
    return small_study(tmp_path).cells()[0]


@pytest.fixture
def store(cell):
    return Store(cell.study.runs)


def result(cell, fingerprint="one", **changes):
    return result_of(Job(cell, fingerprint, "2026-01-01", "test")) | changes


def test_states_of_a_cell(store, cell):
    assert store.state(cell, "one") == MISSING
    store.write_failure(cell, "no luck")
    assert store.state(cell, "one") == FAILED and store.failure(cell) == "no luck"
    store.write(cell, result(cell))
    assert store.state(cell, "one") == DONE and store.failure(cell) is None
    assert store.state(cell, "two") == STALE
    store.write(cell, result(cell, "two"))
    assert (store.state(cell, "two"), store.state(cell, "one")) == (DONE, STALE)


def test_a_failure_keeps_the_result_there_was(store, cell):
    store.write(cell, result(cell))
    store.write_failure(cell, "no luck")
    assert store.state(cell, "one") == DONE and store.state(cell, "two") == STALE


def test_what_a_failure_says(store, cell):
    store.write_failure(cell, "no luck", "Traceback ...")
    assert json.loads(store.failure_path(cell).read_text(encoding="utf-8")) == {
        "format": 1,
        "dataset": "linear",
        "row": "scroll_none",
        "seeds": [5, 6],
        "reason": "no luck",
        "traceback": "Traceback ...",
    }


def test_numbers_come_back(store, cell):
    values = {"nll": 0.1 + 0.2, "nll_se": None, "rmse": "inf"}
    store.write(cell, result(cell, records=[{"seed": 5, "values": values}]))
    found = read_cell(store.path(cell))["records"][0]["values"]
    assert found["nll"] == 0.1 + 0.2 and math.isnan(found["nll_se"]) and found["rmse"] == math.inf


@pytest.mark.parametrize("broken", ["os.fsync", "pathlib.Path.replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_end_while_writing_leaves_the_old_file_and_no_other(store, cell, monkeypatch, broken, error):
    store.write(cell, result(cell))
    before = store.path(cell).read_bytes()

    def end(*_):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(broken, end)
        with pytest.raises((OutputError, KeyboardInterrupt)):
            store.write(cell, result(cell, "two"))
    assert store.path(cell).read_bytes() == before
    assert [path.name for path in store.folder.iterdir()] == [store.path(cell).name]


def test_the_content_is_on_the_disk_before_it_has_the_name(store, cell, monkeypatch):
    """Otherwise a power cut leaves an empty file under the name of a finished one."""
    seen = []
    monkeypatch.setattr("os.fsync", lambda _: seen.append(store.path(cell).exists()))
    store.write(cell, result(cell))
    assert seen == [False]


def test_nan_is_never_written_as_such(store, cell):
    with pytest.raises(ValueError, match="JSON"):
        store.write(cell, result(cell, seconds=math.nan))
    assert not store.path(cell).exists()


def test_a_newer_file_is_refused_not_misread(store, cell):
    store.write(cell, result(cell, format=2))
    with pytest.raises(
        DataError, match=r"linear--scroll_none--5-6\.json has format 2, .* reads up to format 1; upgrade"
    ):
        store.state(cell, "one")
    store.path(cell).unlink()
    store.failure_path(cell).write_text('{"format": 7}', encoding="utf-8")
    with pytest.raises(DataError, match="format 7"):
        store.failure(cell)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        "{}",
        '{"format": "1"}',
        '{"format": true}',
        '{"format": 0}',
        '{"format": 1}',
        '{"format": 1, "records": [3]}',
    ],
)
def test_what_is_no_cell_file_is_named(store, cell, text):
    store.folder.mkdir(parents=True)
    store.path(cell).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"5-6\.json .*(ove it away)"):
        store.state(cell, "one")


def test_a_folder_that_cannot_be_made(cell, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot write .*make its folder writable"):
        Store(tmp_path / "file" / "runs").write(cell, result(cell))
