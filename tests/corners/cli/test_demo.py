"""``corners demo``: every cell, on embedded real data, with a report. The run itself is a comparison as any other."""

import pytest

from corners.cli import demo
from corners.engine.cells import CELLS
from corners.study import compare
from tests.support.problems import TINY_PROTOCOL, tiny_split


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What the verb asks for, answered by a comparison of one method and a report without figures."""
    heard = {}

    def run_one(source, names, options, *, quiet):
        heard.update(source=source, names=names, options=options, quiet=quiet)
        return compare(tiny_split(1), ["sequential"], seeds=[5], protocol=TINY_PROTOCOL)

    monkeypatch.setattr(demo, "run_one", run_one)
    monkeypatch.setattr("corners.comparison.comparison.Comparison.report", lambda _, folder: folder / "index.html")
    return heard


def test_it_runs_every_cell_with_truth_on_embedded_data(command, asked):
    ran = command("demo", "--seeds", "2", "--report", "mine")
    assert ran.code == 0 and "sequential" in ran.out and "mine/index.html" in ran.out
    assert {*CELLS, "map", "gaussian_process", "nuts"} == set(asked["names"]) and asked["source"].name == "diabetes"
    assert asked["options"]["seeds"] == 2 and asked["options"]["truth_seeds"] == 1


def test_as_json(command, asked):
    ran = command("demo", "--report", "mine", "--json", "--quiet")
    assert {record["method"] for record in ran.json()} == {"sequential"} and ran.err == "" and asked["quiet"]


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_trained(command, asked, tmp_path):
    (tmp_path / "taken").write_text("a file")
    ran = command("demo", "--report", "taken")
    assert ran.code == 2 and "taken is not a folder; choose another folder" in ran.err and asked == {}
