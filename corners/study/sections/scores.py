"""What do the other scores say: error of the mean, CRPS, calibration and coverage, or accuracy, Brier score and ECE?"""

import numpy as np

from corners.comparison.document import Picture, Section
from corners.comparison.figures import studies
from corners.comparison.paired import rank
from corners.comparison.scores._central import LEVELS
from corners.comparison.sections._wording import listed, picture
from corners.study.sections._tables import Line, column_decimals, grouped_grids, mean_cells, sentence_case
from corners.study.sections._view import View, quantity
from corners.types import Array

NAMES = (
    *("rmse", "crps", "calibration_error", "coverage"),
    *("accuracy", "brier", "ece", "adaptive_ece", "classwise_ece"),
)
MOST_CURVES = 8
OF_NUMBERS = (
    "RMSE sees only the predictive mean; CRPS the whole distribution, mildly. Calibration error and coverage say "
    "whether the stated uncertainty is honest, not whether it is small.",
    "A calibration curve shows which share of the test points the central intervals of each level cover: below the "
    "diagonal the intervals are too narrow, above it too wide.",
)
OF_COUNTS = (
    "Of counts the intervals are those of the randomised PIT, since whole counts could only be covered too often. The "
    "RMSE is that of the mean, which a wide belief about a log rate can make very large.",
)
OF_CLASSES = (
    "Accuracy sees only the predicted class; the Brier score, between 0 and 2 over all classes, sees every probability "
    "and punishes confident errors mildly. ECE compares confidence and accuracy in ten bins of equal width, adaptive "
    "ECE in bins of equal counts, classwise ECE does so for the probability of every class. On few test points a right "
    "method does not score zero.",
)


def level_name(level: float) -> str:
    """The column with the coverage of a level.

    Example
    -------
    >>> level_name(0.05)
    'coverage_05'
    """
    return f"coverage_{round(100 * level):02d}"


def section(view: View) -> Section | None:
    """A table a score, marked like the NLL, and calibration curves."""
    grids = tuple(grid for name in NAMES for grid in _grids(view, name))
    if not grids:
        return None
    title = "What do the other scores say?"
    return Section("scores", title, _answers(view), grids, _pictures(view), _reading(view))


def _reading(view: View) -> tuple[str, ...]:
    parts = (({"regression", "count"}, OF_NUMBERS), ({"count"}, OF_COUNTS), ({"classification"}, OF_CLASSES))
    return tuple(text for tasks, texts in parts if tasks & view.tasks for text in texts)


def _marks(view: View, name: str) -> dict[tuple[str, str], str]:
    known, marks = quantity(name), {}
    for dataset in view.study.datasets:
        values = view.ranked(dataset, name)
        ranking = rank(values, direction=known.direction, nominal=known.nominal) if values else None
        marks |= {(dataset, each.method): each.mark for each in (ranking.standings if ranking else ())}
    return marks


def _grids(view: View, name: str) -> tuple:
    known, decimals, marks = quantity(name), column_decimals(view, name), _marks(view, name)

    def lines(rows: tuple) -> list[Line]:
        return [(view.labels[row.name], mean_cells(view, row, name, decimals, marks)) for row in rows]

    return grouped_grids(view, f"{sentence_case(known.heading)}, {known.unit}; {known.aim}", lines)


def _answers(view: View) -> tuple[str, ...]:
    said = []
    for name in NAMES:
        best: dict[str, list[str]] = {}
        for (dataset, row), mark in _marks(view, name).items():
            if mark == "best":
                best.setdefault(view.labels[row], []).append(dataset)
        order = sorted(best.items(), key=lambda item: -len(item[1]))
        if order:
            parts = "; ".join(f"{label} ({listed(datasets, len(datasets))})" for label, datasets in order)
            said.append(f"Best by {quantity(name).heading}: {parts}.")
    return tuple(said)


def _pictures(view: View) -> tuple[Picture, ...]:
    """Curves of the first rows that have them; more lines in one panel cannot be told apart."""
    names = [level_name(level) for level in LEVELS]
    rows = [row for row in view.rows if any(view.has(row.name, d, names[0]) for d in view.datasets(row))][:MOST_CURVES]
    panels: dict[str, dict[str, Array]] = {}
    for dataset in view.study.datasets:
        for row in rows:
            curve = np.array([view.results.summary(dataset, row.name, name).mean for name in names])
            if np.isfinite(curve).all():
                panels.setdefault(dataset, {})[view.labels[row.name]] = curve
    if not panels:
        return ()
    points = {dataset: _test_points(view, dataset) for dataset in panels}
    caption = (
        "Calibration: coverage of the central intervals against their level, mean over seeds, for "
        f"{listed([view.labels[row.name] for row in rows], MOST_CURVES)}. Grey: where a right method lies with "
        "probability 95 % on the test points of one seed; a mean over seeds is surer than that."
    )
    worst = max(
        (float(np.abs(curve - LEVELS).max()), name, label)
        for name, each in panels.items()
        for label, curve in each.items()
    )
    seen = f"Calibration curves; the farthest from its level is {worst[2]} on {worst[1]}, by {worst[0]:.2f}."
    return (picture("calibration", caption, seen, studies.calibration_curves_plot(panels, points)),)


def _test_points(view: View, dataset: str) -> int:
    """The fewest test points of a seed."""
    lines = view.results.frame
    return int(lines.loc[lines["dataset"] == dataset, "n_test"].min())
