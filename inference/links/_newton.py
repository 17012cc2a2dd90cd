"""Newton's method on many increasing scalar functions at once, each kept inside its own bracket."""

from collections.abc import Callable

import numpy as np

from inference.errors import InferenceError
from inference.types import Array

MAX_STEPS = 200
"""Far above what was ever needed: it only keeps a mistake from running for ever."""

Residual = Callable[..., tuple[Array, Array, Array]]


def bracketed_newton(
    residual: Residual, low: Array, high: Array, start: Array, parameters: tuple[Array, ...], *, tolerance: float
) -> tuple[Array, int]:
    """Roots inside ``[low, high]`` of ``residual(x, *parameters) -> (value, slope > 0, noise)``, and the steps taken.

    A step that leaves its bracket halves the bracket instead. An edge is finished when its step is at most
    ``tolerance (1 + |x|) + noise``, where noise is the rounding of the value in units of x; only edges that are not
    finished are computed again. All arrays are of one axis, the edges.
    """
    roots = np.clip(start, low, high)
    rows, x = np.arange(roots.size), roots
    for step in range(MAX_STEPS):
        if rows.size == 0:
            return roots, step
        value, slope, noise = residual(x, *parameters)
        low, high = np.where(value < 0.0, x, low), np.where(value > 0.0, x, high)
        moved = x - value / slope
        moved = np.where((moved >= low) & (moved <= high), moved, 0.5 * (low + high))
        done = np.abs(moved - x) <= tolerance * (1.0 + np.abs(moved)) + noise
        going = ~done | np.isnan(value)
        roots[rows] = moved
        rows, x, low, high = rows[going], moved[going], low[going], high[going]
        parameters = tuple(each[going] for each in parameters)
    raise InferenceError(f"{rows.size} link equations have no root after {MAX_STEPS} Newton steps: are inputs finite?")
