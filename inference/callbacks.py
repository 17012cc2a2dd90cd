"""What is called while inference runs: to look, to record, or to stop it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from inference.distributions import Distribution
from inference.errors import InferenceError, SpecError
from inference.naming import meant


class _Stop:
    def __repr__(self) -> str:
        return "STOP"


STOP: Final = _Stop()
"""What a callback returns to end inference."""

KINDS = ("before_inference", "after_update", "after_iteration", "after_inference")


@dataclass(frozen=True, eq=False)
class Event:
    """One moment of a run.

    ``kind`` is one of ``before_inference``, ``after_update`` (of a block; ``variable`` is its first, ``marginal`` its
    marginal), ``after_iteration`` and ``after_inference``. ``free_energy`` is in nats, None where it was not computed.
    """

    kind: str
    iteration: int
    iterations: int
    variable: str | None = None
    marginal: Distribution | None = None
    free_energy: float | None = None


Callback = Callable[[Event], Any]


@dataclass
class EarlyStop:
    """Stop when the free energy fell by less than ``tolerance`` nats in each of the last ``patience`` iterations.

    Raises
    ------
    SpecError : the tolerance is below 0 or the patience below 1.

    Example
    -------
    >>> stop = EarlyStop(tolerance=1.0, patience=1)
    >>> [stop(Event("after_iteration", k, 9, free_energy=f)) for k, f in enumerate([5.0, 3.0, 2.9])]
    [None, None, STOP]
    """

    tolerance: float
    patience: int = 2
    _last: float | None = None
    _calm: int = 0

    def __post_init__(self) -> None:
        if not self.tolerance >= 0 or self.patience < 1:
            raise SpecError(f"EarlyStop takes a tolerance of 0 nats or more and a patience of 1 or more, not {self}")

    def __call__(self, event: Event) -> Any:
        """STOP once the free energy has been calm for long enough."""
        if event.kind == "before_inference":
            self._last, self._calm = None, 0
        if event.kind != "after_iteration" or event.free_energy is None:
            return None
        fell = np.inf if self._last is None else self._last - event.free_energy
        self._calm = self._calm + 1 if fell < self.tolerance else 0
        self._last = event.free_energy
        return STOP if self._calm >= self.patience else None


class Trace:
    """Records every event's iteration, variable and free energy; ``kinds`` says of which.

    Raises
    ------
    SpecError : there is no event of that kind.

    Example
    -------
    >>> trace = Trace()
    >>> trace(Event("after_iteration", 0, 5, free_energy=2.0))
    >>> trace.free_energy
    [2.0]
    """

    def __init__(self, kinds: tuple[str, ...] = ("after_iteration",), *, marginals: bool = False) -> None:
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown:
            raise SpecError(f"there is no event {meant(unknown, KINDS)}; the kinds are {', '.join(KINDS)}")
        self.kinds, self._keep = kinds, marginals
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Keep the event if it is of a wanted kind."""
        if event.kind in self.kinds:
            kept = event.marginal if self._keep else None
            self.events.append(
                Event(event.kind, event.iteration, event.iterations, event.variable, kept, event.free_energy)
            )

    @property
    def free_energy(self) -> list[float]:
        """The free energies recorded, where there were any."""
        return [e.free_energy for e in self.events if e.free_energy is not None]


class NotMonotone(InferenceError, AssertionError):  # noqa: N818
    """The free energy rose in an update that should have lowered it."""


@dataclass
class AssertMonotone:
    """Raise where the free energy rises by more than ``tolerance (1 + |F|)``, naming the block.

    Its presence makes inference compute the free energy after every block.

    Example
    -------
    >>> AssertMonotone().every_block
    True
    """

    tolerance: float = 1e-9
    every_block: bool = True
    _last: float | None = None

    def __call__(self, event: Event) -> None:
        """Compare with the update before."""
        if event.kind == "before_inference":
            self._last = event.free_energy
        if event.kind != "after_update" or event.free_energy is None:
            return
        if self._last is not None and event.free_energy > self._last + self.tolerance * (1.0 + abs(self._last)):
            raise NotMonotone(
                f"the free energy rose from {self._last:.12g} to {event.free_energy:.12g} in the update of "
                f"{event.variable!r} in iteration {event.iteration}"
            )
        self._last = event.free_energy


class Progress:
    """A progress bar over the iterations, with the free energy beside it; silent where there is no terminal.

    ``console`` is where rich draws it, standard error if not given.

    Example
    -------
    >>> Progress().description
    'inference'
    """

    def __init__(self, description: str = "inference", console: Any = None) -> None:
        self.description, self._console = description, console
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, event: Event) -> None:
        """Start, move or stop the bar."""
        if event.kind == "before_inference":
            self._start(event)
        if self._bar is None:
            return
        if event.kind == "after_iteration":
            said = "" if event.free_energy is None else f"  F = {event.free_energy:.6g}"
            self._bar.update(self._task, completed=event.iteration + 1, description=self.description + said)
        if event.kind == "after_inference":
            self._bar.stop()
            self._bar = None

    def _start(self, event: Event) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        console = self._console or Console(stderr=True)
        if console.is_terminal:
            self._bar = Bar(transient=True, console=console)
            self._task = self._bar.add_task(self.description, total=event.iterations)
            self._bar.start()
