"""``corners run``: the cells of a study that are missing, here, in several processes or on a cluster."""

import datetime
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corners.cli import progress
from corners.cli.options import json_option, limit_threads, print_json, running_options
from corners.cli.progress import Progressing
from corners.errors import SpecError

if TYPE_CHECKING:
    from corners.study.campaign import Ending
    from corners.study.cells import Cell
    from corners.study.outstanding import Planned

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


@click.command("run", short_help="Run what is missing of a study.")
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--workers", type=click.IntRange(1), help="Processes on this machine.  [default: 1]")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers run the cells, as tcp://host:8786.")
@click.option(
    "--only", multiple=True, metavar="PATTERN", help="Data sets, rows, or dataset/row (with * and ?); may be repeated."
)
@click.option("--again", is_flag=True, help="Run finished cells too, as after a change of the code.")
@click.option("--dry-run", is_flag=True, help="Say what would be run, and run nothing.")
@json_option
@running_options
def command(
    study: Path,
    workers: int | None,
    scheduler: str | None,
    only: tuple[str, ...],
    again: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    threads: int,
) -> None:
    """Run the cells of STUDY (a study.toml or its folder) that have no result yet, or a stale one.

    A cell is a row of the study on a data set. It is kept as soon as it is finished: interrupt with Ctrl-C and give
    the same command again to go on. Results that the study's folder already holds count as finished. A cell that
    fails does not stop the others and is tried again the next time.

    \b
    Examples:
      corners run reports/my_study --workers 2
      corners run reports/my_study --only yacht --only 'boston/scroll_*' --dry-run
      corners run reports/my_study --scheduler tcp://192.168.0.1:8786
    """
    from corners.study.campaign import run_study
    from corners.study.outstanding import plan_study
    from corners.study.spec import read_study

    if workers is not None and scheduler is not None:
        raise SpecError("--workers starts processes here and --scheduler uses those of a cluster; give one of them")
    spec = read_study(study)
    if dry_run:
        _show_plan(plan_study(spec, only), again, as_json)
        return
    _prepare(threads)
    listener = CellProgress(quiet=quiet)
    with listener:
        ending = run_study(
            spec,
            date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            command=f"corners run {spec.name}",
            only=only,
            again=again,
            workers=workers or 1,
            threads=threads,
            scheduler=scheduler,
            listener=listener,
        )
    _tell(spec.name, ending, as_json)
    if ending.interrupted or ending.failed:
        sys.exit(INTERRUPTED if ending.interrupted else 1)


def _tell(name: str, ending: "Ending", as_json: bool) -> None:
    """What the run did, as lines or as data."""
    if as_json:
        print_json({"study": name, **ending.to_dict()})
    else:
        click.echo("\n".join(ending_lines(name, ending)))


class CellProgress(Progressing):
    """Cells instead of methods: a bar on a terminal, and a line a finished cell."""

    total = 0

    def begin(self, total: int) -> None:
        """So many cells are going to be run."""
        self.total = total
        if total:
            self.start(f"{total} cells" if total > 1 else "1 cell", total)

    def watch(self, cell: "Cell", step: int, running: int, best: float) -> None:
        """A cell that runs in this process goes on."""
        note = f"{cell.words}: step {step}, {running} still running"
        if self.live:
            self.bar.update(self.bar.task_ids[0], note=note)
        elif time.monotonic() - self.last_said > progress.PLAIN_SECONDS:
            self.last_said = time.monotonic()
            self.console.print(f"  {note}", markup=False, soft_wrap=True)

    def finished(self, cell: "Cell", message: str, done: int, seconds_left: float | None) -> None:
        """A cell is over."""
        left = f"about {duration(seconds_left)} left" if seconds_left is not None and done < self.total else ""
        first = message.partition("\n")[0]
        line = f"[{done}/{self.total}] {cell.words}: {first}"
        self.last_said = time.monotonic()
        if self.live:
            self.console.print(f"  {line}", markup=False)
            self.bar.update(self.bar.task_ids[0], completed=done, note=left)
        else:
            self.console.print(f"  {line}{f' ({left})' if left else ''}", markup=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """Seconds in the words of a clock on the wall.

    Example
    -------
    >>> duration(7.4), duration(100.0), duration(9000.0)
    ('7 s', '2 min', '2.5 h')
    """
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 3600.0 else f"{seconds / 3600.0:.1f} h"


def ending_lines(name: str, ending: "Ending") -> list[str]:
    """What was run, skipped, stale and failed, and what to do next."""
    stale = f" ({len(ending.stale)} results were stale: data, method or protocol had changed)" if ending.stale else ""
    parts = [f"{len(ending.ran)} run in {duration(ending.seconds)}{stale}", f"{len(ending.skipped)} finished before"]
    parts.append(f"{len(ending.failed)} failed")
    lines = [f"{name}: {', '.join(parts)}"]
    reasons: dict[tuple[str, str], list[str]] = {}
    for cell, reason in ending.failed:
        reasons.setdefault((cell.row, reason.partition("\n")[0]), []).append(cell.dataset)
    for (row, reason), datasets in reasons.items():
        lines.append(f"  failed: {row} on {', '.join(dict.fromkeys(datasets))}: {reason}")
    if ending.interrupted:
        lines.append(f"interrupted with {len(ending.left)} cells left; the same command goes on with them")
    elif ending.failed:
        lines.append("the same command tries the failed cells again")
    return lines


def _prepare(threads: int) -> None:
    limit_threads(threads)
    # joblib replaces a process whose memory has grown, and the job goes on: nothing that a user could act on.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)


def _show_plan(planned: "tuple[Planned, ...]", again: bool, as_json: bool) -> None:
    """Cells in the order in which they would run."""
    todo = [each for each in planned if again or each.state != "done"]
    if as_json:
        print_json([{"cell": each.cell.name, "state": each.state, "seeds": list(each.cell.seeds)} for each in planned])
        return
    for each in todo:
        said = f"failed before: {each.reason}" if each.state == "failed" else each.state
        click.echo(f"  {each.cell.words}: {said}")
    counts = Counter(each.state for each in planned)
    shown = ", ".join(f"{counts[state]} {state}" for state in ("missing", "stale", "failed", "done") if counts[state])
    click.echo(f"{len(todo)} of {len(planned)} cells would be run ({shown})")
