"""Collecting: what a run left behind replaces what is committed, and nothing else changes."""

import csv
import gzip
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corners.errors import DataError
from corners.study.campaign import run_study
from corners.study.collecting import collect
from corners.study.committed import number_text, read_committed, write_scores, write_whole
from corners.study.outstanding import plan_study
from corners.study.results import FAILURES, PROVENANCE, SCORES
from corners.study.spec import read_study
from corners.study.store import Store, read_cell
from tests.corners.study.studies import result_of
from tests.corners.study.synthetic import make_study, run_all, write_cell


@pytest.fixture
def study(tmp_path):
    made = make_study(tmp_path)
    run_all(made)
    return made


def lines_of(study):
    with gzip.open(study.folder / SCORES, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def cell_called(study, name):
    return next(cell for cell in study.cells() if cell.name == name)


def test_every_record_is_a_line_in_the_order_of_the_study(study):
    collect(study)
    expected = [
        (cell.dataset, cell.row, str(record["seed"]), record)
        for cell in study.cells()
        if cell.row != "leave_one_out"
        for record in read_cell(study.runs / f"{cell.name}.json")["records"]
    ]
    lines = lines_of(study)
    assert [(line["dataset"], line["row"], line["seed"]) for line in lines] == [each[:3] for each in expected]
    names = sorted({name for *_, record in expected for name in record["values"]})
    assert list(lines[0])[7:] == names
    for line, (*_, record) in zip(lines, expected, strict=True):
        assert (line["code"], line["status"]) == (record["code"], record["status"])
        for name in names:
            value = record["values"].get(name, math.nan)
            assert line[name] == "" if math.isnan(value) else float(line[name]) == pytest.approx(value, rel=5e-9)


def test_equal_results_give_equal_bytes_wherever_they_are_collected(study, tmp_path):
    collect(study)
    names = (SCORES, FAILURES, PROVENANCE)
    before = {name: (study.folder / name).read_bytes() for name in names}
    collect(study)
    other = make_study(tmp_path / "elsewhere")
    run_all(other)
    collect(other)
    assert before == {name: (study.folder / name).read_bytes() for name in names}
    assert before == {name: (other.folder / name).read_bytes() for name in names}


def test_a_clone_without_result_files_keeps_what_is_committed(study):
    collect(study)
    before = (study.folder / SCORES).read_bytes(), (study.folder / PROVENANCE).read_bytes()
    for path in study.runs.iterdir():
        path.unlink()
    done = collect(study)
    assert (done.cells, done.run, done.dropped) == (0, 0, 0)
    assert before == ((study.folder / SCORES).read_bytes(), (study.folder / PROVENANCE).read_bytes())


def test_a_cell_run_again_replaces_its_lines_alone(study):
    collect(study)
    old = read_committed(study.folder).lines
    for path in study.runs.iterdir():
        path.unlink()
    write_cell(cell_called(study, "sine--map--5-8"), np.random.default_rng(99))
    collect(study)
    new = read_committed(study.folder).lines
    changed = {key for key in old if old[key] != new[key]}
    assert changed == {("sine", "map", seed) for seed in range(5, 9)} and old.keys() == new.keys()
    cells = json.loads((study.folder / PROVENANCE).read_text(encoding="utf-8"))["cells"]
    assert "sine--map--9-10" in cells and "sine--map--5-8" in cells


def test_lines_that_the_study_no_longer_plans_are_dropped(study):
    collect(study)
    path = study.folder / "study.toml"
    text = (
        path.read_text(encoding="utf-8")
        .replace("seeds = 6", "seeds = 5")
        .replace('"scroll_none", "scroll_dense", ', "")
    )
    path.write_text(text, encoding="utf-8")
    done = collect(read_study(study.folder))
    left = {(line["dataset"], line["row"], line["seed"]) for line in lines_of(study)}
    assert not {key for key in left if key[2] == "10" or (key[0] == "sine" and key[1] != "map")}
    assert done.dropped == 69 - done.lines > 0 and "no longer in the study" in str(done)


def test_result_files_of_other_choices_are_left_out_and_counted(study):
    collect(study)
    path = study.folder / "study.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("jitter = 1e-3", "jitter = 1e-2"), encoding="utf-8")
    done = collect(read_study(study.folder))
    assert done.stale == 23 and done.run == 0 and done.outdated == done.lines == 69
    assert "run the study again" in str(done)
    outdated = json.loads((study.folder / PROVENANCE).read_text(encoding="utf-8"))["outdated"]
    assert sum(sum(rows.values()) for rows in outdated.values()) == 69


def test_a_failure_is_listed_once_and_leaves_what_was_committed(study):
    cell = cell_called(study, "linear--map--5-8")
    collect(study)
    for path in study.runs.iterdir():
        path.unlink()
    for each in (cell, cell_called(study, "linear--map--9-10")):
        Store(study.runs).write_failure(each, "a peer is\nbroken")
    before = lines_of(study)
    collect(study)
    text = (study.folder / FAILURES).read_text(encoding="utf-8")
    assert lines_of(study) == before and text.count("a peer is broken") == 1
    assert "leave_one_out" in text  # committed before, and nothing of it was run here
    write_cell(cell, np.random.default_rng(0))
    Store(study.runs).failure_path(cell_called(study, "linear--map--9-10")).unlink()
    collect(study)
    assert "broken" not in (study.folder / FAILURES).read_text(encoding="utf-8")


def test_provenance_adds_the_seconds_of_a_row_and_keeps_dates_and_commits(study):
    collect(study)
    facts = json.loads((study.folder / PROVENANCE).read_text(encoding="utf-8"))
    assert facts["wall_seconds"]["linear"] == {
        **dict.fromkeys(("deep_ensemble", "map", "scroll_dense", "scroll_none"), 20.0),
        "scroll_dense_2l": 10.0,
    }
    assert facts["commits"] == ["abc123"] and len(facts["environments"]) == 1
    assert facts["dates"] == {"first": "2026-01-03T00:00:00+00:00", "last": "2026-01-15T00:00:00+00:00"}
    assert facts["seeds"] == list(range(5, 11))


@pytest.mark.parametrize("newer", ["cell", "provenance"])
def test_a_newer_format_is_refused_with_both_versions(study, newer):
    collect(study)
    path = study.runs / "sine--map--5-8.json" if newer == "cell" else study.folder / PROVENANCE
    write_whole(path, json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"format": 2}).encode())
    with pytest.raises(DataError, match=r"format 2.*format 1|format 2.*up to 1") as refused:
        collect(study)
    assert path.name in str(refused.value) and "upgrade" in str(refused.value)


