"""Where the wall time of a run went, part by part."""

import contextlib
import time
from collections.abc import Iterator


class Stopwatch:
    """``with watch("sampling"): ...`` adds the wall time of the block to that part.

    Example
    -------
    >>> watch = Stopwatch()
    >>> with watch("nothing"):
    ...     pass
    >>> list(watch.rounded())
    ['nothing']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Time a block."""
        start = time.perf_counter()
        yield
        self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - start

    def rounded(self) -> dict[str, float]:
        """Milliseconds are enough for a certificate."""
        return {part: round(value, 3) for part, value in self.seconds.items()}
