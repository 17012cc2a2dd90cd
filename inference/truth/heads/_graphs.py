"""Special functions as PyTensor graphs that Numba compiles, stable in value and gradient (theory 6.2).

Every branch of a switch sees arguments of its own range alone: the gradient of the branch that is not taken would
otherwise be NaN. Python numbers stand in products and sums only; PyTensor would take the logarithm of one in float32.
"""

from typing import Any

import numpy as np

SQRT_HALF = np.sqrt(0.5)
LOG_2PI = np.log(2.0 * np.pi)
NARROW = 1e-3
STIRLING_SIZE = 32.0


def log_ndtr(pt: Any, x: Any) -> Any:
    """``log Φ(x)``: by erfcx below -1, by log1p above."""
    low, high = pt.minimum(x, -1.0), pt.maximum(x, -1.0)
    return pt.switch(x < -1.0, _log_mills(pt, low) - 0.5 * low**2, pt.log1p(-0.5 * pt.erfc(SQRT_HALF * high)))


def log_ndtr_difference(pt: Any, lower: Any, upper: Any, width: Any) -> Any:
    """``log(Φ(upper) - Φ(lower))`` for finite ends; ``width`` is their distance, known better than the difference."""
    mirrored = lower > 0.0
    a, b = pt.switch(mirrored, -upper, lower), pt.switch(mirrored, -lower, upper)
    centre = 0.5 * (a + b)
    narrow = width * (1.0 + pt.abs(centre)) < NARROW
    tail = pt.and_(pt.invert(narrow), b <= 0.0)
    middle = pt.and_(pt.invert(narrow), b > 0.0)
    c, w = pt.switch(narrow, centre, 0.0), pt.switch(narrow, width, NARROW)
    series = -0.5 * (c**2 + LOG_2PI) + pt.log(w) + pt.log1p((c**2 - 1.0) * w**2 / 24.0)
    a_tail, b_tail, w_tail = pt.switch(tail, a, -2.0), pt.switch(tail, b, -1.0), pt.switch(tail, width, 1.0)
    # The squares of log Φ(a) - log Φ(b) are subtracted on paper.
    ratio = 0.5 * w_tail * (a_tail + b_tail) + _log_mills(pt, a_tail) - _log_mills(pt, b_tail)
    by_tail = _log_mills(pt, b_tail) - 0.5 * b_tail**2 + pt.log1mexp(ratio)
    a_mid, b_mid = pt.switch(middle, a, -1.0), pt.switch(middle, b, 1.0)
    by_middle = pt.log1p(-0.5 * (pt.erfc(-SQRT_HALF * a_mid) + pt.erfc(SQRT_HALF * b_mid)))
    return pt.switch(narrow, series, pt.switch(tail, by_tail, by_middle))


def _log_mills(pt: Any, x: Any) -> Any:
    """``log Φ(x) + x²/2`` for ``x ≤ 0``."""
    return pt.log(0.5 * pt.erfcx(-SQRT_HALF * x))


def log_rising(pt: Any, counts: Any, size: Any) -> Any:
    """``log Γ(y + r) - log Γ(r) - y log r``; by Stirling's series from r = 32 on, where the logarithms cancel."""
    large = size > STIRLING_SIZE
    few, many = pt.switch(large, 1.0, size), pt.switch(large, size, STIRLING_SIZE)
    by_gamma = pt.gammaln(counts + few) - pt.gammaln(few) - counts * pt.log(few)
    total = counts + many
    by_series = (total - 0.5) * pt.log1p(counts / many) - counts + _stirling(total) - _stirling(many)
    return pt.switch(large, by_series, by_gamma)


def _stirling(size: Any) -> Any:
    square = size**-2
    return (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / size
