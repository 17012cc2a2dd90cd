"""``corners compare``: options, output for people and for programs, and what is refused before anything is trained."""

import re
from pathlib import Path

import pytest

from corners.cli.compare import INTERRUPTED
from corners.cli.progress import Progressing
from tests.corners.cli.conftest import write_table

FAST = ("--hidden", "3", "--max-steps", "6", "--seeds", "2", "--truth-seeds", "0")
TWO = ("--methods", "sequential,scroll_none")
RECORD = {"dataset", "method", "score", "mean", "se", "n", "unit", "status"}


@pytest.fixture
def bare_reports(monkeypatch):
    """A page without figures, written in no time: what is in a report is tested elsewhere."""

    def report(self, folder):
        page = Path(folder) / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(self.dataset_name, encoding="utf-8")
        return page

    monkeypatch.setattr("corners.comparison.comparison.Comparison.report", report)


@pytest.fixture
def untrained(monkeypatch):
    """Fails the test as soon as anything is trained."""
    # The module that defines it comes last: one that is first imported meanwhile would keep the replacement for good.
    for user in ("corners.engine.training", "corners.baselines._networks", "corners.optimise"):
        monkeypatch.setattr(f"{user}.train", lambda *_: pytest.fail("something was trained"))


def test_a_csv_by_its_target(command, table):
    ran = command("compare", str(table), "--target", "price", *TWO, *FAST)
    assert ran.code == 0
    assert "sequential" in ran.out and "scroll_none" in ran.out and "NLL" in ran.out
    assert "sequential" in ran.err  # progress, a line a task where there is no terminal


@pytest.mark.parametrize("arguments", [("--task", "classification", "--head", "ordinal"), ("--task", "count")])
def test_a_csv_of_classes_or_counts(command, tmp_path, arguments):
    rows = "\n".join(f"{k % 7},{k % 5},{(k % 7 + k % 5) // 4}" for k in range(40))
    (tmp_path / "steps.csv").write_text(f"a,b,y\n{rows}\n", encoding="utf-8")
    records = command(
        "compare", "steps.csv", "--target", "y", "--methods", "scroll_none", *FAST, *arguments, "--json"
    ).json()
    scores = {record["score"] for record in records}
    assert ("accuracy" in scores) == ("classification" in arguments) and "nll" in scores


def test_json_is_all_there_is_on_standard_output(command, table):
    records = command("compare", str(table), "--target", "price", *TWO, *FAST, "--json").json()
    assert all(set(record) >= RECORD for record in records)
    assert {record["dataset"] for record in records} == {"houses"}
    assert {record["method"] for record in records} == {"sequential", "scroll_none"}
    nll = next(record for record in records if record["score"] == "nll")
    assert isinstance(nll["mean"], float) and nll["unit"] == "nats per observation"


def test_quiet_says_nothing_but_the_result(command, table):
    ran = command("compare", str(table), "--target", "price", *TWO, *FAST, "--quiet")
    assert ran.code == 0 and ran.err == "" and "sequential" in ran.out


def test_without_a_terminal_there_are_no_control_characters(command, table):
    ran = command("compare", str(table), "--target", "price", *TWO, *FAST)
    assert not re.search(r"\x1b|\r", ran.out + ran.err)


def test_a_report_is_written_where_it_was_asked_for(command, table, tmp_path):
    """And it names no folder of anybody's machine, neither in its text nor in the command it gives."""
    ran = command(
        "compare", str(table.resolve()), "--target", "price", "--methods", "sequential", *FAST, "--report", "here/there"
    )
    folder = tmp_path / "here" / "there"
    assert ran.code == 0 and "report: here/there/index.html" in ran.out
    for name in ("index.html", "report.md", "scores.json"):
        text = (folder / name).read_text(encoding="utf-8")
        assert str(tmp_path) not in text and "houses" in text
    assert "corners compare houses.csv" in (folder / "report.md").read_text(encoding="utf-8")


def test_several_tables_have_a_folder_each(command, tmp_path, bare_reports):
    ran = command("compare", "linear", "sine", "--methods", "sequential", *FAST, "--report", "both", "--json")
    assert {record["dataset"] for record in ran.json()} == {"linear", "sine"}
    for name in ("linear", "sine"):
        assert (tmp_path / "both" / name / "index.html").is_file()


