"""A table cut into the part that is learnt from, the part that decides when to stop, and the part that is scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corners.data._arrays import FrozenArrays, checked_table, column_names, fingerprint, target_names
from corners.data._targets import checked_labels
from corners.errors import DataError
from corners.types import Array, Float


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Part(FrozenArrays):
    """Rows of one part: read-only float64 inputs (N, D) and targets (N,), in original units.

    Accepts (N,) inputs and (N, 1) targets, and refuses what ``Dataset`` refuses. ``outputs`` > 1 asks for targets
    (N, outputs).

    Example
    -------
    >>> Part([1, 2, 3], [[0.1], [0.2], [0.3]])
    Part(n=3, d=1)
    """

    inputs: Float[Array, "N D"]
    targets: Float[Array, "N *P"]

    def __init__(self, inputs: object, targets: object, outputs: int = 1) -> None:
        x, y, _, _ = checked_table(inputs, targets, target_name=_numbered("target", outputs))
        object.__setattr__(self, "inputs", x)
        object.__setattr__(self, "targets", y)

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
        return 1 if self.targets.ndim == 1 else self.targets.shape[1]

    def __repr__(self) -> str:
        outputs = f", outputs={self.outputs}" if self.outputs > 1 else ""
        return f"Part(n={self.n}, d={self.d}{outputs})"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Split(FrozenArrays):
    """Train, validation and test part with the same columns, each with at least one row.

    Parameters
    ----------
    train, validation, test : the parts, in original units.
    name : of the data set.  seed : that made the split, None where no chance was involved.
    kind : how it was made ("random", "permutation", "predefined", "time_ordered", "grouped", "shifted", "own").
    feature_names : x0, x1, ... where none are given.  target_name, task, labels : as in ``Dataset``; outputs without
        names are target_0, target_1, ...
    dropped : columns that the splitter left out.

    Raises
    ------
    DataError : a part without rows, parts with different columns or numbers of outputs, names that do not fit.

    Example
    -------
    >>> Split(Part([[0.0], [1.0]], [0, 1]), Part([[2.0]], [2]), Part([[3.0]], [3]), name="tiny")
    Split('tiny', own, 2 train + 1 validation + 1 test rows, d=1)
    """

    train: Part
    validation: Part
    test: Part
    name: str
    seed: int | None
    kind: str
    feature_names: tuple[str, ...]
    target_name: str
    target_names: tuple[str, ...]
    task: str
    labels: tuple[str, ...] | None
    dropped: tuple[str, ...]

    def __init__(  # noqa: PLR0913  a split carries what its table carried
        self,
        train: Part,
        validation: Part,
        test: Part,
        name: str = "data",
        seed: int | None = None,
        kind: str = "own",
        feature_names: Sequence[str] | None = None,
        target_name: str | Sequence[str] = "target",
        *,
        task: str = "regression",
        labels: Sequence[str] | None = None,
        dropped: Sequence[str] = (),
    ) -> None:
        parts = {"train": train, "validation": validation, "test": test}
        _refuse_parts(parts, name)
        found = _common_labels(parts, task, labels)
        names = column_names(train.inputs, feature_names, train.d)
        fields: dict[str, Any] = parts | {"name": name, "seed": seed, "kind": kind, "feature_names": names}
        outputs = _output_names(train, target_name)
        fields |= {"target_name": ", ".join(outputs), "target_names": outputs}
        fields |= {"task": task, "labels": found, "dropped": tuple(dropped)}
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    @property
    def n(self) -> int:
        """Number of rows of all three parts."""
        return self.train.n + self.validation.n + self.test.n

    @property
    def d(self) -> int:
        """Number of input columns."""
        return self.train.d

    @property
    def outputs(self) -> int:
        """Number of target columns."""
        return len(self.target_names)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the three parts, their columns and the task."""
        parts = (self.train, self.validation, self.test)
        target = self.target_name if self.outputs == 1 else self.target_names
        header = [[part.n for part in parts], self.d, self.feature_names, target, self.task, self.labels]
        return fingerprint(header, *(array for part in parts for array in (part.inputs, part.targets)))

    def __repr__(self) -> str:
        rows = f"{self.train.n} train + {self.validation.n} validation + {self.test.n} test rows"
        seed = "" if self.seed is None else f" (seed {self.seed})"
        dropped = f", dropped {', '.join(self.dropped)}" if self.dropped else ""
        return f"Split({self.name!r}, {self.kind}{seed}, {rows}, d={self.d}{dropped})"


def _refuse_parts(parts: dict[str, Part], name: str) -> None:
    for which, part in parts.items():
        if not isinstance(part, Part):
            raise DataError(f"the {which} part is a {type(part).__name__}; give Part(inputs, targets)")
        if part.n == 0:
            raise DataError(f"the {which} part of {name!r} has no rows; every part needs at least one")
    widths = {which: part.d for which, part in parts.items()}
    if len(set(widths.values())) > 1:
        given = ", ".join(f"{which} {d}" for which, d in widths.items())
        raise DataError(f"the parts of {name!r} have different numbers of columns ({given}); they must be the same")
    if len({part.outputs for part in parts.values()}) > 1:
        given = ", ".join(f"{which} {part.targets.shape}" for which, part in parts.items())
        raise DataError(f"the targets of the parts of {name!r} have shapes {given}; all need as many outputs")


def _output_names(part: Part, given: str | Sequence[str]) -> tuple[str, ...]:
    """One name a target column."""
    names = _numbered(given, part.outputs) if isinstance(given, str) else given
    found = target_names(part.targets, names)
    if len(found) != part.outputs:
        raise DataError(
            f"{len(found)} target names were given ({', '.join(found)}) for targets of shape {part.targets.shape}; "
            "give one a column"
        )
    return found


def _numbered(name: str, outputs: int) -> str | tuple[str, ...]:
    """The name itself, or of several outputs target_0, target_1, ..."""
    return name if outputs == 1 else tuple(f"{name}_{k}" for k in range(outputs))


def _common_labels(parts: dict[str, Part], task: str, labels: Sequence[str] | None) -> tuple[str, ...] | None:
    """One list of labels for all parts, although a small part may miss the last class."""
    found = [checked_labels(task, part.targets, labels) for part in parts.values()]
    return max(found, key=lambda each: len(each or ()))
