"""What the targets of each task may be, and the labels of classes and of a table's own split."""

from collections.abc import Sequence

import numpy as np

from corners.errors import DataError, SpecError
from corners.types import Array, Float

TASKS = ("regression", "classification", "count")
FOLDS = ("train", "validation", "test")


def checked_labels(task: str, targets: Float[Array, "N *P"], labels: Sequence[str] | None) -> tuple[str, ...] | None:
    """The labels of a classification task (codes as text where none are given); targets must suit the task."""
    if task not in TASKS:
        raise SpecError(f"task is {task!r}; it must be one of {', '.join(TASKS)}")
    if task != "regression" and targets.ndim > 1:
        raise DataError(
            f"targets have shape {targets.shape}, but a {task} task has one target a row; several outputs are for "
            "task='regression'"
        )
    whole = (targets >= 0) & (targets == np.round(targets))
    if task != "regression" and not whole.all():
        row = int(np.argmin(whole))
        kind = "class codes 0, 1, ..." if task == "classification" else "counts 0, 1, 2, ..."
        raise DataError(f"targets of a {task} task must be {kind}, but row {row} (counted from 0) holds {targets[row]}")
    if task == "classification":
        return _class_labels(int(targets.max()) + 1, labels)
    if labels is not None:
        raise SpecError(f"labels were given, but a {task} task has none; leave them out or set task='classification'")
    return None


def _class_labels(classes: int, labels: Sequence[str] | None) -> tuple[str, ...]:
    found = tuple(str(label) for label in (range(classes) if labels is None else labels))
    if len(found) < classes:
        raise DataError(
            f"{len(found)} labels were given ({', '.join(found)}), but targets go up to class {classes - 1}"
        )
    return found


def checked_folds(folds: Sequence[str] | None, rows: int) -> tuple[str, ...] | None:
    """One of train, validation, test for each row, or None."""
    if folds is None:
        return None
    found = tuple(str(fold) for fold in folds)
    if len(found) != rows:
        raise DataError(f"{len(found)} fold labels were given for {rows} rows; give one a row")
    for row, fold in enumerate(found):
        if fold not in FOLDS:
            raise DataError(f"fold label {fold!r} in row {row} (counted from 0) is not one of {', '.join(FOLDS)}")
    return found
