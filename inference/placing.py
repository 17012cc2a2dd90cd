"""How a known array becomes what a port holds: its numbers, its name, its plates and what it may not be."""

import numbers
from collections.abc import Callable, Mapping
from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np

from inference.distributions import Distribution
from inference.errors import DataError, SpecError
from inference.structure import Known, Plate, Variable
from inference.types import Array

_ALLOWED = {"positive": "above 0", "probability": "between 0 and 1", "binary": "0 or 1"}


def as_array(values: Any, name: str) -> Array:
    """Numbers as float64, with None, pandas' NA and masked entries as NaN; what has ``__array__`` may be given.

    Raises
    ------
    DataError : it holds something that is no number, or an infinity; the text names the place.

    Example
    -------
    >>> as_array([1, None], "y")
    array([ 1., nan])
    """
    masked = isinstance(values, np.ma.MaskedArray)
    array = np.asarray(values.data if masked else _as_given(values, name))
    if array.dtype.kind == "O":
        array = _numbers_of(array, name)
    elif array.dtype.kind not in "fiub":
        raise DataError(f"data {name!r} holds {array.dtype} values; numbers are allowed, None and NaN mark gaps")
    array = array.astype(np.float64, copy=False)
    if masked and np.ma.getmask(values) is not np.ma.nomask:
        array = np.where(np.ma.getmaskarray(values), np.nan, array)
    if np.isinf(array).any():
        place = _first(np.isinf(array))
        raise DataError(f"data {name!r} is infinite{place}; numbers must be finite, or NaN where they are missing")
    return array


def _as_given(values: Any, name: str) -> Any:
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"data {name!r} makes no array ({error}); give numbers in rows of one length, None and NaN mark gaps"
        ) from None


def _numbers_of(array: Array, name: str) -> Array:
    flat = [_number(x) for x in array.ravel()]
    wrong = [k for k, x in enumerate(flat) if x is None]
    if wrong:
        found = array.ravel()[wrong[0]]
        place = tuple(int(k) for k in np.unravel_index(wrong[0], array.shape))
        raise DataError(
            f"data {name!r} holds {found!r} ({type(found).__name__}){f' at {place}' if place else ''}; numbers are "
            "allowed, None and NaN mark gaps"
        )
    return np.array(flat, dtype=np.float64).reshape(array.shape)


def _number(x: Any) -> float | None:
    if x is None or type(x).__name__ in ("NAType", "MaskedConstant"):
        return np.nan
    return float(x) if isinstance(x, numbers.Real | Decimal | np.bool_) else None


def plates_of(plates: Any) -> tuple[Plate, ...]:
    """One plate or several as a tuple.

    Raises
    ------
    SpecError : something among them is no plate.

    Example
    -------
    >>> plates_of(Plate("row", 3))
    (Plate(name='row', size=3),)
    """
    several = tuple(plates) if isinstance(plates, tuple | list) else (plates,)
    for plate in several:
        if not isinstance(plate, Plate):
            raise SpecError(f"plates are made by m.plate(name, size); got {plate!r}")
    if len({p.name for p in several}) != len(several):
        raise SpecError(f"a plate is named twice in {[p.name for p in several]}; a factor is repeated over each once")
    return several


def sizes_said(plates: tuple[Plate, ...]) -> str:
    """The plates with their sizes, for an error.

    Example
    -------
    >>> sizes_said((Plate("row", 3), Plate("expert", 2)))
    'row=3, expert=2'
    """
    return ", ".join(f"{p.name}={p.size}" for p in plates) or "no plates"


