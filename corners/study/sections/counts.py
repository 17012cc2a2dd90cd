"""Are the counts where they were predicted? Histograms of the randomised PIT."""

import numpy as np
from scipy import stats

from corners.comparison.document import Picture, Section
from corners.comparison.figures.curves import Curve, curves_plot
from corners.comparison.grid import Grid, number
from corners.comparison.sections._wording import picture
from corners.study.scoring import BINS
from corners.study.sections._tables import Line, grouped_grids
from corners.study.sections._view import View

MOST_CURVES = 6
CONFIDENCE = 0.95
READING = (
    "The predictive distribution function at a count, spread evenly over its step (the randomised PIT), is uniform if "
    "the prediction is right. A histogram like a U says that the predictions are too narrow, as a Poisson is for "
    "overdispersed counts; a hump that they are too wide; a slope that they lie too high or too low.",
)


def section(view: View) -> Section | None:
    """The distance of the histograms from flat, and the histograms."""
    if not any(view.task(dataset) == "count" for dataset in view.study.datasets):
        return None
    title = "Are the counts where they were predicted?"
    return Section("counts", title, _answers(view), _grids(view), _pictures(view), READING)


def pit_shares(view: View, row: str, dataset: str) -> np.ndarray:
    """Mean over seeds of the share in each bin."""
    return np.array([view.results.summary(dataset, row, f"pit_{k}").mean for k in range(BINS)])


def distance_from_flat(shares: np.ndarray) -> float:
    """``½ Σ_b |share_b - 1/B|``: what share of the points would have to move.

    Example
    -------
    >>> distance_from_flat(np.full(10, 0.1)), round(distance_from_flat(np.eye(10)[0]), 12)
    (0.0, 0.9)
    """
    return 0.5 * float(np.abs(shares - 1.0 / BINS).sum())


def _rows(view: View, dataset: str) -> list:
    return [row for row in view.rows if row in view.study.rows_of(dataset) and view.has(row.name, dataset, "pit_0")]


def _grids(view: View) -> tuple[Grid, ...]:
    def lines(rows: tuple) -> list[Line]:
        return [
            (
                view.labels[row.name],
                {
                    dataset: number(distance_from_flat(pit_shares(view, row.name, dataset)), 2)
                    for dataset in view.datasets(row)
                    if view.has(row.name, dataset, "pit_0")
                },
            )
            for row in rows
        ]

    caption = "How far the PIT histogram, mean over seeds, is from flat: share of the points that would have to move"
    return grouped_grids(view, caption, lines)


def _answers(view: View) -> tuple[str, ...]:
    said = []
    for dataset in view.study.datasets:
        gaps = {row.name: distance_from_flat(pit_shares(view, row.name, dataset)) for row in _rows(view, dataset)}
        if gaps:
            best, worst = min(gaps, key=lambda row: gaps[row]), max(gaps, key=lambda row: gaps[row])
            said.append(
                f"{dataset}: nearest to flat {view.labels[best]} ({gaps[best]:.2f}), farthest {view.labels[worst]} "
                f"({gaps[worst]:.2f})"
            )
    return (f"{'; '.join(said)}.",) if said else ()


def _pictures(view: View) -> tuple[Picture, ...]:
    panels: dict[str, dict[str, Curve]] = {}
    bands: dict[str, tuple[float, float]] = {}
    centres = (np.arange(BINS) + 0.5) / BINS
    shown = [row.name for row in view.rows if any(row in _rows(view, d) for d in view.study.datasets)][:MOST_CURVES]
    for dataset in view.study.datasets:
        for row in _rows(view, dataset):
            if row.name in shown:
                density = BINS * pit_shares(view, row.name, dataset)
                panels.setdefault(dataset, {})[view.labels[row.name]] = Curve(centres, density)
        if dataset in panels:
            points = int(view.results.frame.loc[view.results.frame["dataset"] == dataset, "n_test"].min())
            low, high = stats.binom.interval(CONFIDENCE, points, 1.0 / BINS)
            bands[dataset] = (float(low) * BINS / points, float(high) * BINS / points)
    if not panels:
        return ()
    caption = (
        "Histograms of the randomised PIT, mean over seeds, for the first rows. Grey: where a bin of a right method "
        "lies with probability 95 % on the test points of one seed."
    )
    seen = "; ".join(
        f"{dataset}: fullest bin {max(float(c.y.max()) for c in rows.values()):.1f}" for dataset, rows in panels.items()
    )
    drawing = curves_plot(panels, ("randomised PIT", "density"), right="one", band=bands, steps=True)
    return (picture("pit", caption, f"Densities of the PIT; a flat one is 1. {seen}.", drawing),)
