"""How a known array finds its plates, and what it may hold at a port."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from inference.errors import DataError, SpecError
from inference.nodes._base import Node
from inference.structure import Held, Known, Plate, Variable
from inference.types import Array


def as_array(values: Any, name: str) -> Array:
    """Numbers as float64, with None and masked entries as NaN.

    Raises
    ------
    DataError : it holds something that is no number, or an infinity.

    Example
    -------
    >>> as_array([1, None], "y")
    array([ 1., nan])
    """
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and not np.ma.isMaskedArray(values):
        array = values
    elif np.ma.isMaskedArray(values):
        array = values.astype(np.float64).filled(np.nan)
    else:
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"data {name!r} is not an array of numbers ({error}); None and NaN mark missing") from None
    if np.isinf(array).any():
        place = tuple(int(k) for k in np.argwhere(np.isinf(array))[0])
        raise DataError(f"data {name!r} is infinite at {place}; infer needs finite numbers, or NaN where missing")
    return array


def plates_of(plates: Plate | tuple[Plate, ...] | list[Plate]) -> tuple[Plate, ...]:
    """One plate or several as a tuple.

    Raises
    ------
    SpecError : something among them is no plate.

    Example
    -------
    >>> plates_of(Plate("row", 3))
    (Plate(name='row', size=3),)
    """
    several = (plates,) if isinstance(plates, Plate) else tuple(plates)
    for plate in several:
        if not isinstance(plate, Plate):
            raise SpecError(f"plates are made by m.plate(name, size); got {plate!r}")
    if len({p.name for p in several}) != len(several):
        raise SpecError(f"a plate is named twice in {[p.name for p in several]}")
    return several


def known(label: str, array: Array, plates: tuple[Plate, ...], event_ndim: int, kind: str = "real") -> Known:
    """A known value whose leading axes are these plates.

    Example
    -------
    >>> known("y", np.zeros(3), (Plate("row", 3),), 0).event
    ()
    """
    return Known(label, array, plates, array.shape[array.ndim - event_ndim :], kind)


def place_known(
    label: str,
    letter: str,
    port: str,
    value: Any,
    node: Node,
    given: Mapping[str, Any],
    plates: tuple[Plate, ...],
    data: Mapping[str, Any],
    event: tuple[int, ...] | None = None,
) -> Held:
    """What a port holds: a variable as it is, an array with the plates its shape fits.

    Raises
    ------
    SpecError : the shape fits no plates, or fits several; the text says how to name them.
    DataError : the values are not allowed at this port.
    """
    if isinstance(value, Variable):
        return value
    kind = node.port_types()[port]
    event_ndim = node.event_ndim(port, given) if event is None else len(event)
    where = f"{letter} {label!r}, port {port}"
    if isinstance(value, Known):
        fitted = known(value.label, value.values, value.plates, len(value.event), kind)
    else:
        name = next((k for k, v in data.items() if v is value), label if event is not None else f"{label}.{port}")
        array = as_array(value, name)
        if array.ndim < event_ndim:
            raise SpecError(f"{where} takes vectors, got an array of shape {array.shape}")
        fitted = known(name, array, _fit(where, array.shape[: array.ndim - event_ndim], plates), event_ndim, kind)
    if event is not None and fitted.event != event:
        raise SpecError(f"{where}: the observed values have event shape {fitted.event}, the variable {event}")
    _check_values(where, fitted, port in node.may_miss)
    return fitted


def _fit(where: str, shape: tuple[int, ...], plates: tuple[Plate, ...]) -> tuple[Plate, ...]:
    """Leading plates where the sizes fit, else the only choice of plates in order that fits."""
    sizes = tuple(p.size for p in plates)
    if sizes[: len(shape)] == shape:
        return plates[: len(shape)]
    fits = [c for c in combinations(plates, len(shape)) if tuple(p.size for p in c) == shape]
    if len(fits) == 1:
        return fits[0]
    named = ", ".join(f"{p.name}={p.size}" for p in plates) or "none"
    problem = "fits no choice of" if not fits else "fits several choices of"
    raise SpecError(
        f"{where}: an array with plate axes {shape} {problem} the plates ({named}); name its plates with "
        "m.data(name, values, plates=...), or pass plates= to the letter"
    )


def _check_values(where: str, value: Known, may_miss: bool) -> None:
    array = value.values
    if not may_miss and np.isnan(array).any():
        place = tuple(int(k) for k in np.argwhere(np.isnan(array))[0])
        raise DataError(
            f"{where}: {value.label!r} is NaN at {place}, and a value may not be missing here; drop or impute these "
            "rows, or make the port a latent variable with a prior"
        )
    seen = array[~np.isnan(array)]
    allowed = {"positive": seen > 0, "probability": (seen > 0) & (seen < 1), "binary": (seen == 0) | (seen == 1)}
    said = {"positive": "above 0", "probability": "between 0 and 1", "binary": "0 or 1"}
    if value.type in allowed and not np.all(allowed[value.type]):
        wrong = seen[~allowed[value.type]][0]
        raise DataError(f"{where}: {value.label!r} holds {wrong:.6g}; a {value.type} value is {said[value.type]}")
