"""Tables as a paper has them: data sets across, rows down; and means with standard errors in one precision a column."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from corners.comparison.grid import NOT_A_NUMBER, Cell, Grid, decimals_for, mean_and_error, number, words
from corners.study.sections._view import View

if TYPE_CHECKING:
    from corners.study.spec import RowSpec

MOST_COLUMNS = 8
MOST_DECIMALS = 4
MINUS = "−"
NO_CELL = Cell(NOT_A_NUMBER)
Line = tuple[str, Mapping[str, Cell]]
"""The first column, and a cell a data set; a data set without one has a dash."""


def wide_grids(
    view: View, caption: str, lines: Sequence[Line], notes: Sequence[str] = (), heading: str = "row"
) -> tuple[Grid, ...]:
    """One grid, or several of at most eight data sets each; columns and lines without any cell are left out."""
    lines = [(name, cells) for name, cells in lines if cells]
    datasets = [dataset for dataset in view.study.datasets if any(dataset in cells for _, cells in lines)]
    if not datasets:
        return ()
    count = -(-len(datasets) // MOST_COLUMNS)
    size = -(-len(datasets) // count)
    parts = [datasets[start : start + size] for start in range(0, len(datasets), size)]
    grids = []
    for part in parts:
        shown = [(name, cells) for name, cells in lines if any(dataset in cells for dataset in part)]
        rows = tuple((words(name), *(cells.get(dataset, NO_CELL) for dataset in part)) for name, cells in shown)
        said = tuple(notes) if part is parts[-1] else ()
        grids.append(Grid(caption, (heading, *part), rows, notes=said))
    return tuple(grids)


def grouped_grids(
    view: View,
    caption: str,
    lines: "Callable[[tuple[RowSpec, ...]], Sequence[Line]]",
    notes: Sequence[str] = (),
) -> tuple[Grid, ...]:
    """The same table for each group of rows, so that none is too long to read; the notes stand under the last."""
    tables = [
        (f"{caption}; {group}" if group else caption, made) for group, rows in view.groups if (made := lines(rows))
    ]
    tables = [(title, made) for title, made in tables if any(cells for _, cells in made)]
    return tuple(
        grid
        for place, (title, made) in enumerate(tables)
        for grid in wide_grids(view, title, made, notes if place == len(tables) - 1 else ())
    )


def column_decimals(view: View, name: str) -> dict[str, int]:
    """Decimals a data set: two digits of the middle standard error of its rows."""
    decimals = {}
    for dataset in view.study.datasets:
        found = [view.results.summary(dataset, row.name, name) for row in view.rows]
        known = [each for each in found if each.seeds]
        errors = [each.se for each in known]
        decimals[dataset] = decimals_for(errors, [each.mean for each in known], most=MOST_DECIMALS)
    return decimals


def mean_cells(
    view: View,
    row: "RowSpec",
    name: str,
    decimals: Mapping[str, int],
    marks: Mapping[tuple[str, str], str] | None = None,
) -> dict[str, Cell]:
    """``mean ± standard error over seeds`` a data set, with the row's mark where there is one."""
    cells = {}
    for dataset in view.datasets(row):
        found = view.results.summary(dataset, row.name, name)
        if found.seeds:
            mark = (marks or {}).get((dataset, row.name), "")
            cells[dataset] = mean_and_error(found.mean, found.se, decimals[dataset], mark)
    return cells


def difference_cell(mean: float, se: float, ratio: float) -> Cell:
    """``+0.12 ± 0.03 (t = 4.0)``; without the t where there is none."""
    shown = mean_and_error(mean, se, decimals_for([se], [mean], most=MOST_DECIMALS))
    plus = "+" if mean > 0.0 else ""
    tail = f" (t = {number(ratio, 2).text})" if math.isfinite(ratio) else ""
    return Cell(f"{plus}{shown.text}{tail}", mean, se)


def sentence_case(text: str) -> str:
    """The first letter as a capital, the others as they are.

    Example
    -------
    >>> sentence_case("prior precision"), sentence_case("NLL")
    ('Prior precision', 'NLL')
    """
    return text[:1].upper() + text[1:]


def in_errors(ours: float, se: float, theirs: float) -> str:
    """The difference ours minus theirs in standard errors of ours; a dash where there is no error."""
    return f"{(ours - theirs) / se:+.1f}".replace("-", MINUS) if se > 0.0 else NOT_A_NUMBER
