"""From a pandas data frame or a CSV file to numbers: one-hot columns, class codes, and refusals that name the cell."""

import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corners.errors import DataError, SpecError
from corners.types import Array, Float

MOST_CATEGORIES = 100
CHOICES = ("one_hot", "text", "refuse")


@dataclass(frozen=True)
class EncodedFrame:
    """The numbers of a data frame, the names of its columns and a note on what was encoded."""

    inputs: Float[Array, "N D"]
    targets: Float[Array, "N *P"]
    feature_names: tuple[str, ...]
    labels: tuple[str, ...] | None
    folds: tuple[str, ...] | None
    note: str


def read_csv(path: Path, separator: str, targets: Sequence[str]) -> Any:
    """The file as a data frame; only an empty field counts as missing, numbers are read to the last bit."""
    import pandas as pd

    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}; check the path")
    # Since 3.1 pandas reads decimals exactly and deprecates the word for it.
    old = tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
    exact: dict[str, Any] = {"float_precision": "round_trip"} if old else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header would be cut
            frame = pd.read_csv(path, sep=separator, keep_default_na=False, na_values=[""], index_col=False, **exact)
    except (ValueError, OSError, EOFError, zlib.error, pd.errors.ParserWarning) as error:
        raise DataError(f"{path.name!r} cannot be read as UTF-8 CSV with separator {separator!r}: {error}") from error
    if frame.shape[1] == 1 and str(frame.columns[0]) not in targets:
        for other in (";", "\t", ",", "|"):
            if other in str(frame.columns[0]):
                raise DataError(
                    f"{path.name!r} has one column only; it looks separated by {other!r}: give separator={other!r}"
                )
    return frame


def encode_frame(
    frame: Any,
    *,
    targets: Sequence[str],
    task: str,
    categorical: str,
    codes: Sequence[str] = (),
    fold: str | None = None,
) -> EncodedFrame:
    """Encoded inputs, numeric targets and fold labels of a frame, by the rules of ``Dataset.from_dataframe``."""
    if categorical not in CHOICES:
        raise SpecError(f"categorical is {categorical!r}; it must be one of {', '.join(CHOICES)}")
    frame = frame.set_axis([str(c) for c in frame.columns], axis=1)
    _refuse_columns(frame, [*targets, *codes, *([fold] if fold else [])])
    _refuse_missing(frame)
    features = [c for c in frame.columns if c not in (*targets, fold)]
    if not features:
        raise DataError(f"the table has no column beside {', '.join(map(repr, targets))}; at least one input is needed")
    blocks, names, encoded = [], [], []
    for column in features:
        block, columns = _encode_column(frame[column], column, categorical, column in codes)
        blocks += block
        names += columns
        if len(columns) > 1 or columns[0] != column:
            encoded.append(column)
    values, labels = _encode_targets(frame, targets, task)
    folds = tuple(str(v) for v in frame[fold]) if fold else None
    note = f"one-hot: {', '.join(encoded)}" if encoded else ""
    return EncodedFrame(np.stack(blocks, axis=1), values, tuple(names), labels, folds, note)


def _refuse_columns(frame: Any, needed: list[str]) -> None:
    columns = list(frame.columns)
    for name in needed:
        if name not in columns:
            raise DataError(f"there is no column {name!r}; the columns are: {', '.join(columns)}")
    for name in columns:
        if columns.count(name) > 1:
            raise DataError(f"the column name {name!r} occurs more than once; give every column a name of its own")
    if len(frame) == 0:
        raise DataError("the table has no rows; at least one is needed")


def _refuse_missing(frame: Any) -> None:
    missing = frame.isna().to_numpy()
    if missing.any():
        column = int(np.argmax(missing.any(axis=0)))
        row = int(np.argmax(missing[:, column]))
        raise DataError(
            f"{int(missing.sum())} value(s) are missing, the first in column {frame.columns[column]!r}, row {row} "
            "(counted from 0, header not counted); drop or fill them first"
        )