def test_a_study_without_any_result_says_what_to_do(tmp_path):
    with pytest.raises(DataError, match="corners run"):
        collect(make_study(tmp_path))


def test_tables_that_are_not_here_are_said_and_not_guessed(study, monkeypatch):
    def absent(_):
        raise DataError("no table 'linear'")

    monkeypatch.setattr("corners.study.outstanding.plan_study", absent)
    done = collect(replace(study))
    assert done.run == 69 and done.unchecked == "no table 'linear'" and "no table" in str(done)


@given(st.floats(allow_nan=False))
def test_a_number_keeps_nine_digits_and_is_written_once_for_all(value):
    text = number_text(value)
    assert number_text(float(text)) == text
    assert float(text) == pytest.approx(value, rel=5e-9, abs=0.0) or abs(value) < 1e-300


def states(study):
    return {each.cell.name: (each.state, each.seconds) for each in plan_study(study)}


def without_result_files(study):
    for path in study.runs.iterdir():
        path.unlink()


def test_a_clone_goes_on_after_what_is_committed(study):
    collect(study)
    without_result_files(study)
    unfinished = {cell.name for cell in study.cells() if cell.row == "leave_one_out"}
    assert states(study) == {
        cell.name: ("missing", None) if cell.name in unfinished else ("done", 10.0) for cell in study.cells()
    }


def test_a_committed_line_of_other_choices_does_not_count(study):
    collect(study)
    without_result_files(study)
    file = study.folder / "study.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("jitter = 1e-3", "jitter = 1e-4"), encoding="utf-8")
    assert {state for state, _ in states(read_study(study.folder)).values()} == {"missing"}


def test_a_cell_of_which_one_seed_is_not_committed_is_missing(study):
    collect(study)
    without_result_files(study)
    lines = lines_of(study)
    lost = lines.pop(1)
    write_scores(study.folder / SCORES, {(each["dataset"], each["row"], int(each["seed"])): each for each in lines})
    missing = [name for name, (state, _) in states(study).items() if state == "missing" and "leave_one_out" not in name]
    [cell] = [cell_called(study, name) for name in missing]
    assert (cell.dataset, cell.row) == (lost["dataset"], lost["row"]) and int(lost["seed"]) in cell.seeds


def test_finished_cells_run_again_when_asked(study):
    names: list[str] = []

    def work(job, _):
        names.append(job.cell.name)
        return result_of(job)

    ending = run_study(study, date="2026-01-31", only=["linear/map"], again=True, work=work)
    assert sorted(names) == sorted(ending.ran) and ending.skipped == ()
    assert sorted(names) == [cell.name for cell in study.cells() if (cell.dataset, cell.row) == ("linear", "map")]
