"""Progress on standard error: a bar on a terminal, one plain line a task elsewhere."""

import math
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

PLAIN_SECONDS = 15.0
"""Without a terminal a running task says something this often at most."""


class Progressing:
    """A reporter for :func:`corners.study.compare`; standard output stays free for results."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self.live = self.console.is_terminal and not quiet
        self.bar = Progress(
            TextColumn("{task.description:<26}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
        )
        self.task = "", 0.0

    def __enter__(self) -> "Progressing":
        if self.live:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live:
            self.bar.stop()

    def start(self, task: str, total: int | None) -> None:
        """A task begins."""
        self.task = task, time.monotonic()
        self.last_said = time.monotonic()
        if self.live:
            for old in self.bar.task_ids:
                self.bar.remove_task(old)
            self.bar.add_task(task, total=total, note="")

    def update(self, step: int, running: int, best: float) -> None:
        """It goes on."""
        known = "" if math.isnan(best) or math.isinf(best) else f", best validation NLL {best:.3f}"
        note = f"step {step}, {running} still running{known}"
        if self.live:
            self.bar.update(self.bar.task_ids[0], completed=step, note=note)
        elif time.monotonic() - self.last_said > PLAIN_SECONDS:
            self.last_said = time.monotonic()
            self.console.print(f"  {self.task[0]}: {note}", markup=False)

    def finish(self, message: str) -> None:
        """It is over."""
        name, started = self.task
        seconds = time.monotonic() - started
        text = message if message.endswith(" s") else f"{message} ({seconds:.1f} s)"
        self.console.print(f"  {name:<26} {text}", markup=False, soft_wrap=True)
