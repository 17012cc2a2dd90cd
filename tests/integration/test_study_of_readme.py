"""The study that README shows, from its file to its report, as a reader would run it."""

import re
import shutil

import pytest
from click.testing import CliRunner

from corners.cli import main
from tests.architecture.sources import ROOT

(STUDY,) = re.findall(
    r"^```toml\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
)


def corners(*arguments: object, status: int = 0) -> str:
    finished = CliRunner().invoke(main, [str(each) for each in (*arguments, "--quiet")])
    assert finished.exit_code == status, finished.output
    return finished.output


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The file, beside it what the two commands left."""
    path = tmp_path_factory.mktemp("readme") / "noise.toml"
    path.write_text(STUDY, encoding="utf-8")
    assert "4 run" in corners("run", path)
    corners("report", path)
    return path


def test_it_is_not_run_twice(study):
    assert "4 finished before" in corners("run", study)


def test_the_report_answers_the_question(study):
    said = (study.parent / "report.md").read_text(encoding="utf-8")
    assert "Does a dense free covariance beat a point belief on small tables?" in said
    assert re.search(r"\| scroll_dense_loose \|.*−?\d+\.\d+ ± \d", said), "a mean over seeds with its standard error"


def test_a_changed_number_in_a_report_is_noticed(study, tmp_path):
    copied = tmp_path / "copy"
    shutil.copytree(study.parent, copied)
    corners("report", copied / study.name, "--check")
    report = copied / "report.md"
    report.write_text(report.read_text(encoding="utf-8").replace("0.", "9.", 1), encoding="utf-8")
    corners("report", copied / study.name, "--check", status=1)
