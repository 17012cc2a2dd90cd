"""Results that are committed stay valid: the cells planned now bear the fingerprints of the committed lines."""

from pathlib import Path

import pytest

from corners.covariances.diagonal import Diagonal
from corners.study.cells import spec_facts
from corners.study.committed import read_committed
from corners.study.outstanding import plan_study
from corners.study.spec import read_study
from corners.study.store import DONE

REPORTS = Path(__file__).parents[3] / "reports"
QUICK = {
    "uci_regression_default": ("yacht/*", "boston/*", "energy/*"),
    "uci_regression_paper_v1": ("yacht/*", "boston/*"),
    "uci_regression_paper_v1_choices": ("yacht/*",),
}


@pytest.mark.parametrize("name", QUICK)
def test_committed_lines_have_the_fingerprints_of_the_cells_planned_now(name, tables_folder, monkeypatch):
    """Whole cells of the committed files were made by the versions that committed them."""
    monkeypatch.setenv("CORNERS_DATA", str(tables_folder))
    study = read_study(REPORTS / name)
    committed = read_committed(study.folder)
    seen = 0
    for planned in plan_study(study, QUICK[name]):
        cell = planned.cell
        lines = [committed.lines.get((cell.dataset, cell.row, seed)) for seed in cell.seeds]
        if all(line is not None for line in lines):
            assert {line["fingerprint"] for line in lines if line is not None} == {planned.fingerprint}, cell.name
            assert planned.state == DONE or planned.cell.study.runs.is_dir()
            seen += 1
    assert seen >= 10


def test_a_choice_that_nobody_made_leaves_the_facts_as_they_were():
    from corners.likelihoods.gaussian import Gaussian

    facts = spec_facts(Gaussian())
    assert "outputs" not in facts and "noise_scale" not in facts
    assert spec_facts(Gaussian(outputs=2))["outputs"] == 2
    assert "initial_var" in spec_facts(Diagonal())
