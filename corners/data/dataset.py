"""A table to learn from: frozen inputs and targets with their names and their origin."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from corners.data._arrays import FrozenArrays, checked_table, fingerprint, target_names
from corners.data._targets import checked_folds, checked_labels
from corners.errors import DataError
from corners.types import Array, Float


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Dataset(FrozenArrays):
    """N rows of D numbers and one target each, or P of them, in original units, as read-only float64 copies.

    Parameters
    ----------
    inputs : (N, D) or (N,) numbers, a data frame too; integers, booleans and 32-bit floats are promoted.
    targets : (N,) or (N, 1) numbers; (N, P) of a regression with P outputs, whose names must be given (a data frame
        has them). Classes are codes 0..K-1: not text, not fractions, and not 1..K, which would be K + 1 classes of
        which the first is empty. Counts are whole numbers from 0.
    name : what reports call it.
    feature_names : one a column; the data frame's columns, else x0, x1, ...
    target_name : the Series' name, else "target"; of several outputs one a column, here joined, each in
        ``target_names``.
    task : "regression", "classification" or "count".
    labels : original label of each class code (classification only).
    folds : "train", "validation" or "test" for each row, where the table comes with its own split.
    description, source : how it was encoded, where it came from.

    Raises
    ------
    DataError : shapes that do not fit, text, NaN or infinity (column and row are named), no rows, targets that do not
        suit the task.

    Example
    -------
    >>> data = Dataset([[1, 2], [3, 4], [5, 6]], [0.5, 1.5, 2.5], name="tiny")
    >>> data
    Dataset('tiny', regression, n=3, d=2, target='target')
    >>> data.inputs.dtype, data.inputs.flags.writeable
    (dtype('float64'), False)
    """

    inputs: Float[Array, "N D"]
    targets: Float[Array, "N *P"]
    name: str
    feature_names: tuple[str, ...]
    target_name: str
    target_names: tuple[str, ...]
    task: str
    labels: tuple[str, ...] | None
    folds: tuple[str, ...] | None
    description: str
    source: str

    def __init__(
        self,
        inputs: object,
        targets: object,
        name: str = "data",
        feature_names: Sequence[str] | None = None,
        target_name: str | Sequence[str] | None = None,
        *,
        task: str = "regression",
        labels: Sequence[str] | None = None,
        folds: Sequence[str] | None = None,
        description: str = "",
        source: str = "",
    ) -> None:
        x, y, names, outputs = checked_table(inputs, targets, feature_names, target_name)
        if len(x) == 0:
            raise DataError(f"data set {name!r} has no rows; at least one is needed")
        fields: dict[str, Any] = {
            "inputs": x,
            "targets": y,
            "name": name,
            "feature_names": names,
            "target_name": ", ".join(outputs),
            "target_names": outputs,
        }
        fields |= {"task": task, "labels": checked_labels(task, y, labels), "folds": checked_folds(folds, len(x))}
        for key, value in (fields | {"description": description, "source": source}).items():
            object.__setattr__(self, key, value)

    @classmethod
    def from_dataframe(
        cls,
        frame: Any,
        *,
        target: str | Sequence[str],
        name: str = "data",
        task: str = "regression",
        categorical: str = "one_hot",
        codes: Sequence[str] = (),
        fold: str | None = None,
        description: str = "",
        source: str = "data frame",
    ) -> "Dataset":
        """A pandas data frame with named columns; text becomes one 0/1 column a category.

        Text and categorical columns give one column ``name=value`` for each category, all categories kept: in the order
        of the categorical type, else sorted. Booleans are 0/1 already. ``codes`` names columns of whole numbers that
        are unordered codes; they are encoded likewise unless they have only two values. ``description`` records it.

        Parameters
        ----------
        target : its column, or several of a regression. With ``task="classification"`` its values, text or numbers,
            become codes 0..K-1 in sorted order (``labels``).
        categorical : "one_hot"; "text" leaves ``codes`` as numbers; "refuse" makes either kind of column an error.
        fold : a column of "train", "validation" and "test", taken out of the inputs, for ``predefined_split``.

        Raises
        ------
        DataError : unknown column (those there are listed), missing value, a column that mixes text and numbers.
        """
        from corners.data._frames import encode_frame

        targets = target_names(None, target)
        table = encode_frame(frame, targets=targets, task=task, categorical=categorical, codes=codes, fold=fold)
        about = "; ".join(part for part in (description, table.note) if part)
        fields = {"labels": table.labels, "folds": table.folds, "description": about, "source": source}
        return cls(table.inputs, table.targets, name, table.feature_names, targets, task=task, **fields)

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        *,
        target: str | Sequence[str],
        name: str | None = None,
        separator: str = ",",
        **options: Any,
    ) -> "Dataset":
        """A CSV file with a header row (``.gz`` too); an empty field is a missing value, "NA" is text.

        ``options`` are those of :meth:`from_dataframe`. ``name`` is the file's name without its ending.

        Raises
        ------
        DataError : no such file, not a CSV, unknown column (those there are listed), missing value (which one).
        """
        from corners.data._frames import read_csv

        path = Path(path)
        frame = read_csv(path, separator, target_names(None, target))
        return cls.from_dataframe(
            frame, target=target, **{"name": name or path.name.split(".")[0], "source": f"file {path.name}"} | options
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.targets)

    @property
    def d(self) -> int:
        """Number of input columns."""
        return self.inputs.shape[1]

    @property
    def outputs(self) -> int:
        """Number of target columns."""
        return len(self.target_names)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the content: numbers, column names, task and own split; not of name, description or source."""
        target = self.target_name if self.outputs == 1 else self.target_names
        header = [self.n, self.d, self.feature_names, target, self.task, self.labels, self.folds]
        return fingerprint(header, self.inputs, self.targets)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {self.task}, n={self.n}, d={self.d}, target={self.target_name!r})"
