"""Choosing one candidate of a grid by validation NLL, and saying how much the choice is worth."""

from collections.abc import Sequence

import numpy as np

from corners.types import Array, Float, Int

FLAT = 1e-3
"""Nats a point between the best and the worst of a grid below which its choice means nothing."""


def choose(scores: Float[Array, "C K"]) -> Int[Array, " K"]:
    """The candidate of the lowest score, a replicate; NaN counts as infinitely bad.

    Where no candidate has a finite score the first is taken: its own status says that it failed.

    Example
    -------
    >>> choose(np.array([[2.0, np.nan], [1.0, 3.0]])).tolist()
    [1, 1]
    """
    return np.where(np.isnan(scores), np.inf, scores).argmin(axis=0)


def grid_remarks(name: str, grid: Sequence[float], scores: Float[Array, " C"], chosen: int) -> tuple[str, ...]:
    """Sentences where the optimum is at the edge of a grid, or the grid is flat.

    Example
    -------
    >>> grid_remarks("penalty", [0.1, 1.0, 10.0], np.array([3.0, 2.0, 1.0]), 2)
    ('penalty 10 is at the edge of its grid',)
    """
    if len(set(grid)) < 2:
        return ()
    said = []
    if grid[chosen] in (min(grid), max(grid)):
        said.append(f"{name} {grid[chosen]:g} is at the edge of its grid")
    finite = scores[np.isfinite(scores)]
    if len(finite) == len(scores) and np.ptp(finite) < FLAT:
        said.append(f"the grid of {name} is flat: its validation NLLs differ by {np.ptp(finite):.1g} nats")
    return tuple(said)
