"""Progress: plain lines without a terminal, a bar with one, silence when asked for."""

import io

import pytest
from rich.console import Console

from corners.cli import progress
from corners.cli.progress import Progressing


def drive(reporter: Progressing) -> None:
    with reporter:
        reporter.start("scroll_dense", 100)
        for step in range(0, 100, 10):
            reporter.update(step, 3, 1.25)
        reporter.finish("converged")
        reporter.start("nuts", None)
        reporter.update(1, 2, float("nan"))
        reporter.finish("2.0 s")


def test_without_a_terminal_one_plain_line_a_task(capsys):
    drive(Progressing())
    written = capsys.readouterr()
    assert written.out == ""
    lines = written.err.splitlines()
    assert (
        len(lines) == 2
        and lines[0].split()[:2] == ["scroll_dense", "converged"]
        and lines[1].split() == ["nuts", "2.0", "s"]
    )


def test_a_long_task_says_something_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PLAIN_SECONDS", -1.0)
    drive(Progressing())
    written = capsys.readouterr().err
    assert "scroll_dense: step 90, 3 still running, best validation NLL 1.250" in written
    assert "nuts: step 1, 2 still running\n" in written  # an unknown best value is not printed as nan


def test_quiet_is_silent(capsys):
    drive(Progressing(quiet=True))
    written = capsys.readouterr()
    assert written.out == written.err == ""


def test_names_from_data_are_not_read_as_markup(capsys):
    reporter = Progressing()
    with reporter:
        reporter.start("[bold]odd[/bold]", 1)
        reporter.finish("unavailable: [red]")
    assert "[bold]odd[/bold]" in capsys.readouterr().err


@pytest.mark.parametrize("fails", [False, True])
def test_on_a_terminal_the_bar_is_taken_away_whatever_happens(monkeypatch, fails):
    stream = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda **_: Console(file=stream, force_terminal=True, width=100))
    reporter = Progressing()
    assert reporter.live
    try:
        with reporter:
            reporter.start("map", 10)
            reporter.update(5, 2, 0.5)
            if fails:
                raise KeyboardInterrupt
            reporter.finish("done")
    except KeyboardInterrupt:
        assert fails
    assert reporter.bar.live.is_started is False
    assert "map" in stream.getvalue()
