"""Reporters and methods for tests of comparisons: one that listens, one that interrupts, methods that fail."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from corners.method import Fit, Method


class Listener:
    """Remembers what it heard; raises ``KeyboardInterrupt`` at the update number ``interrupt_at`` of ``task``."""

    def __init__(self, task: str | None = None, interrupt_at: int = 0) -> None:
        self.task, self.interrupt_at = task, interrupt_at
        self.started: list[str] = []
        self.totals: list[int | None] = []
        self.finished: list[str] = []
        self.updates: dict[str, int] = {}

    def start(self, task: str, total: int | None) -> None:
        self.started.append(task)
        self.totals.append(total)
        if task == self.task and self.interrupt_at == 0:
            raise KeyboardInterrupt

    def update(self, step: int, running: int, best: float) -> None:
        task = self.started[-1]
        self.updates[task] = self.updates.get(task, 0) + 1
        if task == self.task and self.updates[task] == self.interrupt_at:
            raise KeyboardInterrupt

    def finish(self, message: str) -> None:
        self.finished.append(message)


@dataclass(frozen=True)
class Stub(Method):
    """A method that does what it is told when it is fitted, and counts how often that was."""

    act: Callable[[], Fit]
    name: str = "stub"
    calls: list[Any] = field(default_factory=list)

    def fit(self, splits, seeds, *, host=None, progress=None) -> Fit:
        self.calls.append(tuple(seeds))
        return self.act()


def failing(error: BaseException, name: str = "broken") -> Stub:
    """A method whose fit raises."""

    def act() -> Fit:
        raise error

    return Stub(act, name)
