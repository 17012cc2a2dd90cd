"""Training of a batch of replicates: one tensor program, one stopping rule a replicate, the best state kept."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import torch
from torch import Tensor

from corners.covariances._base import Params
from corners.data.batch import groups_of_equal_shape
from corners.errors import SpecError
from corners.method import FitStatus, Trace, merge_traces, require_one_seed_a_split
from corners.problem import Calibrated, Problem, Schedule

if TYPE_CHECKING:
    from corners.data.split import Split

R = TypeVar("R")

CONVERGED_CHANGE = 1e-6
"""Relative change of the objective since the best step below which a stop is called converged."""

MEDIAN_OF = 5
"""Checks that the running median of combined stopping looks back on."""

Watcher = Callable[[int, int, float], None]
"""Called with (step, replicates still running, best validation NLL so far) every few steps."""


@dataclass
class Outcome:
    """What training returns: best parameters, step and status of every replicate, and the trace."""

    params: Params
    best_steps: list[int]
    best_validation: list[float]
    statuses: list[FitStatus]
    trace: Trace
    interrupted: bool

    def select(self, rows: Sequence[int]) -> "Outcome":
        """The replicates ``rows``, in that order."""
        return Outcome(
            {name: value[list(rows)] for name, value in self.params.items()},
            [self.best_steps[row] for row in rows],
            [self.best_validation[row] for row in rows],
            [self.statuses[row] for row in rows],
            Trace(self.trace.steps, {name: value[list(rows)] for name, value in self.trace.values.items()}),
            self.interrupted,
        )


def train(
    problem: Problem, params: Params, frozen: frozenset[str], schedule: Schedule, watcher: Watcher | None = None
) -> Outcome:
    """Minimise every replicate's objective by Adam; stop each on its own validation NLL; restore its best state.

    A replicate whose objective becomes NaN or infinite stops alone. Replicates that have stopped are dropped from the
    tensor program. An interrupt (Ctrl-C) keeps the best state of each.
    """
    run = _Run(problem, params, frozen, schedule)
    try:
        for step in range(schedule.max_steps + 1):
            run.step(step)
            if run.finished:
                break
            if watcher is not None and step % schedule.trace_every == 0:
                watcher(step, run.active_count, run.best_validation)
    except KeyboardInterrupt:
        run.interrupt()
    return run.outcome()


@dataclass(frozen=True)
class Fitted(Generic[R]):
    """All replicates of a method in the order of their splits; None where an interrupt came before its group."""

    replicates: tuple[R | None, ...]
    statuses: tuple[FitStatus, ...]
    trace: Trace
    seconds: float


def fit_in_groups(
    splits: "Sequence[Split]",
    seeds: Sequence[int],
    fit_group: "Callable[[list[Split], list[int]], tuple[list[tuple[R, FitStatus]], Trace]]",
) -> Fitted[R]:
    """Train splits of equal shape together: one tensor program a shape, results in the order given.

    An interrupt in one group keeps it and begins no other.
    """
    require_one_seed_a_split(splits, seeds)
    started = time.perf_counter()
    groups = groups_of_equal_shape(splits)
    parts: list[tuple[list[tuple[R, FitStatus]], Trace]] = []
    for group in groups:
        parts.append(fit_group([splits[i] for i in group], [seeds[i] for i in group]))
        if any(status.interrupted for _, status in parts[-1][0]):
            break
    done = {i: pair for group, part in zip(groups, parts, strict=False) for i, pair in zip(group, part[0], strict=True)}
    pairs = [done.get(i, (None, FitStatus("not_started"))) for i in range(len(splits))]
    return Fitted(
        replicates=tuple(replicate for replicate, _ in pairs),
        statuses=tuple(status for _, status in pairs),
        trace=merge_traces([part[1] for part in parts], groups, len(splits)),
        seconds=time.perf_counter() - started,
    )


@dataclass
class _Run:
    """The moving parts of one call of :func:`train`; ``live`` maps rows of the current program to replicates."""

    problem: Problem
    params: Params
    frozen: frozenset[str]
    schedule: Schedule
    live: Tensor = field(init=False)
    statuses: dict[int, FitStatus] = field(default_factory=dict, init=False)
    records: list[tuple[int, Tensor, dict[str, Tensor]]] = field(default_factory=list, init=False)
    interrupted: bool = field(default=False, init=False)
    now: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        count = self.problem.count
        self.total_count = count
        self.live = torch.arange(count)
        self.best = {name: value.detach().clone() for name, value in self.params.items()}
        self.best_value = torch.full((count,), torch.inf, dtype=torch.float64)
        self.best_criterion = torch.full((count,), torch.inf, dtype=torch.float64)
        self.recent = torch.full((count, MEDIAN_OF), torch.nan, dtype=torch.float64)
        self.best_objective = torch.full((count,), torch.nan, dtype=torch.float64)
        self.best_step = torch.zeros(count, dtype=torch.long)
        self.stale = torch.zeros(count, dtype=torch.long)
        self.running = torch.ones(count, dtype=torch.bool)
        self.params = {name: value.detach().clone() for name, value in self.params.items()}
        self.optimiser = self._optimiser()

    @property
    def finished(self) -> bool:
        return not bool(self.running.any())

    @property
    def active_count(self) -> int:
        return int(self.running.sum())

    @property
    def best_validation(self) -> float:
        return float(self.best_value.min())

    def step(self, step: int) -> None:
        """Score the present state, then move it."""
        self.now = step
        self._compact()
        total, state = self.problem.objective(self.params, step)
        last = step == self.schedule.max_steps
        with torch.no_grad():
            if last or step % self.schedule.check_every == 0:
                self._check(step, total.detach(), state)
            else:
                self._stop(self.running[self.live] & ~total.detach().isfinite(), "not_finite", step)
            if not total.requires_grad:
                self._stop(self.running[self.live], "exact", step)
            if last:
                self._stop(self.running[self.live], "step_limit", step)
        if self.finished:
            return
        self.optimiser.zero_grad(set_to_none=True)
        total.sum().backward()  # replicates share no parameter, so the sum's gradient is each one's own
        self.optimiser.step()
        with torch.no_grad():
            self.problem.adjust(self.params, step, state)

    def _check(self, step: int, total: Tensor, state: Any) -> None:
        value = self.problem.validation(self.params, state).double()
        running = self.running[self.live]
        finite = total.isfinite() & value.isfinite()
        self._stop(running & ~finite, "not_finite", step)
        running = running & finite
        criterion = self._criterion(value, state)
        improved = running & (criterion < self.best_criterion[self.live] - self.schedule.threshold)
        self._keep(improved, value, total, step)
        self.best_criterion[self.live] = torch.where(improved, criterion, self.best_criterion[self.live])
        self.stale[self.live] = torch.where(improved, 0, self.stale[self.live] + 1)
        out_of_patience = running & (self.stale[self.live] >= self.schedule.patience)
        change = (total.double() - self.best_objective[self.live]).abs()
        flat = change <= CONVERGED_CHANGE * (1.0 + total.abs())
        self._stop(out_of_patience & flat, "converged", step)
        self._stop(out_of_patience & ~flat, "stopped_early", step)
        if step % self.schedule.trace_every == 0:
            self._record(step, total, value, state)

    def _criterion(self, value: Tensor, state: Any) -> Tensor:
        if self.schedule.stopping == "validation_nll":
            return value
        if not isinstance(self.problem, Calibrated):
            raise SpecError("combined stopping needs a calibration error, which this method lacks; use validation_nll")
        self.recent = self.recent.roll(1, dims=1)
        self.recent[self.live, 0] = value
        median = self.recent[self.live].nanquantile(0.5, dim=1)
        return median + self.problem.calibration_error(self.params, state)

    def _keep(self, improved: Tensor, value: Tensor, total: Tensor, step: int) -> None:
        if not bool(improved.any()):
            return
        rows, replicates = improved.nonzero()[:, 0], self.live[improved]
        for name, tensor in self.params.items():
            self.best[name][replicates] = tensor.detach()[rows]
        self.best_value[replicates] = value[rows]
        self.best_objective[replicates] = total.double()[rows]
        self.best_step[replicates] = step

    def _stop(self, rows: Tensor, code: str, step: int) -> None:
        for replicate in self.live[rows].tolist():
            reached = bool(self.best_value[replicate].isfinite())
            detail = f"step {int(self.best_step[replicate])} of {step}" if reached else f"at step {step}"
            unusable = "not_started" if code == "interrupted" else "failed"
            self.statuses[replicate] = FitStatus(code if reached else unusable, detail)
            self.running[replicate] = False

    def _record(self, step: int, total: Tensor, value: Tensor, state: Any) -> None:
        quantities = {"objective": total, "validation_nll": value} | self.problem.watched(self.params, state)
        keep = self.running[self.live]
        values = {name: torch.where(keep, each.double(), torch.nan) for name, each in quantities.items()}
        self.records.append((step, self.live.clone(), values))

    def _compact(self) -> None:
        """Drop stopped replicates once a fifth of the program is idle."""
        keep = self.running[self.live]
        if int(keep.sum()) > 0.8 * len(keep):
            return
        index = keep.nonzero()[:, 0]
        old = self.optimiser.state_dict()["state"]
        names = self._trained()
        self.problem, self.live = self.problem.select(index), self.live[index]
        self.params = {name: value.detach()[index].clone() for name, value in self.params.items()}
        self.optimiser = self._optimiser()
        for position, name in enumerate(names):
            if position in old:
                moments = {key: old[position][key][index].clone() for key in ("exp_avg", "exp_avg_sq")}
                self.optimiser.state[self.params[name]] = moments | {"step": old[position]["step"].clone()}

    def _trained(self) -> list[str]:
        return [name for name in self.params if name not in self.frozen]

    def _optimiser(self) -> torch.optim.Optimizer:
        leaves = [self.params[name].requires_grad_() for name in self._trained()]
        # A placeholder where everything is fixed: one evaluation is then the whole fit.
        return torch.optim.Adam(leaves or [torch.zeros(())], lr=self.schedule.learning_rate, foreach=True)

    def interrupt(self) -> None:
        self.interrupted = True
        self._stop(self.running[self.live], "interrupted", self.now)

    def outcome(self) -> Outcome:
        statuses = [self.statuses[replicate] for replicate in range(self.total_count)]
        steps, values = self.best_step.tolist(), self.best_value.tolist()
        return Outcome(self.best, steps, values, statuses, self._trace(), self.interrupted)

    def _trace(self) -> Trace:
        names = list(self.records[0][2]) if self.records else []
        values = {name: torch.full((self.total_count, len(self.records)), torch.nan).double() for name in names}
        for column, (_, live, quantities) in enumerate(self.records):
            for name in names:
                values[name][live, column] = quantities[name]
        steps = torch.tensor([float(step) for step, _, _ in self.records], dtype=torch.float64)
        return Trace(steps.numpy(), {name: value.numpy() for name, value in values.items()})
