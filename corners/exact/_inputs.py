"""What every function of this package accepts: checked once at the door, float64 and finite behind it."""

import math

import numpy as np
from numpy.typing import ArrayLike

from corners.errors import DataError, SpecError
from corners.types import Array, Float, Int


def as_float64(name: str, values: ArrayLike) -> Float[Array, "..."]:
    """Finite float64 array; NaN or infinity is refused with the row and the column where it stands."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} must be numbers; got {type(values).__name__} that cannot be read as float64"
        ) from error
    with np.errstate(over="ignore", invalid="ignore"):
        finite = math.isfinite(array.sum())  # one pass; only a suspicious sum pays for the element-wise search
    if not finite and not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0]
        where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), place, strict=False))
        raise DataError(f"{name} holds {array[tuple(place)]} at {where or 'its only entry'}; drop or impute such rows")
    return array


def as_features(features: ArrayLike, name: str = "features") -> Float[Array, "N H"]:
    """Finite float64 matrix with at least one row and one column."""
    array = as_float64(name, features)
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"{name} must have shape (N, H) with N, H >= 1; got {array.shape}")
    return array


def as_vector(name: str, values: ArrayLike, length: int) -> Float[Array, " N"]:
    """Finite float64 vector of a given length; one column ``(N, 1)`` is the same vector."""
    array = as_float64(name, values)
    if array.shape not in ((length,), (length, 1)):
        raise DataError(
            f"{name} must have shape ({length},) or ({length}, 1) to go with the features; got {array.shape}"
        )
    return array.reshape(length)


def as_problem(features: ArrayLike, targets: ArrayLike) -> tuple[Float[Array, "N H"], Float[Array, " N"]]:
    """Features and targets that belong together."""
    matrix = as_features(features)
    return matrix, as_vector("targets", targets, len(matrix))


def as_new_features(features: ArrayLike, columns: int) -> Float[Array, "N H"]:
    """Features at new inputs: as many columns as the training features have."""
    matrix = as_features(features, "new features")
    if matrix.shape[1] != columns:
        raise DataError(f"new features have {matrix.shape[1]} columns, the training features have {columns}")
    return matrix


def as_order(order: ArrayLike | None, length: int) -> Int[Array, " N"] | None:
    """A permutation of ``0..length-1``, or ``None`` for the order of the rows."""
    if order is None:
        return None
    array = np.asarray(order)
    if array.shape != (length,) or not np.array_equal(np.sort(array), np.arange(length)):
        raise SpecError(f"order must be a permutation of 0..{length - 1}; got an array of shape {array.shape}")
    return array.astype(np.intp)


def positive(name: str, value: float, *, infinite: bool = False) -> float:
    """A number above zero; ``infinite`` also admits infinity (the null model's prior precision)."""
    number = float(value)
    if number > 0.0 and (infinite or number < math.inf):
        return number
    remedy = "; without a prior the precision is zero in every direction the features do not span: add a prior"
    raise SpecError(
        f"{name} must be a positive{'' if infinite else ' finite'} number; got {value}"
        f"{remedy if name == 'prior_precision' and number == 0.0 else ''}"
    )


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in allowed:
        raise SpecError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")
    return value
