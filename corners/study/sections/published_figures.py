"""Do the published figures come out again? Ours beside them, and which are within the tolerance of the study."""

from dataclasses import dataclass

from corners.comparison.document import Section
from corners.comparison.grid import Cell, Grid, decimals_for, mean_and_error, words
from corners.comparison.sections._wording import listed, signed
from corners.study.sections._tables import column_decimals, in_errors, mean_cells, sentence_case, wide_grids
from corners.study.sections._view import View, quantity

ERRORS = 2.0
ALL_NAMED = 99
READING = (
    "Published tables give means without a standard error. The difference is therefore measured in standard errors of "
    "ours alone: even a perfect repetition, with other seeds, would often be more than one of them away.",
    "Precisions and noise scales vary over seeds by orders of magnitude; their means are those of a few seeds, and a "
    "difference in them need not be one in what is predicted.",
)


@dataclass(frozen=True)
class Beside:
    """Ours and the published figure of one row on one data set."""

    dataset: str
    ours: float
    se: float
    theirs: float
    tolerance: float

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.ours - self.theirs

    @property
    def within(self) -> bool:
        """Within the tolerance in nats."""
        return abs(self.difference) <= self.tolerance

    @property
    def within_errors(self) -> bool:
        """Within two standard errors of ours."""
        return abs(self.difference) <= ERRORS * self.se


def section(view: View) -> Section | None:
    """A count a row for every quantity in nats, then the tables."""
    names = [name for name in view.published.quantities() if _any(view, name)]
    if not names:
        return None
    counts = tuple(_counts_grid(view, name) for name in names)
    tables = tuple(grid for name in names for grid in _tables(view, name))
    title = "Do the published figures come out again?"
    return Section("published", title, _answers(view, names), counts + tables, (), READING)


def beside(view: View, row_name: str, name: str) -> list[Beside]:
    """Every data set on which both we and the literature have a figure."""
    row = view.study.row(row_name)
    found = []
    for dataset in view.datasets(row):
        theirs = view.published.figure(row, dataset, name)
        ours = view.results.summary(dataset, row.name, name)
        if theirs is not None and ours.seeds:
            found.append(Beside(dataset, ours.mean, ours.se, theirs, view.study.tolerance))
    return found


def _any(view: View, name: str) -> bool:
    return any(beside(view, row.name, name) for row in view.rows)


def _answers(view: View, names: list[str]) -> tuple[str, ...]:
    said = []
    for name in names:
        known = quantity(name)
        pairs = [each for row in view.rows for each in beside(view, row.name, name)]
        errors = sum(each.within_errors for each in pairs)
        near = f"{sum(each.within for each in pairs)} within {view.study.tolerance:g} nat, " if known.in_nats else ""
        heading = sentence_case(known.heading)
        said.append(f"{heading}: of {len(pairs)} published means, {near}{errors} within two standard errors of ours.")
    return tuple(said)


def _counts_grid(view: View, name: str) -> Grid:
    known = quantity(name)
    rows = []
    for row in view.rows:
        pairs = beside(view, row.name, name)
        if pairs:
            near = [each.within if known.in_nats else each.within_errors for each in pairs]
            far = [each for each, close in zip(pairs, near, strict=True) if not close]
            rows.append(
                (
                    words(view.labels[row.name]),
                    words(row.published),
                    Cell(f"{sum(near)} of {len(near)}", float(sum(near))),
                    words(listed([f"{each.dataset} {signed(each.difference)}" for each in far], ALL_NAMED) or "none"),
                )
            )
    what = f"within {view.study.tolerance:g} nat" if known.in_nats else "within two standard errors"
    caption = (
        f"{sentence_case(known.heading)}: on how many data sets the mean over seeds is {what} of the published one"
    )
    return Grid(caption, ("row", "published as", what, "not within: ours minus published"), tuple(rows))


def _tables(view: View, name: str) -> tuple[Grid, ...]:
    known = quantity(name)
    decimals = column_decimals(view, name)
    lines = []
    for row in view.rows:
        pairs = beside(view, row.name, name)
        if pairs:
            ours = mean_cells(view, row, name, decimals)
            lines.append((view.labels[row.name], {each.dataset: ours[each.dataset] for each in pairs}))
            lines.append(
                (f"– published {row.published}", {each.dataset: _published_cell(each.theirs) for each in pairs})
            )
            lines.append(("– ours minus published", {each.dataset: _gap_cell(each, known.in_nats) for each in pairs}))
    unit = f", {known.unit}" if known.unit else ""
    tick = f"; ✓ within {view.study.tolerance:g} nat, ✗ not" if known.in_nats else ""
    notes = (f"In brackets: the difference in standard errors of ours over seeds{tick}.",)
    return wide_grids(view, f"{sentence_case(known.heading)} beside the published means{unit}", lines, notes)


def _published_cell(value: float) -> Cell:
    """As the tables have them, with three decimals."""
    return mean_and_error(value, None, 3)


def _gap_cell(each: Beside, in_nats: bool) -> Cell:
    tick = ("✓ " if each.within else "✗ ") if in_nats else ""
    size = mean_and_error(each.difference, None, decimals_for([each.se], [each.difference], most=4)).text
    plus = "+" if each.difference > 0.0 else ""
    return Cell(f"{tick}{plus}{size} ({in_errors(each.ours, each.se, each.theirs)})", each.difference)
