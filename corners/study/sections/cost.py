"""What does it cost? Seconds a seed for training and predicting, and what the time buys."""

import math
from typing import TYPE_CHECKING

from corners.comparison.document import Picture, Section
from corners.comparison.figures import studies
from corners.comparison.grid import Cell, number
from corners.comparison.sections._wording import listed, picture
from corners.study.sections._tables import Line, grouped_grids, sentence_case
from corners.study.sections._view import View, quantity

if TYPE_CHECKING:
    from corners.study.spec import RowSpec

TIMES = ("fit_seconds", "predict_seconds")
READING = (
    "Seeds train as one batch where a method can do that, so that its seconds a seed are lower than those of one seed "
    "alone. Times are wall times of one machine that may have done other work: read factors, not digits.",
)


def section(view: View) -> Section | None:
    """Tables of times, and NLL against the time to predict."""
    grids = tuple(grid for name in TIMES for grid in _grids(view, name))
    if not grids:
        return None
    return Section("cost", "What does it cost?", _answers(view), grids, _pictures(view), READING)


def _grids(view: View, name: str) -> tuple:
    def cells(row: "RowSpec") -> dict[str, Cell]:
        return {
            dataset: number(view.results.median(dataset, row.name, name), 2)
            for dataset in view.datasets(row)
            if view.has(row.name, dataset, name)
        }

    def lines(rows: tuple) -> list[Line]:
        return [(view.labels[row.name], cells(row)) for row in rows]

    known = quantity(name)
    return grouped_grids(view, f"{sentence_case(known.heading)}, {known.unit}; median over seeds", lines)


def _answers(view: View) -> tuple[str, ...]:
    said = []
    for name in TIMES:
        totals = _typical(view, name)
        if totals:
            fast, slow = min(totals, key=lambda row: totals[row]), max(totals, key=lambda row: totals[row])
            said.append(
                f"Typical {quantity(name).heading} ({quantity(name).unit}, geometric mean over "
                f"{listed(view.core, len(view.core))}): from "
                f"{number(totals[fast], 2).text} ({view.labels[fast]}) to {number(totals[slow], 2).text} "
                f"({view.labels[slow]})."
            )
    return tuple(said)


def _typical(view: View, name: str) -> dict[str, float]:
    """Geometric mean over the core data sets of the median over seeds, for rows that have it on all of them."""
    found = {}
    for row in view.rows:
        medians = [view.results.median(dataset, row.name, name) for dataset in view.core]
        if medians and all(median > 0.0 for median in medians):
            found[row.name] = math.exp(sum(map(math.log, medians)) / len(medians))
    return found


def _pictures(view: View) -> tuple[Picture, ...]:
    """Mean NLL over data sets is comparable between rows that have them all, whatever the unit of each target."""
    made = []
    for name in TIMES:
        times = _typical(view, name)
        points = {}
        for row, seconds in times.items():
            scores = [view.results.summary(dataset, row, "nll").mean for dataset in view.core]
            if all(map(math.isfinite, scores)):
                points[view.labels[row]] = (seconds, sum(scores) / len(scores))
        if len(points) > 1:
            made.append(_picture(view, name, points))
    return tuple(made)


def _picture(view: View, name: str, points: dict[str, tuple[float, float]]) -> Picture:
    known = quantity(name)
    caption = (
        f"Test NLL, mean over data sets, against {known.heading} ({known.unit}; geometric mean over data sets of the "
        f"median over seeds), for rows that ran on all of {listed(view.core, len(view.core))}. Left and low is better; "
        "the line joins rows that no other beats in both."
    )
    best = min(points, key=lambda label: points[label][1])
    seen = f"Lowest mean NLL: {best} at {number(points[best][0], 2).text} seconds."
    label = "test NLL, mean over data sets, nats per point"
    return picture(
        name, caption, seen, studies.cost_plot(points, cost_label=f"{known.heading}, {known.unit}", label=label)
    )
