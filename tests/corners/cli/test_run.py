"""``corners run``: what it says, its exit status, what it refuses, and how it goes on after Ctrl-C."""

import re

import pytest

from corners.cli import run as verb
from corners.cli.run import INTERRUPTED, duration
from corners.study import campaign
from corners.study.execute import Failure
from tests.corners.study.studies import HEAD, ROWS, finished_names, result_of, small_study, written

CELLS = 8


@pytest.fixture
def study(tmp_path):
    return small_study(tmp_path)


@pytest.fixture
def untrained(monkeypatch):
    """Every cell has a result at once; the returned set names cells that fail or are interrupted instead."""
    ends: dict[str, str] = {}

    def work(job, watch=None):
        end = ends.get(job.cell.name)
        if end == "interrupt":
            raise KeyboardInterrupt
        if watch is not None:
            watch(3, 2, 0.5)
        return result_of(job, 1.5) if end is None else Failure(end, "Traceback")

    plain = campaign.run_study
    monkeypatch.setattr(campaign, "run_study", lambda *given, **options: plain(*given, work=work, **options))
    return ends


def test_a_study_is_trained_and_then_finished(command, study):
    """The real thing, in this process."""
    ran = command("run", str(study.folder), "--only", "sine")
    assert ran.code == 0, ran.err
    assert re.search(r"^small: 4 run in \d+ s, 0 finished before, 0 failed$", ran.out, re.MULTILINE), ran.out
    assert "[4/4] sine / " in ran.err and "seeds 5-6: " in ran.err
    assert len(finished_names(study)) == 4
    again = command("run", "small/study.toml", "--only", "sine")
    assert again.code == 0 and "0 run in 0 s, 4 finished before" in again.out and again.err == ""


def test_time_left_and_no_control_characters(command, study, untrained):
    ran = command("run", "small")
    lines = ran.err.splitlines()
    assert len(lines) == CELLS and all("left)" in line for line in lines[:-1]) and "left" not in lines[-1]
    assert not re.search(r"\x1b|\r", ran.out + ran.err)


def test_a_failure_is_told_with_its_reason_and_the_rest_runs(command, study, untrained):
    untrained |= dict.fromkeys(("linear--scroll_none--5-6", "sine--scroll_none--5-6"), "vbll is broken\nat length")
    ran = command("run", "small")
    assert ran.code == 1 and "6 run in" in ran.out and "2 failed" in ran.out
    assert ran.out.count("failed: scroll_none on linear, sine: vbll is broken\n") == 1, ran.out
    assert "the same command tries the failed cells again" in ran.out
    dry = command("run", "small", "--dry-run")
    assert "linear / scroll_none, seeds 5-6: failed before: vbll is broken" in dry.out
    untrained.clear()
    assert command("run", "small").code == 0
    assert len(finished_names(study)) == CELLS and not list(study.runs.glob("*.failed.json"))


def test_ctrl_c_keeps_what_is_finished(command, study, untrained):
    untrained["sine--scroll_none--5-6"] = "interrupt"
    ran = command("run", "small")
    done = len(finished_names(study))
    assert ran.code == INTERRUPTED == 130 and 0 < done < CELLS
    assert f"interrupted with {CELLS - done} cells left; the same command goes on with them" in ran.out
    untrained.clear()
    again = command("run", "small")
    assert again.code == 0 and f"{CELLS - done} run in" in again.out and f"{done} finished before" in again.out


def test_stale_results_are_counted(command, tmp_path, study, untrained):
    command("run", "small")
    written(tmp_path, HEAD + ROWS.replace("hidden = []", "hidden = [2]"))
    assert "(4 missing" not in (dry := command("run", "small", "--dry-run").out) and "(4 stale, 4 done)" in dry
    ran = command("run", "small")
    assert "4 results were stale" in ran.out and "4 finished before" in ran.out


def test_a_dry_run_writes_nothing(command, study, untrained):
    ran = command("run", "small", "--dry-run")
    assert ran.code == 0 and "8 of 8 cells would be run (8 missing)" in ran.out
    assert not study.runs.exists()
    planned = command("run", "small", "--dry-run", "--json", "--only", "linear/scroll_none").json()
    assert [each["cell"] for each in planned] == ["linear--scroll_none--5-6", "linear--scroll_none--7-7"]
    assert {each["state"] for each in planned} == {"missing"}


def test_json_is_all_there_is_on_standard_output(command, study, untrained):
    untrained["sine--scroll_none--5-6"] = "it broke"
    ran = command("run", "small", "--json", "--quiet")
    found = ran.json()
    assert ran.code == 1 and ran.err == ""
    assert found["study"] == "small" and len(found["ran"]) == CELLS - 1 and found["skipped"] == found["stale"] == []
    assert found["failed"] == [{"dataset": "sine", "row": "scroll_none", "seeds": [5, 6], "reason": "it broke"}]


def test_quiet(command, study, untrained):
    ran = command("run", "small", "--quiet")
    assert ran.err == "" and ran.out.startswith("small: 8 run in")


def test_the_provenance_knows_the_date_and_the_command_but_no_folder(command, study, untrained, monkeypatch):
    jobs = []
    plain = campaign.run_study

    def keeping(*given, **options):
        jobs.append(options)
        return plain(*given, **options)

    monkeypatch.setattr(campaign, "run_study", keeping)
    command("run", str(study.folder.resolve()))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", jobs[0]["date"])
    assert jobs[0]["command"] == "corners run small"


def test_a_long_cell_says_something_now_and_then(command, study, untrained, monkeypatch):
    monkeypatch.setattr("corners.cli.progress.PLAIN_SECONDS", -1.0)
    assert "linear / scroll_none, seeds 5-6: step 3, 2 still running" in command("run", "small").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "no study at nowhere .*give a study file, or a folder with study.toml"),
        (("small", "--only", "yacht"), "'yacht' fits no cell"),
        (("small", "--workers", "2", "--scheduler", "tcp://h:1"), "give one of them"),
        (("small", "--workers", "0"), "--workers"),
        (("bad.toml",), "bad.toml: study: no key is called 'sedes'. Did you mean 'seeds'"),
        (("options.toml",), "row 'nuts', options: no option of nuts is called 'drows'"),
        ((), "Missing argument"),
    ],
)
def test_refused_before_anything_runs(command, study, tmp_path, untrained, arguments, message):
    (tmp_path / "bad.toml").write_text(f"sedes = 3{HEAD}{ROWS}", encoding="utf-8")
    nuts = "[[rows]]\nname = 'nuts'\noptions = { drows = 3 }\n"
    (tmp_path / "options.toml").write_text(HEAD + ROWS + nuts, encoding="utf-8")
    ran = command("run", *arguments)
    assert ran.code == 2 and re.search(message, ran.err), ran.err
    assert ran.out == "" and not list(tmp_path.rglob("*.json"))


def test_durations():
    assert [duration(each) for each in (0.2, 59.0, 60.0, 3599.0, 3600.0, 90000.0)] == [
        "0 s",
        "59 s",
        "1 min",
        "60 min",
        "1.0 h",
        "25.0 h",
    ]


def test_on_a_terminal_the_bar_is_taken_away(monkeypatch, study, untrained):
    import io

    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, highlight=False)
    monkeypatch.setattr("corners.cli.progress.Console", lambda **_: console)
    listener = verb.CellProgress()
    with listener:
        campaign.run_study(study, date="2026-01-31", listener=listener)
    assert listener.live and listener.bar.live.is_started is False
    assert "[8/8]" in stream.getvalue()
