"""Studies with random results, collected once a session, for the tests of reports."""

import shutil
from dataclasses import replace

import pytest

from corners.study.collecting import collect
from corners.study.reporting import read_view, write_study
from corners.study.results import Results
from corners.study.spec import read_study
from tests.corners.study.synthetic import draw_nothing, make_study, run_all


@pytest.fixture(scope="session")
def collected(tmp_path_factory):
    """Folder of a study whose results are collected."""
    study = make_study(tmp_path_factory.mktemp("reports"))
    run_all(study)
    collect(study)
    return study.folder


def copied(collected, folder):
    """The same study in a folder of its own."""
    shutil.copytree(collected.parent, folder, dirs_exist_ok=True)
    return read_study(folder / collected.name)


@pytest.fixture(scope="session")
def written(collected, tmp_path_factory):
    """A written report with its figures drawn."""
    study = copied(collected, tmp_path_factory.mktemp("written"))
    return study, write_study(read_view(study))


@pytest.fixture
def view(collected, tmp_path, monkeypatch):
    """A view whose figures are not drawn."""
    draw_nothing(monkeypatch)
    return read_view(copied(collected, tmp_path))


def with_values(view, **rows):
    """The same study, its NLL on the first data set replaced: row to values by seed."""
    frame = view.results.frame.copy()
    for row, values in rows.items():
        place = (frame["dataset"] == "linear") & (frame["row"] == row)
        frame.loc[place, "nll"] = values
    return replace(view, results=Results(frame, view.results.failures, view.results.provenance))
