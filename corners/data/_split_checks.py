"""What a splitter refuses: seeds, fractions, a value a row, too few rows, tables that do not go together."""

import numbers
from collections.abc import Sequence

import numpy as np

from corners.data.dataset import Dataset
from corners.errors import DataError, SpecError
from corners.types import Array, Float


def checked_seed(seed: object) -> int:
    """A whole number that every generator in use accepts."""
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or not 0 <= int(seed) < 2**32:
        raise SpecError(f"seed is {seed!r}; it must be a whole number from 0 to 2**32 - 1")
    return int(seed)


def checked_fractions(fractions: Sequence[float]) -> Float[Array, "3"]:
    """Three positive shares with sum 1."""
    shares = np.asarray(fractions, dtype=np.float64)
    if shares.shape != (3,) or not (shares > 0).all() or abs(shares.sum() - 1.0) > 1e-9:
        allowed = "give three positive numbers with sum 1, such as (0.6, 0.2, 0.2)"
        raise SpecError(f"fractions are {tuple(fractions)}; {allowed}")
    return shares


def one_a_row(dataset: Dataset, values: str | Sequence[object], what: str) -> Array:
    """An input column by its name, or one given value a row, none of them missing."""
    if isinstance(values, str):
        if values not in dataset.feature_names:
            columns = ", ".join(dataset.feature_names)
            raise DataError(f"{what}: there is no column {values!r}; the columns are: {columns}")
        return dataset.inputs[:, dataset.feature_names.index(values)]
    found = np.asarray(values)
    if found.shape != (dataset.n,):
        given = f"{what} has shape {found.shape}, but {dataset.name!r} has {dataset.n} rows"
        raise DataError(f"{given}; give one value a row")
    missing = [row for row, value in enumerate(found.tolist()) if _is_missing(value)]
    if missing:
        raise DataError(f"{what} holds a missing value in row {missing[0]} (counted from 0); every row needs one")
    return found if found.dtype != object else found.astype(str)


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ == "NAType":  # pandas.NA has no truth value
        return True
    return bool(value != value)  # noqa: PLR0124  NaN and NaT differ from themselves


def refuse_fewer(dataset: Dataset, rows: int, purpose: str) -> None:
    """Too few rows for the purpose."""
    if dataset.n < rows:
        raise DataError(f"data set {dataset.name!r} has {dataset.n} row(s); {purpose} needs at least {rows}")


def refuse_other_columns(train: Dataset, test: Dataset) -> None:
    """Tables of which one lacks a column of the other, or of different tasks."""
    for one, other in ((train, test), (test, train)):
        missing = ", ".join(name for name in one.feature_names if name not in other.feature_names)
        if missing:
            raise DataError(
                f"{other.name!r} lacks the column(s) {missing} of {one.name!r}; both must have the same ones"
            )
    if (train.task, train.labels) != (test.task, test.labels):
        tasks = f"{train.name!r} is a {train.task} table and {test.name!r} a {test.task} table"
        raise DataError(f"{tasks}, or their class labels differ; both must be the same")
