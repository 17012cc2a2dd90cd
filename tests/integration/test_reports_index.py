"""The index of reports: it names every folder, and its answers quote numbers that stand in the reports."""

import re

import pytest

from tests.architecture.sources import ROOT

REPORTS = ROOT / "reports"
INDEX = (REPORTS / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| \[`(\w+)`\]\([^)]*\) \| (.+?) \| (.+?) \| ([\d-]*) ?\|$", re.MULTILINE)
SHARE = re.compile(r"(\d+) of (\d+) ")
ORDERS = re.compile(r"of (\d+) published orders (\d+) hold and (\d+) are reversed")


def test_every_folder_is_named():
    folders = {path.name for path in REPORTS.iterdir() if path.is_dir() and not path.name.startswith(".")}
    assert all(f"({name}" in INDEX for name in folders - {"demo", "truth"})


def test_every_study_has_an_answer_and_a_date():
    rows = ROW.findall(INDEX)
    assert {path.parent.name for path in REPORTS.glob("*/study.toml")} <= {row[0] for row in rows}
    for folder, question, answer, date in rows:
        assert question.rstrip(".").endswith(("?", "classification", "side by side")), folder
        assert bool(date) == (answer != "Not run yet."), folder


@pytest.mark.parametrize(("folder", "answer"), [(row[0], row[2]) for row in ROW.findall(INDEX)])
def test_numbers_of_an_answer_stand_in_its_report(folder, answer):
    path = REPORTS / folder / "report.md"
    if not path.exists():
        assert answer == "Not run yet."
        return
    report = path.read_text(encoding="utf-8")
    for all_, hold, reversed_ in ORDERS.findall(answer):
        assert f"Of {all_} published orders" in report and f"{hold} hold here" in report
        assert f"{reversed_} are reversed" in report
    for some, total in SHARE.findall(answer):
        assert f"{some} of {total}" in report or re.search(rf"of {total} published means, {some} within", report), some
