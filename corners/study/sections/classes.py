"""How good are the class probabilities? Reliability, what is gained by abstaining, and where the entropy comes from."""

import numpy as np

from corners.comparison.document import Picture, Section
from corners.comparison.figures.curves import Curve, curves_plot
from corners.comparison.grid import Cell, Grid, number
from corners.comparison.sections._wording import listed, picture
from corners.study.scoring import BINS, SHARES
from corners.study.sections._tables import Line, column_decimals, grouped_grids, mean_cells
from corners.study.sections._view import View, quantity
from corners.types import Array

AREA, ENTROPY = "selective_area", ("entropy", "aleatoric_entropy", "epistemic_entropy")
MOST_CURVES = 6
LEAST_SHARE = 0.01
"""A bin with a smaller share of the points has no dot: its accuracy is chance."""
READING = (
    "A reliability diagram shows how often the predicted class is right, by how sure the method was: below the "
    "diagonal it was too sure. Bins with less than 1 % of the points are left out.",
    "Selective prediction hands the least confident points to someone else: the curve is the error rate of those kept, "
    "by their share, and the area under it is small where a method is right and knows when it is not.",
    "The entropy of a prediction is split by draws of the belief (or by members): what it is on average given a draw "
    "is aleatoric, what the draws disagree about is epistemic, and more data would remove it. A point belief has no "
    "epistemic part. Of one-versus-all the draws are normalised one by one, so that the parts do not add up exactly.",
)


def section(view: View) -> Section | None:
    """Tables of the selective area and of the entropy, reliability diagrams and selective curves."""
    if not any(view.task(dataset) == "classification" for dataset in view.study.datasets):
        return None
    grids = (*_area_grids(view), *_entropy_grids(view))
    title = "How good are the class probabilities?"
    return Section("classes", title, _answers(view), grids, (*_reliability(view), *_selective(view)), READING)


def _area_grids(view: View) -> tuple[Grid, ...]:
    decimals = column_decimals(view, AREA)

    def lines(rows: tuple) -> list[Line]:
        return [(view.labels[row.name], mean_cells(view, row, AREA, decimals)) for row in rows]

    return grouped_grids(view, "Area under the selective-prediction curve, error rate; lower is better", lines)


def _entropy_grids(view: View) -> tuple[Grid, ...]:
    def cells(row: str, datasets: tuple[str, ...]) -> dict[str, Cell]:
        means = {d: [view.results.summary(d, row, name).mean for name in ENTROPY] for d in datasets}
        return {d: _entropy_cell(each) for d, each in means.items() if np.isfinite(each[0])}

    def lines(rows: tuple) -> list[Line]:
        return [(view.labels[row.name], cells(row.name, view.datasets(row))) for row in rows]

    caption = "Mean entropy of the prediction in nats (aleatoric + epistemic), mean over seeds"
    return grouped_grids(view, caption, lines)


def _entropy_cell(means: list[float]) -> Cell:
    total = number(means[0], 2)
    known = all(np.isfinite(means[1:]))
    return Cell(f"{total.text} ({number(means[1], 2).text} + {number(means[2], 2).text})", means[0]) if known else total


def _answers(view: View) -> tuple[str, ...]:
    least: dict[str, list[str]] = {}
    for dataset in view.study.datasets:
        means = {row.name: view.results.summary(dataset, row.name, AREA).mean for row in view.study.rows_of(dataset)}
        known = {row: mean for row, mean in means.items() if np.isfinite(mean)}
        if known:
            least.setdefault(view.labels[min(known, key=lambda row: known[row])], []).append(dataset)
    order = sorted(least.items(), key=lambda item: -len(item[1]))
    parts = "; ".join(f"{label} ({listed(datasets, len(datasets))})" for label, datasets in order)
    return (f"Smallest {quantity(AREA).heading}: {parts}.",) if parts else ()


def _reliability(view: View) -> tuple[Picture, ...]:
    panels = _panels(view, "reliability_share_0", pooled_reliability)
    if not panels:
        return ()
    caption = (
        "Reliability: share of right predictions by confidence, seeds pooled. Below the diagonal the confidence was "
        f"too high. The first {MOST_CURVES} rows."
    )
    gaps = {(d, row): _gap(view, d, row) for d, rows in panels.items() for row in rows}
    worst = max(gaps, key=lambda place: gaps[place])
    seen = f"Reliability diagrams; the largest ECE is that of {worst[1]} on {worst[0]}, {gaps[worst]:.2f}."
    drawing = curves_plot(panels, ("confidence", "share of right predictions"), right="diagonal")
    return (picture("reliability", caption, seen, drawing),)


def _gap(view: View, dataset: str, label: str) -> float:
    row = next(name for name, each in view.labels.items() if each == label)
    return float(np.nan_to_num(view.results.summary(dataset, row, "ece").mean))


def pooled_reliability(view: View, row: str, dataset: str) -> Curve:
    """Confidence and accuracy of every bin over the points of all seeds; NaN where next to none fall in it."""
    seeds, values = view.results.seeds(dataset, row), view.results.values
    shares, confidence, accuracy = (
        np.nan_to_num([values(dataset, row, f"reliability_{what}_{k}", seeds) for k in range(BINS)])
        for what in ("share", "confidence", "accuracy")
    )
    total = shares.sum(axis=1)
    held = total > LEAST_SHARE * max(shares.sum(), 1e-300)

    def mean(values: Array) -> Array:
        return np.divide((shares * values).sum(axis=1), total, out=np.full(BINS, np.nan), where=held)

    return Curve(mean(confidence)[held], mean(accuracy)[held])


def _selective(view: View) -> tuple[Picture, ...]:
    panels = _panels(view, AREA, selective_risks)
    if not panels:
        return ()
    caption = (
        "Selective prediction: error rate of the most confident points against their share, mean over seeds. The first "
        f"{MOST_CURVES} rows."
    )
    ends = {(d, row): float(curve.y[-1]) for d, rows in panels.items() for row, curve in rows.items()}
    worst = max(ends, key=lambda place: ends[place])
    seen = f"Selective-prediction curves; the highest error rate on all points is {ends[worst]:.2f}, on {worst[0]}."
    drawing = curves_plot(panels, ("share of points predicted", "error rate"))
    return (picture("selective", caption, seen, drawing),)


def selective_risks(view: View, row: str, dataset: str) -> Curve:
    """Mean over seeds of the risk at ten shares."""
    names = [f"selective_risk_{round(100 * share):03d}" for share in SHARES]
    return Curve(SHARES, np.array([view.results.summary(dataset, row, name).mean for name in names]))


def _panels(view: View, name: str, curve) -> dict[str, dict[str, Curve]]:
    """Curves of the first rows that have the quantity, by data set and label."""
    rows = [row for row in view.rows if any(view.has(row.name, d, name) for d in view.datasets(row))][:MOST_CURVES]
    panels: dict[str, dict[str, Curve]] = {}
    for dataset in view.study.datasets:
        for row in rows:
            if view.has(row.name, dataset, name):
                panels.setdefault(dataset, {})[view.labels[row.name]] = curve(view, row.name, dataset)
    return panels
