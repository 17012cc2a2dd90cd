"""A study under way: its cells run, each is kept as soon as it is finished, and a failure does not stop the rest."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, runtime_checkable

from corners.comparison.report import check_writable
from corners.study.cells import Cell
from corners.study.execute import Failure, Job, run_cell
from corners.study.outstanding import Planned, plan_study
from corners.study.scheduling import Lost, schedule
from corners.study.spec import StudySpec
from corners.study.store import DONE, STALE, Store


@dataclass(frozen=True)
class Ending:
    """What a run did: cells run, stale cells among those to be run, failures with reasons, and what is left."""

    ran: tuple[str, ...]
    skipped: tuple[str, ...]
    stale: tuple[str, ...]
    failed: tuple[tuple[Cell, str], ...]
    left: tuple[str, ...]
    interrupted: bool
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        names = {key: list(getattr(self, key)) for key in ("ran", "skipped", "stale", "left")}
        failed = [
            {"dataset": cell.dataset, "row": cell.row, "seeds": list(cell.seeds), "reason": reason}
            for cell, reason in self.failed
        ]
        return {**names, "failed": failed, "interrupted": self.interrupted, "seconds": self.seconds}


@runtime_checkable
class Listener(Protocol):
    """Hears how a run goes; the command line draws it."""

    def begin(self, total: int) -> None:
        """So many cells are going to be run."""

    def watch(self, cell: Cell, step: int, running: int, best: float) -> None:
        """A cell that runs in this process goes on."""

    def finished(self, cell: Cell, message: str, done: int, seconds_left: float | None) -> None:
        """A cell is over; ``done`` of the total are, and the rest is expected to take so long."""


class Unheard:
    """A listener that says nothing."""

    def begin(self, total: int) -> None:
        """Nothing."""

    def watch(self, cell: Cell, step: int, running: int, best: float) -> None:
        """Nothing."""

    def finished(self, cell: Cell, message: str, done: int, seconds_left: float | None) -> None:
        """Nothing."""


def run_study(
    study: StudySpec,
    *,
    date: str,
    command: str = "corners.study.run_study",
    only: Sequence[str] = (),
    again: bool = False,
    workers: int = 1,
    threads: int = 1,
    scheduler: str | None = None,
    listener: Listener | None = None,
    work: Callable[..., Any] = run_cell,
) -> Ending:
    """Run what is missing of a study, and keep every cell as soon as it is finished.

    Parameters
    ----------
    date : of the run, for the provenance (ISO 8601).
    only : as in :func:`plan_study`.
    again : finished cells too, as after a change of the code that computes them.
    workers, threads, scheduler : as in :func:`corners.study.scheduling.schedule`.
    work : what makes a result of a job.

    Returns
    -------
    Ending : a cell that fails is in it with the reason, and the others run; Ctrl-C keeps what is finished.

    Raises
    ------
    As :func:`plan_study` and :func:`corners.study.scheduling.schedule`, before anything is trained.
    """
    run = _Campaign(study, plan_study(study, only), listener or Unheard(), again)
    check_writable(study.runs)
    jobs = [Job(each.cell, each.fingerprint or "", date, command) for each in run.todo]
    if scheduler is None and workers == 1:
        work = partial(_watched, work, run.listener)
    return run.run(lambda: schedule(work, jobs, workers=workers, threads=threads, scheduler=scheduler))


def _watched(work: Callable[..., Any], listener: Listener, job: Job) -> Any:
    return work(job, partial(listener.watch, job.cell))


@dataclass
class _Campaign:
    """The moving parts of one run."""

    study: StudySpec
    planned: tuple[Planned, ...]
    listener: Listener
    again: bool = False
    ran: list[str] = field(default_factory=list)
    failed: dict[str, tuple[Cell, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = Store(self.study.runs)
        self.todo = [
            each for each in self.planned if each.fingerprint is not None and (self.again or each.state != DONE)
        ]
        self.clock = Clock(self.todo, self._known())

    def _known(self) -> Iterable[tuple[Planned, float]]:
        """Cells that earlier runs finished, with their seconds."""
        return [(each, each.seconds) for each in self.planned if each.seconds is not None]

    def run(self, results: Callable[[], Any]) -> Ending:
        started, interrupted = time.perf_counter(), False
        self.listener.begin(len(self.todo))
        for each in self.planned:
            if each.fingerprint is None:
                self._fail(each.cell, Failure(each.reason or ""))
        try:
            with closing(results()) as finished:
                for position, result in finished:
                    self._keep(self.todo[position], result, time.perf_counter() - started)
        except KeyboardInterrupt:
            interrupted = True
        return self._ending(interrupted, time.perf_counter() - started)

    def _keep(self, planned: Planned, result: Any, elapsed: float) -> None:
        cell = planned.cell
        if isinstance(result, Failure | Lost):
            self._fail(cell, result)
            message, seconds = f"failed: {result.reason}", None
        else:
            self.store.write(cell, result)
            self.ran.append(cell.name)
            seconds = float(result["seconds"])
            message = f"{seconds:.1f} s"
        left = self.clock.finish(planned, seconds, elapsed)
        self.listener.finished(cell, message, len(self.todo) - len(self.clock.waiting), left)

    def _fail(self, cell: Cell, failure: "Failure | Lost") -> None:
        self.store.write_failure(cell, failure.reason, getattr(failure, "traceback", ""))
        self.failed[cell.name] = cell, failure.reason

    def _ending(self, interrupted: bool, seconds: float) -> Ending:
        over = {*self.ran, *self.failed}
        return Ending(
            ran=tuple(self.ran),
            skipped=tuple(each.cell.name for each in self.planned if each.state == DONE and not self.again),
            stale=tuple(each.cell.name for each in self.planned if each.state == STALE),
            failed=tuple(self.failed.values()),
            left=tuple(each.cell.name for each in self.todo if each.cell.name not in over),
            interrupted=interrupted,
            seconds=seconds,
        )


class Clock:
    """Time left: what the waiting cells should take, by the seconds that cells of their rows took, at the speed so far.

    A row without a finished cell counts with the mean of those that have one.
    """

    def __init__(self, todo: Sequence[Planned], known: Iterable[tuple[Planned, float]] = ()) -> None:
        self.waiting = {each.cell.name: each for each in todo}
        self.spent: dict[str, tuple[float, float]] = {}
        self.worked = 0.0
        for planned, seconds in known:
            self._learn(planned, seconds)

    def finish(self, planned: Planned, seconds: float | None, elapsed: float) -> float | None:
        """A cell is over; seconds left after ``elapsed`` ones, None where nothing is known yet.

        ``seconds`` is what it took, or None where it failed.
        """
        del self.waiting[planned.cell.name]
        if seconds is not None:
            self._learn(planned, seconds)
            self.worked += seconds
        if not self.spent or self.worked <= 0.0:
            return None
        ahead = sum(self._expected(each) for each in self.waiting.values())
        return ahead * elapsed / self.worked

    def _learn(self, planned: Planned, seconds: float) -> None:
        effort, known = self.spent.get(planned.cell.row, (0.0, 0.0))
        self.spent[planned.cell.row] = effort + planned.effort, known + seconds

    def _expected(self, planned: Planned) -> float:
        own = self.spent.get(planned.cell.row)
        efforts, seconds = zip(*([own] if own else self.spent.values()), strict=True)
        return planned.effort * sum(seconds) / sum(efforts)
