"""Special functions of the heads in numpy and scipy (theory 6.2)."""

from typing import Any

import numpy as np
from scipy import special

from inference.types import Array

LOG_2PI = float(np.log(2.0 * np.pi))
SQRT_HALF = float(np.sqrt(0.5))
NARROW = 1e-3


def log_ndtr_difference(lower: Array, upper: Array, width: Array) -> Array:
    """``log(Φ(upper) - Φ(lower))``, ends finite or infinite; ``width`` their distance, infinite at an open end.

    Example
    -------
    >>> value = log_ndtr_difference(np.array([-np.inf, 0.0]), np.array([0.0, np.inf]), np.full(2, np.inf))
    >>> bool((value == np.log(0.5)).all())
    True
    """
    lower, upper, width = np.broadcast_arrays(lower, upper, width)
    mirrored = lower > 0.0
    a, b = np.where(mirrored, -upper, lower), np.where(mirrored, -lower, upper)
    with np.errstate(invalid="ignore"):
        centre = 0.5 * (a + b)
        narrow = width * (1.0 + np.abs(centre)) < NARROW
    tail = ~narrow & (b <= 0.0)
    middle = ~(narrow | tail)
    value = np.empty(a.shape)
    c, w = centre[narrow], width[narrow]
    value[narrow] = -0.5 * (c**2 + LOG_2PI) + np.log(w) + np.log1p((c**2 - 1.0) * w**2 / 24.0)
    value[tail] = special.log_ndtr(b[tail]) + _log_one_minus(a[tail], b[tail], width[tail])
    value[middle] = np.log1p(-(special.ndtr(a[middle]) + special.ndtr(-b[middle])))
    return value


def _log_one_minus(a: Array, b: Array, width: Array) -> Array:
    """``log(1 - Φ(a)/Φ(b))`` for ``a < b ≤ 0``; the squares in the logarithms are subtracted on paper."""
    finite = np.isfinite(a)
    low, distance = np.where(finite, a, b - 1.0), np.where(finite, width, 1.0)
    mills = np.log(special.erfcx(-SQRT_HALF * low)) - np.log(special.erfcx(-SQRT_HALF * b))
    return np.where(finite, np.log(-np.expm1(0.5 * distance * (low + b) + mills)), 0.0)


def log_rising(counts: Array, size: Array | float) -> Array:
    """``log Γ(y + r) - log Γ(r) - y log r``, without cancellation for large r.

    Example
    -------
    >>> float(log_rising(np.array(2.0), 1.0) - np.log(2.0))
    0.0
    """
    counts, size = np.broadcast_arrays(np.asarray(counts, np.float64), np.asarray(size, np.float64))
    large = size > 32.0
    few, many = np.where(large, 1.0, size), np.where(large, size, 32.0)
    by_gamma = special.gammaln(counts + few) - special.gammaln(few) - counts * np.log(few)
    total = counts + many
    by_series = (total - 0.5) * np.log1p(counts / many) - counts + _stirling(total) - _stirling(many)
    return np.where(large, by_series, by_gamma)


def _stirling(size: Any) -> Any:
    """Of an array or a number: ``log Γ(r) - (r - ½) log r + r - ½ log 2π`` for r ≥ 32, to 1e-16."""
    square = size**-2.0
    return (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / size
