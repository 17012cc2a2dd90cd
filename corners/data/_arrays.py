"""Turning what a user hands over into checked, read-only float64 arrays; every refusal names the column and the row."""

import hashlib
import json
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from corners.errors import DataError
from corners.types import Array, Float


class FrozenArrays:
    """A value whose arrays stay read-only when it is pickled or copied (numpy alone would make them writeable)."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(state)


def frozen(array: Array) -> Array:
    """A read-only float64 copy in row order."""
    copy = np.array(array, dtype=np.float64, order="C", copy=True)
    copy.setflags(write=False)
    return copy


def fingerprint(header: list[Any], *arrays: Array) -> str:
    """sha256 of a JSON header and of arrays as little-endian float64, the same on every machine."""
    digest = hashlib.sha256(json.dumps(header).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").data)
    return digest.hexdigest()


def checked_table(
    inputs: object,
    targets: object,
    names: Sequence[str] | None = None,
    target_name: str | Sequence[str] | None = None,
) -> tuple[Float[Array, "N D"], Float[Array, "N *P"], tuple[str, ...], tuple[str, ...]]:
    """Inputs (N, D), targets (N,), column names and target names; (N,) inputs become (N, 1), (N, 1) targets (N,).

    Several outputs are asked for by their names, one a column; the targets are then (N, P).

    Raises
    ------
    DataError : wrong shapes, text or other objects, NaN or infinity, names that do not fit.
    """
    x_shape, y_shape = _shape(inputs, "inputs"), _shape(targets, "targets")
    outputs = target_names(targets, target_name)
    _refuse_shapes(x_shape, y_shape, len(outputs))
    columns = column_names(inputs, names, x_shape[1] if len(x_shape) == 2 else 1)
    x = _numbers(inputs, columns).reshape(x_shape[0], len(columns))
    y = _numbers(targets, outputs).reshape(x_shape[0], len(outputs))
    _refuse_nonfinite(x, columns, "inputs")
    _refuse_nonfinite(y, outputs, "targets")
    return frozen(x), frozen(y[:, 0] if len(outputs) == 1 else y), columns, outputs


def target_names(targets: object, names: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names given, else those of a data frame of targets, the Series' name, or "target"; no name twice."""
    if names is None or isinstance(names, str):
        if not names and _is_frame(targets) and _shape(targets, "targets")[1] > 1:
            found = tuple(str(column) for column in getattr(targets, "columns"))  # noqa: B009
        else:
            return (names or _series_name(targets) or "target",)
    else:
        found = tuple(str(name) for name in names)
    if not found or len(set(found)) < len(found):
        raise DataError(f"target names must be one a column, none of them twice; got: {_listed(found) or 'no name'}")
    return found


def column_names(inputs: object, names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """The names given, else those of the data frame, else x0, x1, ...; one for each column and no name twice."""
    if names is None:
        columns = getattr(inputs, "columns", None) if _is_frame(inputs) else None
        names = [f"x{k}" for k in range(count)] if columns is None else [str(column) for column in columns]
    found = tuple(str(name) for name in names)
    if len(found) != count:
        raise DataError(
            f"{len(found)} feature names were given for {count} columns: {_listed(found)}; give one a column"
        )
    twice = sorted({name for name in found if found.count(name) > 1}) if len(set(found)) < count else []
    if twice:
        raise DataError(f"the column name {twice[0]!r} occurs more than once; give every column a name of its own")
    return found


def _listed(names: Sequence[str], limit: int = 12) -> str:
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown}, ... ({len(names)} in all)"


def _is_frame(values: object) -> bool:
    return hasattr(values, "columns") and hasattr(values, "iloc")


def _series_name(values: object) -> str | None:
    name = getattr(values, "name", None)
    return name if isinstance(name, str) else None


def _shape(values: object, what: str) -> tuple[int, ...]:
    if _is_frame(values):
        return tuple(getattr(values, "shape"))  # noqa: B009  (typed as object: pandas is not imported here)
    return _raw(values, what).shape


def _raw(values: Any, what: str) -> Array:
    if np.ma.isMaskedArray(values):
        values = np.ma.filled(values.astype(np.float64), np.nan)  # a masked entry is a missing one
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{what} cannot be read as a table (rows of unequal length?): {error}") from error


def _refuse_shapes(x: tuple[int, ...], y: tuple[int, ...], outputs: int) -> None:
    given = f"inputs have shape {x} and targets have shape {y}"
    if len(x) not in (1, 2) or x[1:] == (0,):
        raise DataError(f"{given}; inputs must be (N, D) with at least one column, or (N,)")
    if outputs > 1 and (len(y) != 2 or y[1] != outputs):
        raise DataError(f"{given}; {outputs} outputs were named, so targets must be ({x[0]}, {outputs})")
    if outputs == 1 and not (len(y) == 1 or (len(y) == 2 and y[1] == 1)):
        several = f"; for {y[1]} outputs name them: one target name a column" if len(y) == 2 and y[0] == x[0] else ""
        raise DataError(f"{given}; targets must be ({x[0]},) or ({x[0]}, 1){several}")
    if x[0] != y[0]:
        raise DataError(f"{given}: {x[0]} rows of inputs but {y[0]} targets; there must be one target a row")


def _numbers(values: Any, names: Sequence[str]) -> Array:
    if _is_frame(values):
        columns = [_frame_column(values.iloc[:, k], names[k]) for k in range(values.shape[1])]
        return np.stack(columns, axis=1)
    raw = _raw(values, names[0])
    if raw.dtype.kind in "biuf":
        return raw.astype(np.float64)
    if raw.dtype.kind in "mMc":
        raise DataError(
            f"column {names[0]!r} holds {raw.dtype} values; only real numbers are allowed: convert it first"
        )
    return _from_objects(np.asarray(values, dtype=object), names)


def _frame_column(column: Any, name: str) -> Array:
    if str(column.dtype) == "category":
        raise DataError(f"column {name!r} is categorical; Dataset.from_dataframe encodes such columns one-hot")
    return _numbers(np.asarray(column), (name,))


def _from_objects(objects: Array, names: Sequence[str]) -> Array:
    """Objects that are all real numbers as floats; the first that is not is named with its column and row."""
    table = objects.reshape(len(objects), -1)
    for column in range(table.shape[1]):
        for row, value in enumerate(table[:, column]):
            if not isinstance(value, (numbers.Real, np.bool_)):
                raise DataError(
                    f"column {names[column]!r} holds {value!r} ({type(value).__name__}) in row {row} (counted from 0); "
                    "only numbers are allowed: encode text yourself, or let Dataset.from_dataframe do it"
                )
    return table.astype(np.float64)


def _refuse_nonfinite(table: Float[Array, "N D"], names: Sequence[str], what: str) -> None:
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row, column = (int(k) for k in bad[0])
        raise DataError(
            f"{what} hold NaN or infinity {len(bad)} time(s), first {table[row, column]} in column {names[column]!r}, "
            f"row {row} (counted from 0); drop or fill these entries before you build the data set"
        )
