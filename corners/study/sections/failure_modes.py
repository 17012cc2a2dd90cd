"""What goes wrong, where, and how often: the failure modes with the numbers that detect them."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corners.comparison.document import Picture, Section
from corners.comparison.failure_modes import MODES, FailureMode
from corners.comparison.figures import studies
from corners.comparison.grid import Cell, Grid, number
from corners.comparison.sections._wording import listed, picture
from corners.study.sections._tables import sentence_case, wide_grids
from corners.study.sections._view import View, quantity

if TYPE_CHECKING:
    from corners.study.spec import RowSpec

SHARES = {"noise": "noise_share", "covariance": "covariance_share", "prior": "prior_share"}
MOST_BARS = 24
ALL = 99
READING = (
    "A cell says on how many seeds the mode is detected, then the median over seeds of the first number that detects "
    "it. A dash means that the row has no such number: not every method has a belief, a noise or a precision.",
    "A mode that is detected need not hurt: a runaway precision with an unchanged NLL is harmless. A mode that is not "
    "detected is not excluded; the numbers look at one state, the selected one.",
)


@dataclass(frozen=True)
class Detection:
    """On how many of the seeds with the numbers a mode is detected, and the median of the first number."""

    flagged: int
    seeds: int
    median: float


def section(view: View) -> Section | None:
    """A table a mode, of the rows on which it is detected anywhere."""
    found = {mode.name: _detections(view, mode) for mode in MODES}
    if not any(found.values()):
        return None
    grids = tuple(grid for mode in MODES for grid in _grids(view, mode, found[mode.name]))
    said = tuple(_answer(view, mode, found[mode.name]) for mode in MODES if found[mode.name])
    title = "What goes wrong, where, and how often?"
    return Section("failure-modes", title, said, grids, _pictures(view), READING)


def _detections(view: View, mode: FailureMode) -> dict[tuple[str, str], Detection]:
    """By data set and row, where the row has a number of the mode at all."""
    found = {}
    for row in view.rows:
        for dataset in view.datasets(row):
            one = detect(view, mode, row, dataset)
            if one is not None:
                found[dataset, row.name] = one
    return found


def detect(view: View, mode: FailureMode, row: "RowSpec", dataset: str) -> Detection | None:
    """Apply a mode's flag to every seed of a row; None where no seed has any of its numbers."""
    lines = view.results.lines(dataset, row.name)
    known = [name for name in mode.numbers if lines is not None and name in lines]
    if lines is None or not known:
        return None
    table = np.stack([view.results.values(dataset, row.name, name) for name in known], axis=1)
    table = table[~np.isnan(table).all(axis=1)]
    if not len(table):
        return None
    flagged = sum(bool(mode.flag(dict(zip(known, line, strict=True)))) for line in table.tolist())
    return Detection(flagged, len(table), view.results.median(dataset, row.name, known[0]))


def _grids(view: View, mode: FailureMode, found: dict[tuple[str, str], Detection]) -> tuple[Grid, ...]:
    shown = {row for (_, row), one in found.items() if one.flagged}
    lines = [
        (view.labels[row.name], {d: _cell(one) for (d, name), one in found.items() if name == row.name})
        for row in view.rows
        if row.name in shown
    ]
    never = [view.labels[row.name] for row in view.rows if row.name not in shown and _measured(row.name, found)]
    numbers = quantity(mode.numbers[0]).heading
    notes = (
        *((f"Measured and never detected: {listed(never, ALL)}.",) if never else ()),
        f"What helps: {mode.fix}.",
    )
    caption = f"{sentence_case(mode.name)}: seeds on which it is detected, and the median {numbers}"
    return wide_grids(view, caption, lines, notes)


def _measured(row: str, found: dict[tuple[str, str], Detection]) -> bool:
    return any(name == row for _, name in found)


def _cell(one: Detection) -> Cell:
    median = f" ({number(one.median, 2).text})" if math.isfinite(one.median) else ""
    return Cell(f"{one.flagged}/{one.seeds}{median}", one.flagged / one.seeds)


def _answer(view: View, mode: FailureMode, found: dict[tuple[str, str], Detection]) -> str:
    flagged, seeds = sum(one.flagged for one in found.values()), sum(one.seeds for one in found.values())
    said = f"{sentence_case(mode.name)} ({mode.summary}): detected in {flagged} of {seeds} fits"
    if not flagged:
        return f"{said}."
    by_row: dict[str, int] = {}
    for (_, row), one in found.items():
        by_row[row] = by_row.get(row, 0) + one.flagged
    order = sorted((row for row in by_row if by_row[row]), key=lambda row: -by_row[row])
    return f"{said}, most by {listed([f'{view.labels[row]} ({by_row[row]})' for row in order], 4)}."


def _pictures(view: View) -> tuple[Picture, ...]:
    """Where the predictive variance comes from, mean over seeds; rows with a belief of their own."""
    panels: dict[str, dict[str, dict[str, float]]] = {}
    rows = [row for row in view.rows if any(view.has(row.name, d, SHARES["noise"]) for d in view.datasets(row))]
    for dataset in view.study.datasets:
        for row in rows[:MOST_BARS]:
            if view.has(row.name, dataset, SHARES["noise"]):
                means = {name: view.results.summary(dataset, row.name, each).mean for name, each in SHARES.items()}
                panels.setdefault(dataset, {})[view.labels[row.name]] = means
    if not panels:
        return ()
    caption = (
        "Where the predictive variance comes from on the training part, mean over seeds: noise of the observations, "
        "covariance of the belief that the data left, and what the prior leaves of it."
    )
    least = min((each["noise"], name, row) for name, bars in panels.items() for row, each in bars.items())
    seen = (
        f"Shares of the predictive variance; the smallest share of noise is {least[0]:.0%}, {least[2]} on {least[1]}."
    )
    return (picture("attribution", caption, seen, studies.attribution_bars(panels)),)
