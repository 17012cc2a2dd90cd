"""What constructors refuse, in one place and one voice: class, parameter, first bad entry and what is allowed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from inference.errors import SpecError
from inference.types import Array

Test = Callable[[Array], Array]


def frozen(array: Array) -> Array:
    """The array itself, from now on read-only."""
    array.flags.writeable = False
    return array


def numbers(family: type, name: str, value: Any) -> Array:
    """A read-only float64 copy; what has no real numbers in it is refused."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biuf":
            raise TypeError(f"entries of type {given.dtype}")
        return frozen(np.array(given, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise SpecError(f"{family.__name__}: {name} must be an array of real numbers but got {error}") from None


def finite(family: type, name: str, value: Any) -> Array:
    """Any finite numbers."""
    return _passing(family, name, value, "finite", np.isfinite)


def positive(family: type, name: str, value: Any) -> Array:
    """Finite numbers above zero."""
    return _passing(family, name, value, "positive and finite", lambda x: (x > 0.0) & (x < np.inf))


def unit_interval(family: type, name: str, value: Any) -> Array:
    """Numbers from 0 to 1, both included."""
    return _passing(family, name, value, "between 0 and 1", lambda x: (x >= 0.0) & (x <= 1.0))


def vectors(family: type, name: str, array: Array) -> Array:
    """The same array if its last axis is an event of at least one coordinate."""
    if array.ndim == 0 or array.shape[-1] == 0:
        raise SpecError(
            f"{family.__name__}: {name} must have shape (..., d) with d >= 1 but got {array.shape}; "
            "a scalar has families of its own"
        )
    return array


def points(family: type, x: Any, event_shape: tuple[int, ...]) -> Array:
    """Points as float64 whose last axes are the event."""
    given = np.asarray(x, dtype=np.float64)
    if event_shape and given.shape[-1:] != event_shape:
        raise SpecError(f"{family.__name__}: points must have shape (..., {event_shape[0]}) but got {given.shape}")
    return given


def levels(family: type, q: Any, batch_shape: tuple[int, ...], event_shape: tuple[int, ...]) -> Array:
    """Quantile levels, shaped to stand before batch and event."""
    given = unit_interval(family, "quantile level", q)
    return given.reshape(given.shape + (1,) * (len(batch_shape) + len(event_shape)))


def _passing(family: type, name: str, value: Any, allowed: str, test: Test) -> Array:
    array = numbers(family, name, value)
    good = test(array)
    if not good.all():
        first = tuple(int(i) for i in np.argwhere(~good)[0])
        where = f"{name}{list(first)}" if first else name
        count = f" ({int((~good).sum())} of {good.size} entries are not)" if good.size > 1 else ""
        raise SpecError(f"{family.__name__}: {name} must be {allowed} but {where} is {float(array[first])}{count}")
    return array
