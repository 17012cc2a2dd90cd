"""Which cells of a study are missing, stale or failed, in the order in which they should run."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from corners.errors import SpecError, UnavailableError
from corners.study.cells import Cell, fingerprint
from corners.study.committed import Gathering, read_committed
from corners.study.plan import table_splits
from corners.study.spec import StudySpec
from corners.study.store import DONE, FAILED, MISSING, STALE, Store, read_cell

if TYPE_CHECKING:
    from corners.data.dataset import Dataset

OVERHEAD_ROWS = 1000
"""A training step costs about as much as that many rows, however few there are."""


@dataclass(frozen=True)
class Planned:
    """A cell of the study, what there is of it, and how long it is expected to take, in units of its row.

    ``fingerprint`` is None where the method cannot be made here; ``reason`` then says why, or why it failed before.
    ``seconds`` is what a finished cell took.
    """

    cell: Cell
    state: str
    fingerprint: str | None
    effort: float
    reason: str | None = None
    seconds: float | None = None


def plan_study(study: StudySpec, only: Sequence[str] = ()) -> tuple[Planned, ...]:
    """Every cell of the study, longest first, with its state; nothing is trained or written.

    A cell is finished where its file says so, and also where the committed lines of all its seeds bear its
    fingerprint: a study goes on in a fresh clone.

    Parameters
    ----------
    only : patterns (``*``, ``?``, ``[abc]``) of a data set, a row, or ``dataset/row``; a cell is taken that fits one.

    Raises
    ------
    SpecError : a pattern that fits no cell, an option that a method does not take, a method or head of another task
        than a table's.
    DataError : a table that is not to be had, a cell file of a newer format.

    Example
    -------
    >>> from pathlib import Path
    >>> from corners.study.spec import read_study
    >>> lines = ['name = "tiny"', 'title = "A"', 'question = "B?"', 'datasets = ["linear"]', "seeds = 2"]
    >>> _ = Path("tiny.toml").write_text("\\n".join([*lines, "[[rows]]", 'name = "map"']), encoding="utf-8")
    >>> [(each.cell.name, each.state) for each in plan_study(read_study("tiny.toml"), ["linear/m*"])]
    [('linear--map--5-6', 'missing')]
    """
    from corners.data.loading import load

    chosen = _chosen(study, only)
    store, committed, tables, planned = Store(study.runs), read_committed(study.folder), {}, []
    for cell in chosen:
        if cell.dataset not in tables:
            data = load(cell.dataset)
            tables[cell.dataset] = data, table_splits(data, cell.seeds[:1])[0].kind
        planned.append(_planned(cell, store, committed, *tables[cell.dataset]))
    return tuple(sorted(planned, key=lambda each: -each.effort))


def _chosen(study: StudySpec, only: Sequence[str]) -> list[Cell]:
    cells = study.cells()
    for pattern in only:
        if not any(_fits(cell, pattern) for cell in cells):
            rows = ", ".join(row.name for row in study.rows)
            raise SpecError(
                f"{pattern!r} fits no cell; give a pattern of a data set ({', '.join(study.datasets)}), of a row "
                f"({rows}), or of dataset/row"
            )
    return [cell for cell in cells if not only or any(_fits(cell, pattern) for pattern in only)]


def _fits(cell: Cell, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in (cell.dataset, cell.row, f"{cell.dataset}/{cell.row}"))


def _planned(cell: Cell, store: Store, committed: Gathering, data: "Dataset", split_kind: str) -> Planned:
    effort = float(len(cell.seeds) * (data.n + OVERHEAD_ROWS))
    try:
        wanted = fingerprint(cell, data, split_kind)
    except UnavailableError as error:
        return Planned(cell, FAILED, None, effort, str(error))
    state = store.state(cell, wanted)
    if state in (MISSING, STALE) and committed.holds(cell.dataset, cell.row, cell.seeds, wanted):
        return Planned(cell, DONE, wanted, effort, seconds=committed.seconds(cell.name))
    if state == DONE:
        return Planned(cell, DONE, wanted, effort, seconds=float(read_cell(store.path(cell))["seconds"]))
    return Planned(cell, state, wanted, effort, store.failure(cell))
