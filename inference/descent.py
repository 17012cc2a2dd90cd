"""Block coordinate descent along a plan: block after block until the free energy stands still."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inference.blocks._base import Block
from inference.callbacks import STOP, Callback, Event
from inference.distributions import Distribution
from inference.errors import Diverged, InferenceError, SpecError
from inference.free_energy import total
from inference.program import State
from inference.schedule import Plan
from inference.types import Array

STOPPED = "stopped by a callback"
SETTLED = 2  # quiet iterations in a row before a run counts as converged
WARM_SWEEPS = 4  # mean-field sweeps before a structured cluster with exp links starts (message_passing 2.5)


@dataclass(frozen=True)
class Settings:
    """How long to run and how to stop.

    A run has converged when the free energy changed by at most ``atol + rtol |F|`` in two iterations in a row.
    """

    iterations: int = 50
    rtol: float = 1e-7
    atol: float = 1e-9
    damping: float | Mapping[str, float] = 1.0
    free_energy: bool | str = True

    def __post_init__(self) -> None:
        steps = list(self.damping.values()) if isinstance(self.damping, Mapping) else [self.damping]
        wrong = [step for step in steps if not 0.0 < step <= 1.0]
        if wrong:
            raise SpecError(f"damping is a step in (0, 1], 1 being the full one; got {wrong[0]:g}")
        if self.rtol < 0.0 or self.atol < 0.0:
            raise SpecError(f"rtol and atol are 0 or more, not {self.rtol:g} and {self.atol:g}")

    @property
    def full_steps(self) -> bool:
        """Whether nothing is damped."""
        steps = self.damping.values() if isinstance(self.damping, Mapping) else [self.damping]
        return all(step == 1.0 for step in steps)

    def damping_of(self, variables: Sequence[str]) -> float:
        """The step of a block; 1 is the full step."""
        if isinstance(self.damping, Mapping):
            return float(min((self.damping[v] for v in variables if v in self.damping), default=1.0))
        return float(self.damping)


@dataclass(frozen=True, eq=False)
class Run:
    """What came out of a run: the last complete state and how it got there."""

    state: State
    free_energy: Array
    blocks: list[tuple[str, float]]
    converged: bool
    n_iter: int
    reason: str
    seconds: dict[str, float]
    error: Exception | None = None
    kept: list[State] = field(default_factory=list)


class Runner:
    """One run of a plan; holds the traces while it lasts."""

    def __init__(
        self, plan: Plan, settings: Settings, callbacks: Iterable[Callback] = (), *, keep: bool = False
    ) -> None:
        self.plan, self.settings, self.callbacks = plan, settings, tuple(callbacks)
        self.every_block = settings.free_energy == "blocks" or any(
            getattr(c, "every_block", False) for c in self.callbacks
        )
        self.wants_energy = bool(settings.free_energy) or self.every_block
        self.trace: list[float] = []
        self.complete = State({})
        self.blocks: list[tuple[str, float]] = []
        self.kept: list[State] | None = [] if keep else None
        self.seconds: dict[str, float] = {}

    def run(self, state: State, *, on_error: str = "raise") -> Run:
        """Iterate from a state.

        ``KeyboardInterrupt`` ends the run with the last complete iteration; with ``on_error="return"`` an error does
        too, and is in the result.
        """
        began = time.perf_counter()
        self.complete, reason, error = state, "", None
        try:
            reason = self._iterate(state)
        except KeyboardInterrupt:
            reason = "interrupted; this is the last complete iteration"
        except (InferenceError, np.linalg.LinAlgError, FloatingPointError) as problem:
            if on_error == "raise":
                raise
            reason, error = f"stopped by {type(problem).__name__}; this is the last complete iteration", problem
        finally:
            self._call("after_inference", len(self.trace))
        self.seconds["total"] = time.perf_counter() - began
        return self._result(self.complete, reason, error)

    def _iterate(self, state: State) -> str:
        if self._call("before_inference", -1):
            return STOPPED
        self.complete = state = self._warm(state)
        for iteration in range(self.settings.iterations):
            state, stop = self._sweep(state, iteration)
            reason = self._after(state, iteration)
            if reason or stop:
                return STOPPED if stop else reason
        return ""

    def _warm(self, state: State) -> State:
        if self.plan.start is None:
            return state
        for _ in range(WARM_SWEEPS):
            for block in self.plan.start.blocks:
                state = block.update(self.plan.start, state, 1.0)
        return state

    def _sweep(self, state: State, iteration: int) -> tuple[State, bool]:
        """All blocks once, and whether a callback asked to stop; it is heard when the iteration is complete."""
        stop = False
        for block in self.plan.blocks:
            began = time.perf_counter()
            state = self._update(block, state, iteration)
            self.seconds[block.name] = self.seconds.get(block.name, 0.0) + time.perf_counter() - began
            energy = self._energy(state) if self.every_block else None
            if energy is not None:
                self.blocks.append((block.name, energy))
            name = block.variables[0]
            marginal = state.marginals[name]
            stop |= self._call("after_update", iteration, variable=name, marginal=marginal, energy=energy)
        return state, stop

    def _update(self, block: Block, state: State, iteration: int) -> State:
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                return block.update(self.plan.program, state, self.settings.damping_of(block.variables))
        except FloatingPointError as error:
            raise Diverged(
                f"the update of {block.name} in iteration {iteration} left the range of float64 ({error}): the free "
                "energy may be unbounded below, as where forecasts are exact and nothing bounds their precision. Bound "
                "it: fix the noise of its log, or give the precision a rate prior"
            ) from error

    def _after(self, state: State, iteration: int) -> str:
        energy = None
        if self.wants_energy:
            energy = self.blocks[-1][1] if self.every_block and self.blocks else self._energy(state)
        # From here on the iteration counts: its state and its free energy belong together.
        self.trace.append(np.nan if energy is None else energy)
        self.complete = state
        if self.kept is not None:
            self.kept.append(state)
        if self._call("after_iteration", iteration, energy=energy):
            return STOPPED
        return "converged" if self._settled() else ""

    def _settled(self) -> bool:
        if self.plan.exact and self.settings.full_steps:
            return True
        last = self.trace[-SETTLED - 1 :]
        if not self.wants_energy or len(last) <= SETTLED:
            return False
        bounds = [self.settings.atol + self.settings.rtol * abs(f) for f in last[1:]]
        return all(abs(b - a) <= bound for a, b, bound in zip(last, last[1:], bounds, strict=False))

    def _energy(self, state: State) -> float:
        began = time.perf_counter()
        energy = total(self.plan.program, state)
        self.seconds["free energy"] = self.seconds.get("free energy", 0.0) + time.perf_counter() - began
        return energy

    def _call(
        self,
        kind: str,
        iteration: int,
        variable: str | None = None,
        marginal: Distribution | None = None,
        energy: float | None = None,
    ) -> bool:
        event = Event(kind, iteration, self.settings.iterations, variable, marginal, energy)
        answers = [callback(event) for callback in self.callbacks]
        return any(answer is STOP for answer in answers)

    def _result(self, state: State, reason: str, error: Exception | None) -> Run:
        converged = reason == "converged"
        if not reason:
            reason = f"iteration limit {self.settings.iterations} reached"
        trace = np.asarray(self.trace, dtype=np.float64)
        kept: Any = self.kept or []
        return Run(state, trace, self.blocks, converged, len(self.trace), reason, self.seconds, error, kept)
