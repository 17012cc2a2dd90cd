"""Which tables a baseline is for: one check for all of them, made before anything is fitted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from corners.errors import DataError
from corners.method import METHODS, Method

if TYPE_CHECKING:
    from corners.data.split import Split

WORDS = {"regression": "regression targets", "classification": "classes", "count": "counts"}
"""What the targets of a task are called."""


def require_task(method: Method, splits: "Sequence[Split]") -> None:
    """Refuse tables of another task than the method is for, and name the methods that are for it.

    Raises
    ------
    DataError : a split of another task; or of classes, but with one class alone.

    Example
    -------
    >>> from corners.data.split import Part, Split
    >>> part = Part([[0.0], [1.0]], [0, 1])
    >>> require_task(METHODS.get("map").example(), [Split(part, part, part)])
    """
    for split in splits:
        if split.task not in method.tasks:
            own = " and ".join(WORDS[task] for task in method.tasks)
            others = ", ".join(methods_for(split.task))
            raise DataError(
                f"{method.name} is for {own}, but the task of {split.name!r} is {split.task}; "
                f"for {WORDS[split.task]}: {others}"
            )
        if split.task == "classification" and len(split.labels or ()) < 2:
            raise DataError(
                f"{split.name!r} has one class alone ({', '.join(split.labels or ())}); a classifier needs at least two"
            )


def methods_for(task: str) -> list[str]:
    """Baselines that are for a task, by name.

    Example
    -------
    >>> "map" in methods_for("regression"), "map" in methods_for("classification")
    (True, False)
    """
    return [name for name in METHODS.names() if task in METHODS.get(name).tasks]


def class_count(splits: "Sequence[Split]") -> int:
    """K of splits that are fitted as one tensor program.

    Raises
    ------
    DataError : the splits have different numbers of classes.
    """
    counts = {len(split.labels or ()) for split in splits}
    if len(counts) > 1:
        given = " and ".join(map(str, sorted(counts)))
        raise DataError(
            f"splits that are fitted together must have the same classes; these have {given} labels: give all of them "
            "the labels of the whole table, or fit them apart"
        )
    return counts.pop()


def missing_classes(split: "Split") -> tuple[str, ...]:
    """What is to be said of classes that no training row has; nothing where there are none."""
    labels, seen = split.labels or (), set(split.train.targets.astype(int).tolist())
    absent = [label for code, label in enumerate(labels) if code not in seen]
    if not absent:
        return ()
    noun = "class" if len(absent) == 1 else "classes"
    return (f"no training row has {noun} {', '.join(absent)}: its probability is an extrapolation",)
