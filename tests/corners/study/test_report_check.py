"""``--check``: a report that is not what its results give is found, whatever differs."""

import numpy as np
import pytest

from corners.comparison.report import FIGURES, TEXT
from corners.study import reporting
from corners.study.reporting import PAGE, check_study, read_view, write_study
from tests.corners.study.conftest import with_values


def test_a_changed_result_is_found_by_file_and_line(view, monkeypatch):
    write_study(view)
    assert check_study(view).same
    check = check_study(with_values(view, map=np.full(6, 4.0)))
    assert not check.same and TEXT in check.difference and "committed is" in check.difference


@pytest.mark.parametrize("name", [TEXT, PAGE, f"{FIGURES}/ranks.png"])
def test_a_file_changed_by_hand_or_lost_is_found(view, name):
    write_study(view)
    path = view.study.folder / name
    view = read_view(view.study)
    path.write_bytes(path.read_bytes() + b" ")
    assert str(path) in check_study(view).difference
    path.unlink()
    assert check_study(view).difference == f"{path} is missing"


def test_a_figure_that_is_not_in_the_report_is_found_and_writing_removes_it(view):
    write_study(view)
    extra = view.study.folder / FIGURES / "old.png"
    extra.write_bytes(b"\x89PNG")
    assert "old.png" in check_study(read_view(view.study)).difference
    write_study(view)
    assert not extra.exists() and check_study(read_view(view.study)).same


def test_other_drawing_libraries_are_said_and_only_pixels_are_let_off(view, monkeypatch):
    write_study(view)
    view = read_view(view.study)
    monkeypatch.setattr(reporting, "drawn_by", lambda: {"matplotlib": "0.1", "pillow": "0.1"})
    monkeypatch.setattr("corners.comparison.figures.render", lambda _: b"\x89PNG other pixels")
    check = check_study(view)
    assert check.same and "figures not compared" in check.remark and "matplotlib 0.1" in check.remark
    assert not check_study(with_values(view, map=np.full(6, 4.0))).same
