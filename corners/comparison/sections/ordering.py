"""What does the ordering MAP <= Bethe <= ELBO say?"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from corners.comparison import figures
from corners.comparison.document import Picture, Section
from corners.comparison.grid import Cell, Grid, number, words
from corners.comparison.palette import Style
from corners.comparison.sections._wording import counted, listed, per_cent, picture

if TYPE_CHECKING:
    from corners.comparison.comparison import Comparison
    from corners.comparison.findings import Findings
    from corners.comparison.ordering import OrderingReport
    from corners.exact.ordering import Gap

TITLE = "What does the ordering MAP ≤ Bethe ≤ ELBO say?"
PAIRS = (("map_bethe", "MAP ≤ Bethe"), ("bethe_elbo", "Bethe ≤ ELBO"))
IN_TOTAL = ("holds", "holds_total_only")
ROUNDING = 1e-6
READING = (
    "All three objectives are evaluated at the same belief, prior precision and noise (of a head without noise: its "
    "own parameters), on the training part; they are totals in nats, lower is better. MAP here is the belief shrunk to "
    "a point at the same mean, not the fit of a method called map. A gap is the upper objective minus the lower one: "
    "positive keeps the order.",
    "The data part of Bethe ≤ ELBO can never be negative (Jensen's inequality). Every other part can: the prior terms "
    "have units, so rescaling the features moves them although no prediction changes. At the optimum of a free cell "
    "MAP ≤ Bethe cannot hold strictly, because the point belief was among the candidates. A reversed order is "
    "therefore no fault of a fit; it says which objective must not be read as a bound on which.",
)


def section(comparison: "Comparison", look: dict[str, Style]) -> Section:  # noqa: ARG001 (sections are alike)
    """Gaps of both pairs, data and prior apart, mean over seeds, with verdicts counted."""
    # Asked of no method in particular, the answer is all findings, never one report.
    found: Findings[OrderingReport] = comparison.ordering()  # pyright: ignore[reportAssignmentType]
    if not found.methods:
        return Section(
            "ordering", TITLE, ("No fit has a last layer with a Gaussian belief, so there is no ordering to look at.",)
        )
    return Section("ordering", TITLE, _answers(found), (ordering_grid(found),), (_picture(found),), READING)


def _answers(found: "Findings[OrderingReport]") -> tuple[str, ...]:
    total = len(found)
    kept = sum(found[key].verdict == "holds" for key in found)
    first = f"The whole order holds for the totals in {kept} of {total} fits."
    parts = []
    for pair, title in PAIRS:
        holding = Counter(method for method, seed in found if gap_of(found[method, seed], pair).verdict in IN_TOTAL)
        fully = [m for m in found.methods if holding[m] == len(found.of(m))]
        never = [m for m in found.methods if holding[m] == 0]
        some = [m for m in found.methods if m not in fully and m not in never]
        said = [
            f"{words} for {listed(which)}"
            for words, which in (("always", fully), ("never", never), ("on some seeds", some))
            if which
        ]
        parts.append(f"{title} holds in total {'; '.join(said)}.")
    least = tidy(min(found[key].bethe_elbo.data for key in found))
    proven = (
        "never negative, as Jensen's inequality demands" if least >= 0.0 else "negative somewhere, which is an error"
    )
    jensen = f"The data part of Bethe ≤ ELBO is {proven} (lowest: {number(least, 2).text} nats)."
    return first, " ".join(parts), jensen


def gap_of(report: "OrderingReport", pair: str) -> "Gap":
    """The gap of one pair of :data:`PAIRS`."""
    return getattr(report, pair)


def tidy(gap: float) -> float:
    """A difference of two equal totals is rounding error: show it as zero."""
    return 0.0 if abs(gap) < ROUNDING else gap


def _mean(values: Sequence[float]) -> float:
    """Mean over seeds; infinite if any is, unless both signs are."""
    return tidy(float(np.mean(values))) if len({v for v in values if math.isinf(v)}) < 2 else math.nan


def ordering_grid(found: "Findings[OrderingReport]") -> Grid:
    """Two rows a method: gaps of both pairs, data and prior apart, and their verdicts."""
    rows = []
    for method in found.methods:
        reports = found.of(method)
        for pair, title in PAIRS:
            gaps = [gap_of(report, pair) for report in reports]
            cells = [number(_mean([getattr(gap, part) for gap in gaps])) for part in ("total", "data", "prior")]
            verdicts = Counter(gap.verdict for gap in gaps)
            said = ", ".join(counted(VERDICTS[verdict], count, len(gaps)) for verdict, count in verdicts.most_common())
            plates = np.concatenate([getattr(report, f"{pair}_plates") for report in reports])
            share = float(np.mean(plates >= -ROUNDING))
            rows.append((words(method), words(title), *cells, Cell(per_cent(share), share), words(said)))
    caption = (
        "Gaps, upper minus lower objective, in nats over the training part, mean over seeds; and the share of training "
        "points whose own data terms are in order"
    )
    headings = ("method", "pair", "total", "data", "prior", "points in order", "verdict")
    return Grid(caption, headings, tuple(rows))


VERDICTS = {
    "holds": "holds",
    "holds_total_only": "holds in total only",
    "data_term_only": "holds for the data only",
    "fails": "fails",
}


def _picture(found: "Findings[OrderingReport]") -> Picture:
    panels = {
        title: {
            method: tuple(
                _mean([getattr(gap_of(report, pair), part) for report in found.of(method)])
                for part in ("data", "prior", "total")
            )
            for method in found.methods
        }
        for pair, title in PAIRS
    }
    caption = (
        "Gaps of the two pairs, mean over seeds. Right of the line the order holds. The scale is linear near zero and "
        "logarithmic beyond. An infinite gap (a belief that is a point has an infinite ELBO) is not drawn."
    )
    seen = "; ".join(
        f"{title}: " + ", ".join(f"{method} total {number(gaps[2], 2).text}" for method, gaps in rows.items())
        for title, rows in panels.items()
    )
    figure = figures.gap_plot(panels)  # pyright: ignore[reportArgumentType]  (each row is data, prior and total)
    return picture("ordering", caption, f"Gaps in nats. {seen}.", figure)