def test_tables_of_one_name_do_not_write_over_each_other(command, table, tmp_path, bare_reports):
    (tmp_path / "other").mkdir()
    other = write_table(tmp_path / "other" / "houses.csv", rows=25)
    ran = command(
        "compare", str(table), str(other), "--target", "price", "--methods", "sequential", *FAST, "--report", "both"
    )
    pages = list((tmp_path / "both").rglob("index.html"))
    assert (ran.code, len(pages)) == (0, 2) or (ran.code == 2 and "houses" in ran.err)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (("--fold-column", "part"), "predefined"),
        (("--time-ordered",), "time_ordered"),
        (("--group-column", "block"), "grouped"),
    ],
)
def test_own_ways_to_split(command, tmp_path, options, kind):
    parts = ["train"] * 18 + ["validation"] * 6 + ["test"] * 6
    extra = {"part": parts} if kind == "predefined" else {"block": [k // 3 for k in range(30)]}
    table = write_table(tmp_path / "houses.csv", **extra)
    records = command(
        "compare", str(table), "--target", "price", *options, "--methods", "sequential", *FAST, "--json"
    ).json()
    assert records[0]["dataset"] == "houses" and records[0]["mean"] is not None


def test_another_table_as_shifted_test_data(command, table, tmp_path):
    other = write_table(tmp_path / "elsewhere.csv", rows=12)
    records = command(
        "compare",
        str(table),
        "--target",
        "price",
        "--test-data",
        str(other),
        "--methods",
        "sequential",
        *FAST,
        "--json",
    ).json()
    assert records[0]["dataset"] == "houses to elsewhere"


def test_a_linear_model_and_two_layers(command, table):
    for hidden in ("0", "4,3"):
        ran = command("compare", str(table), "--target", "price", "--methods", "sequential", *FAST, "--hidden", hidden)
        assert ran.code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("houses.csv",), "name its target column with --target COLUMN"),
        (("houses.csv", "--target", "prize"), "prize.*area, age, price"),
        (("nowhere.csv", "--target", "price"), "nowhere.csv"),
        (("diabetis",), "Did you mean 'diabetes'"),
        (("linear", "nowhere"), "no data set is called 'nowhere'"),
        (("linear", "--methods", "sequential,scroll_ful"), "no method is called 'scroll_ful'"),
        (("linear", "--methods", ","), "at least one method is needed"),
        (("linear", "--protocol", "paper_v9"), "no protocol is called 'paper_v9'"),
        (("linear", "--hidden", "many"), "whole numbers of units separated by commas.*got 'many'"),
        (("linear", "--hidden", "-3"), "--hidden"),
        (("linear", "--hidden", "4,0"), "positive numbers of units"),
        (
            ("houses.csv", "--target", "price", "--time-ordered", "--fold-column", "age"),
            "choose one way to split; got --fold-column, --time-ordered",
        ),
        (
            ("houses.csv", "--target", "price", "--fold-column", "age"),
            "fold label .* is not one of train, validation, test",
        ),
        (("houses.csv", "--target", "price", "--group-column", "colour"), "no column 'colour'.*area, age"),
        (("linear", "--target", "y"), "--target"),
        (("linear", "--test-data", "sine"), "lacks the column"),
        (("linear", "--fold-column", "x0"), "fold|split of its own"),
        (("iris", "--methods", "map"), "'map' is for regression tables, and this one is a classification table"),
        (("linear", "iris", "--methods", "sequential"), "sequential: closed routing binds the belief"),
        (("linear", "iris", "--head", "ordinal"), "head 'ordinal' is not for regression; heads for it: gaussian"),
        (("linear", "--head", "studentt"), "Did you mean 'student_t'"),
        (("linear", "--report", "houses.csv"), "houses.csv is not a folder"),
        (("linear", "--report", "houses.csv/deeper"), "is not a folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_refused_before_anything_is_trained(command, table, untrained, arguments, message):
    ran = command("compare", *arguments, "--seeds", "2")
    assert ran.code == 2 and re.search(message, ran.err, re.DOTALL), ran.err
    assert ran.err.splitlines()[-1].startswith(("corners: ", "Error: "))
    assert ran.out == ""


@pytest.mark.parametrize(
    "option",
    [
        ("--seeds", "0"),
        ("--seeds", "x"),
        ("--batch-size", "0"),
        ("--max-steps", "0"),
        ("--threads", "0"),
        ("--truth-seeds", "-1"),
        ("--first-seed", "-1"),
    ],
)
def test_numbers_out_of_range_are_usage_errors(command, option):
    ran = command("compare", "linear", *option)
    assert ran.code == 2 and option[0] in ran.err


def test_no_data_at_all_is_a_usage_error(command):
    assert command("compare").code == 2


def test_ctrl_c_keeps_what_is_done(command, table, monkeypatch):
    """Status 130, and the table of the methods that were finished."""
    plain = Progressing.start

    def start(self, task, total):
        plain(self, task, total)
        if task == "scroll_none":
            raise KeyboardInterrupt

    monkeypatch.setattr(Progressing, "start", start)
    ran = command("compare", str(table), "sine", "--target", "price", *TWO, *FAST)
    assert ran.code == INTERRUPTED == 130
    assert "sequential" in ran.out and "interrupted" in ran.out and "sine" not in ran.out


def test_ctrl_c_before_the_first_method_is_done_still_ends_in_order(command, table, monkeypatch):
    def start(self, task, total):
        raise KeyboardInterrupt

    monkeypatch.setattr(Progressing, "start", start)
    for extra in ((), ("--json",), ("--report", "out")):
        ran = command("compare", str(table), "--target", "price", *TWO, *FAST, *extra)
        assert ran.code == INTERRUPTED
        if extra == ("--json",):
            assert all(record["mean"] is None for record in ran.json())
