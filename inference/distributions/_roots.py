"""Inverting a distribution function that has no closed inverse, for a whole array of levels at once."""

from collections.abc import Callable

import numpy as np

from inference.types import Array

ROUNDS = 200
"""At most: every second round without a Newton step halves the number of floats in a bracket, and there are 2^64."""

EPS = float(np.finfo(np.float64).eps)
LOWEST = np.iinfo(np.int64).min
Curve = Callable[[Array], Array]


def invert(cdf: Curve, density: Curve, level: Array, low: Array, high: Array, start: Array) -> Array:
    """An x in ``[low, high]`` with ``cdf(x) = level`` to rounding; where the cdf jumps past it, the place of the jump.

    Newton steps by ``density`` while they stay inside the bracket and are at most half the last but one; bisection
    otherwise, so that steps, flat stretches and a density of zero only cost time.
    """
    settled = ~(low < high)
    x = np.where(settled, 0.0, low)  # no infinite end is ever evaluated
    found = np.where(~settled & (cdf(x) >= level), low, high)
    settled = settled | (found == low)
    last = before = np.where(settled, 0.0, high) - x
    x = np.where(settled, x, np.clip(start, low, high))
    for turn in range(ROUNDS):
        if settled.all():
            break
        excess, slope = cdf(x) - level, density(x)
        low, high = np.where(excess < 0.0, x, low), np.where(excess < 0.0, high, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = x - excess / slope
            good = (low < newton) & (newton < high) & (np.abs(newton - x) <= 0.5 * np.abs(before))
        close = (np.abs(excess) <= 2.0 * EPS * level) | (np.abs(newton - x) <= 2.0 * EPS * np.abs(x))
        arrived = (slope > 0.0) & close
        middle = _between(low, high) if turn % 2 else 0.5 * low + 0.5 * high
        found = np.where(settled, found, np.where(arrived, x, high))
        settled = settled | arrived | ~((low < middle) & (middle < high))
        following = np.where(settled, x, np.where(good, newton, middle))
        x, last, before = following, following - x, last
    return found


def _between(low: Array, high: Array) -> Array:
    """As many floats below as above: halves orders of magnitude where the arithmetic mean would creep."""
    a, b = _ordinal(low), _ordinal(high)
    middle = np.asarray((a >> 1) + (b >> 1) + (a & b & 1))
    return _mirrored(middle).view(np.float64)


def _ordinal(x: Array) -> Array:
    return _mirrored(np.ascontiguousarray(x, np.float64).view(np.int64)).reshape(x.shape)


def _mirrored(bits: Array) -> Array:
    """From sign and magnitude to an order, and back."""
    return np.where(bits < 0, LOWEST - np.minimum(bits, 0), bits)