def _encode_column(series: Any, name: str, categorical: str, is_code: bool) -> tuple[list[Array], list[str]]:
    """One column as it is, or one 0/1 column for each of its categories."""
    values = _as_numbers(series)
    if values is not None and not (is_code and categorical != "text" and len(np.unique(values)) > 2):
        return [values], [name]
    if categorical == "refuse":
        what = "unordered codes" if values is not None else f"text or categories (first {series.iloc[0]!r})"
        raise DataError(f"column {name!r} holds {what}; encode it, drop it, or allow categorical='one_hot'")
    _refuse_mixture(series, name)
    categories = _categories(series)
    if len(categories) > MOST_CATEGORIES:
        raise DataError(
            f"column {name!r} has {len(categories)} different values, more than {MOST_CATEGORIES}; "
            "if it is an identifier drop it, otherwise encode it yourself"
        )
    content = series.to_numpy(dtype=object)
    return [(content == c).astype(np.float64) for c in categories], [f"{name}={_plain(c)}" for c in categories]


def _as_numbers(series: Any) -> Array | None:
    """A numeric or boolean column as float64; None for text, categories and other objects."""
    from pandas.api import types

    if isinstance(series.dtype, _category_type()) or not types.is_numeric_dtype(series.dtype):
        return None
    if types.is_complex_dtype(series.dtype):
        raise DataError(f"column {series.name!r} holds complex numbers; only real numbers are allowed")
    return series.to_numpy(dtype=np.float64)


def _category_type() -> type:
    import pandas as pd

    return pd.CategoricalDtype


def _categories(series: Any) -> list[Any]:
    """In the order of the categorical type, else sorted."""
    if isinstance(series.dtype, _category_type()):
        return list(series.cat.categories)
    return sorted(series.unique().tolist())


def _refuse_mixture(series: Any, name: str) -> None:
    """Dates and other objects cannot be encoded; numbers with a stray word are a mistake, not categories."""
    from pandas.api import types

    if types.is_datetime64_any_dtype(series.dtype) or types.is_timedelta64_dtype(series.dtype):
        raise DataError(f"column {name!r} holds dates or durations; turn it into numbers, or drop it")
    if isinstance(series.dtype, _category_type()):
        return
    content = series.tolist()
    numeric = np.array([_is_number(value) for value in content])
    text = np.array([isinstance(value, str) for value in content])
    if not text.all() and not numeric.all():
        wrong = (
            content[int(np.argmin(text | numeric))] if not (text | numeric).all() else content[int(np.argmin(numeric))]
        )
    elif numeric.mean() > 0.5 and not numeric.all():
        wrong = content[int(np.argmin(numeric))]
    else:
        return
    raise DataError(
        f"column {name!r} mixes numbers with {wrong!r} in row {content.index(wrong)} (counted from 0, header not "
        "counted); correct or drop that row, or make the whole column text"
    )


def _is_number(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False


def _plain(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _encode_targets(frame: Any, names: Sequence[str], task: str) -> tuple[Array, tuple[str, ...] | None]:
    """One target, or the columns of several outputs side by side."""
    if len(names) == 1:
        return _encode_target(frame[names[0]], names[0], task)
    if task != "regression":
        raise DataError(f"a {task} task has one target; {len(names)} were named: {', '.join(names)}")
    return np.stack([_encode_target(frame[name], name, task)[0] for name in names], axis=1), None


def _encode_target(series: Any, name: str, task: str) -> tuple[Array, tuple[str, ...] | None]:
    values = _as_numbers(series)
    if task == "classification":
        return _encode_classes(series, name)
    if values is None:
        bad = next((k for k, v in enumerate(series.tolist()) if not _is_number(v)), 0)
        raise DataError(
            f"target {name!r} is not numeric: row {bad} (counted from 0, header not counted) holds "
            f"{series.iloc[bad]!r}; correct it, choose another target, or set task='classification'"
        )
    return values, None


def _encode_classes(series: Any, name: str) -> tuple[Array, tuple[str, ...]]:
    _refuse_mixture(series, name)
    categories = _categories(series)
    if len(categories) > MOST_CATEGORIES:
        raise DataError(f"target {name!r} has {len(categories)} different values; is the task a regression?")
    content = series.to_numpy(dtype=object)
    codes = sum(k * (content == c).astype(np.float64) for k, c in enumerate(categories))
    return np.asarray(codes, dtype=np.float64), tuple(_plain(c) for c in categories)
