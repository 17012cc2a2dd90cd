"""What do the single choices change? Differences between rows, paired by seed, with the published ones beside."""

from typing import TYPE_CHECKING

from corners.comparison.document import Section
from corners.comparison.grid import Cell, Grid
from corners.comparison.sections._wording import listed, several
from corners.study.sections._tables import MINUS, difference_cell, wide_grids
from corners.study.sections._view import View, quantity

if TYPE_CHECKING:
    from corners.study.spec import ContrastSpec

LEVEL = 0.05
READING = (
    "Each difference is the first row minus the second, a mean over the seeds both have, ± its standard error; t is "
    "their ratio. Below zero the first row is better. Published differences come without an error.",
)


def section(view: View) -> Section | None:
    """A table a contrast; a sentence with what is significant."""
    grids, said = [], []
    for contrast in view.study.contrasts:
        made = _grids(view, contrast)
        grids += made
        said += [_answer(view, contrast)] if made else []
    if not grids:
        return None
    title = "What do the single choices change?"
    return Section("contrasts", title, tuple(said), tuple(grids), (), READING)


def _grids(view: View, contrast: "ContrastSpec") -> tuple[Grid, ...]:
    lines = []
    for first, second in contrast.pairs:
        cells, theirs = {}, {}
        for dataset in view.study.datasets:
            found = view.results.difference(dataset, first, second, contrast.quantity)
            if found.pairs:
                cells[dataset] = difference_cell(found.mean, found.se, found.t)
                published = view.published.contrast(contrast.published, view.study.row(second), dataset)
                if published is not None:
                    theirs[dataset] = Cell(f"{published:+.3f}".replace("-", MINUS), published)
        lines.append((f"{view.labels[first]} minus {view.labels[second]}", cells))
        lines.append((f"– published {view.study.row(second).published}", theirs))
    known = quantity(contrast.quantity)
    unit = f", {known.unit}" if known.unit else ""
    return wide_grids(view, f"{contrast.title}: difference of {known.heading}{unit}", lines, heading="difference")


def _answer(view: View, contrast: "ContrastSpec") -> str:
    lower, higher, count, agree, both = [], [], 0, 0, 0
    for first, second in contrast.pairs:
        for dataset in view.study.datasets:
            found = view.results.difference(dataset, first, second, contrast.quantity)
            published = view.published.contrast(contrast.published, view.study.row(second), dataset)
            count += found.pairs > 0
            if published is not None and found.pairs:
                both, agree = both + 1, agree + (published * found.mean > 0.0)
            if found.p < LEVEL:
                (lower if found.mean < 0.0 else higher).append(f"{view.labels[second]} on {dataset}")
    heading = quantity(contrast.quantity).heading
    said = (
        f"{contrast.title}: of {several(count, 'difference')} of {heading}, {len(lower)} are significantly below zero"
    )
    said += f" ({listed(lower)})" if lower else ""
    said += f" and {len(higher)} above" + (f" ({listed(higher)})" if higher else "") + "."
    return f"{said} Of {both} with a published one, {agree} have its sign." if both else said