class Labels:
    """The names of the known arrays of a model: that of the datum an array is, else of where it was used first."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = [(name, value) for name, value in data.items() if isinstance(value, np.ndarray | float)]
        self._used: dict[str, Any] = {}

    def of(self, value: Any, fallback: str) -> str:
        """The label of an array; one array has one label, and different arrays have different ones.

        Raises
        ------
        SpecError : a datum comes after other values that were given its name.
        """
        if isinstance(value, np.ndarray):
            for name, other in self._used.items():
                if other is value:
                    return name
        for name, datum in self._data:
            if datum is value:
                return self._datum(name, value)
        return self._new(fallback, value)

    def _datum(self, name: str, value: Any) -> str:
        if self._used.setdefault(name, value) is not value:
            raise SpecError(
                f"datum {name!r} is used after other values that are called {name!r}; missing values are predicted by "
                "name, so give those another: m.data(name, values, plates=...)"
            )
        return name

    def _new(self, name: str, value: Any) -> str:
        label, count = name, 1
        while label in self._used and self._used[label] is not value:
            count += 1
            label = f"{name}#{count}"
        self._used[label] = value
        return label


def place(where: str, label: str, value: Any, kind: str, event_ndim: int, plates: tuple[Plate, ...]) -> Known:
    """A known value at a port: an array as it is labelled, over the leading plates of its factor.

    Raises
    ------
    SpecError : it is no array, or its shape does not begin with the sizes of the plates; the text says what to write.
    DataError : it holds what is no finite number.
    """
    if isinstance(value, Known):
        return Known(value.label, value.values, value.plates, value.event, kind)
    refuse_non_numbers(where, value)
    array = as_array(value, label)
    if array.ndim < event_ndim:
        raise SpecError(f"{where} takes vectors, got an array of shape {array.shape}; its last axis is the vector")
    shape = array.shape[: array.ndim - event_ndim]
    return Known(label, array, _leading(where, label, shape, plates), array.shape[array.ndim - event_ndim :], kind)


def refuse_non_numbers(where: str, value: Any) -> None:
    """Say what to write in place of what is no array.

    Raises
    ------
    SpecError : a distribution, a plate, a name, a function or several variables.
    """
    remedy = None
    if isinstance(value, Distribution):
        remedy = "make it a variable, m.prior(name, distribution), and pass that"
    elif isinstance(value, str | bytes):
        remedy = "pass the variable that the letter returned, or an array, not a name"
    elif isinstance(value, list | tuple) and any(isinstance(v, Variable) for v in value):
        remedy = "one variable goes to one port; several of a kind are one variable over a plate"
    elif isinstance(value, Plate | Mapping) or callable(value) or value is None:
        remedy = "pass a variable, a number or an array"
    if remedy is not None:
        raise SpecError(f"{where} takes a variable or numbers, got {value!r}; {remedy}")


def _leading(where: str, label: str, shape: tuple[int, ...], plates: tuple[Plate, ...]) -> tuple[Plate, ...]:
    """The axes of an array are the leading plates: what it means never depends on which sizes happen to agree."""
    if tuple(p.size for p in plates[: len(shape)]) == shape:
        return plates[: len(shape)]
    fits = [c for c in combinations(plates, len(shape)) if tuple(p.size for p in c) == shape]
    said = " or ".join(f"m.data({label!r}, values, plates={_call(c)})" for c in fits)
    remedy = f"say which they are: {said}" if fits else "give it that shape, or pass plates= that have it"
    raise SpecError(
        f"{where}: an array with plate axes {shape} does not begin with the plates ({sizes_said(plates)}); {remedy}"
    )


def _call(plates: tuple[Plate, ...]) -> str:
    names = ", ".join(p.name for p in plates)
    return names if len(plates) == 1 else f"({names})"


_OUTSIDE: dict[str, Callable[[Array], Array]] = {
    "positive": lambda x: np.asarray(x <= 0),
    "probability": lambda x: np.asarray((x <= 0) | (x >= 1)),
    "binary": lambda x: np.asarray(~(np.isnan(x) | (x == 0) | (x == 1))),
}


def check_values(where: str, value: Known, may_miss: bool) -> None:
    """Whether a port may hold these values.

    Raises
    ------
    DataError : a value is missing where none may be, or is not of the port's type; the text names the place.
    """
    array = value.values
    if not may_miss and np.isnan(array).any():
        raise DataError(
            f"{where}: {value.label!r} is NaN{_first(np.isnan(array))}, and a value may not be missing here; drop or "
            "impute these rows, or make the port a latent variable with a prior"
        )
    outside = _OUTSIDE.get(value.type)
    wrong: Array | None = None if outside is None else outside(array)
    if wrong is not None and wrong.any():
        found, place_ = array[wrong].ravel()[0], _first(wrong)
        raise DataError(
            f"{where}: {value.label!r} is {found:.6g}{place_}; a {value.type} value is {_ALLOWED[value.type]}"
        )


def _first(where: Any) -> str:
    """The first place at which an array is true, in words."""
    place_ = tuple(int(k) for k in np.argwhere(where)[0])
    return f" at {place_}" if place_ else ""
