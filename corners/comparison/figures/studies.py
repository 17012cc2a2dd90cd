"""The figures of a study: many rows on many data sets, as small multiples with one order of rows everywhere."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from corners.comparison.figure_data import LEVELS
from corners.comparison.figures._labels import label_points
from corners.comparison.figures._rows import STUDY_WIDTH, all_names, legend, row_panels
from corners.comparison.figures._style import (
    FAINT,
    GREY,
    INK,
    SHARE_COLOURS,
    SHARE_INK,
    clip_limit,
    make_panels,
    plain,
    set_title,
)
from corners.comparison.figures.comparisons import Difference
from corners.comparison.figures.rankings import critical_difference_plot
from corners.comparison.palette import Style, styles
from corners.errors import DataError
from corners.types import Array, Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "attribution_bars",
    "calibration_curves_plot",
    "cost_plot",
    "critical_difference_plot",
    "paired_difference_plot",
    "pareto_front",
]

STANDINGS = {
    "lower": ("#009E73", "s", "interval below zero"),
    "even": ("#0072B2", "o", "interval holds zero"),
    "higher": ("#D55E00", "D", "interval above zero"),
}
SHARES = ("noise", "covariance", "prior")
NUMBERED_SHARE = 0.3
TOLD_APART = 6
PALE = "#a3a3a3"


def paired_difference_plot(panels: Mapping[str, Sequence[Difference]], label: str = "NLL minus best") -> "Figure":
    """A panel a data set, a row a method: mean paired difference with its interval.

    A row that lies several times farther out than the others is clipped to an arrow at the edge, its number beside it;
    a dash stands where a mean is not finite. Rows of one name share a line; a panel may lack some.

    Raises
    ------
    DataError : there is nothing to draw.

    Example
    -------
    >>> rows = [Difference("a", 0.0, 0.0, 0.0), Difference("b", 0.3, 0.1, 0.5)]
    >>> len(paired_difference_plot({"yacht": rows, "boston": rows}).axes)
    2
    """
    names = all_names([row.method for row in rows] for rows in panels.values())
    figure, axes = row_panels(len(panels), names, sharex=False)
    seen: set[str] = set()
    for axis, (name, rows) in zip(axes, panels.items(), strict=True):
        above, below = _edge([row.high for row in rows]), _edge([-row.low for row in rows])
        for row in rows:
            seen.add(_draw_difference(axis, row, names.index(row.method), -below, above))
        axis.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
        axis.locator_params(axis="x", nbins=4)
        axis.margins(x=0.12)
        set_title(axis, name)
    figure.supxlabel(plain(label), fontsize=10)
    legend(figure, [(text, colour, marker) for key, (colour, marker, text) in STANDINGS.items() if key in seen])
    return figure


def _edge(ends: Sequence[float]) -> float:
    """Where far values are clipped: a little beyond the farthest that is not far."""
    limit = clip_limit(ends)
    return min(limit, 1.25 * max((end for end in ends if end <= limit), default=limit)) if limit < math.inf else limit


def _draw_difference(axis: "Axes", row: Difference, place: int, low: float, high: float) -> str:
    """Draw one row; returns its standing, empty where there is none."""
    if not math.isfinite(row.mean):
        axis.annotate("–", (0.5, place), xycoords=("axes fraction", "data"), va="center", ha="center", color=GREY)
        return ""
    standing = "lower" if row.high < 0.0 else "higher" if row.low > 0.0 else "even"
    colour, marker, _ = STANDINGS[standing]
    clipped = not low <= row.mean <= high
    ends = np.clip([row.low, row.high], low, high)
    axis.plot(ends, [place, place], color=colour, linewidth=1.6, solid_capstyle="butt")
    marker = (">" if row.mean > 0.0 else "<") if clipped else marker
    middle = float(np.clip(row.mean, low, high))
    axis.plot(middle, place, marker, color=colour, markersize=4.5)
    if clipped:
        side = "right" if row.mean > 0.0 else "left"
        shift = (-5, 0) if side == "right" else (5, 0)
        text = axis.annotate(f"{row.mean:+.2g}", (middle, place), xytext=shift, textcoords="offset points", color=INK)
        text.set(
            fontsize=7,
            ha=side,
            va="center",
            in_layout=False,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
        )
    return standing


def cost_plot(
    points: Mapping[str, tuple[float, float]],
    *,
    cost_label: str = "seconds a fit",
    label: str = "test NLL, nats per point",
) -> "Figure":
    """NLL against cost, both lower is better: cost on a logarithmic axis, every point named, the Pareto front stepped.

    A point far above the others is drawn at the upper edge as an arrow, its value in its name.

    Raises
    ------
    DataError : no point, or a cost that is not positive and finite, or an NLL that is not finite.

    Example
    -------
    >>> figure = cost_plot({"cheap": (0.1, 3.0), "good": (10.0, 2.5), "neither": (20.0, 2.7)})
    >>> figure.axes[0].get_xscale()
    'log'
    """
    wrong = {name: p for name, p in points.items() if not (0.0 < p[0] < math.inf and math.isfinite(p[1]))}
    if wrong or not points:
        raise DataError(f"a cost plot needs positive finite costs and finite scores; got {wrong or 'no point'}")
    values = np.array(list(points.values()))
    least = float(values[:, 1].min())
    top = least + _edge(list(values[:, 1] - least))
    figure, (axis,) = make_panels(1, 1, height=5.2, width=STUDY_WIDTH)
    _log_ticks(axis, values[:, 0])
    front = pareto_front(points)
    steps = np.array([points[name] for name in front])
    axis.step(steps[:, 0], steps[:, 1], where="post", color=GREY, linewidth=1.2, zorder=1, label="Pareto front")
    shown: dict[str, tuple[float, float]] = {}
    for name, (cost, score) in points.items():
        colour, marker = ("#D55E00", "o") if name in front else ("#0072B2", "s")
        axis.plot(cost, min(score, top), "^" if score > top else marker, color=colour, markersize=6, zorder=2)
        shown[f"{name} ({score:.2f})" if score > top else name] = (cost, min(score, top))
    axis.margins(0.14, 0.08)
    axis.set_xlabel(plain(cost_label), fontsize=10)
    axis.set_ylabel(plain(label), fontsize=10)
    legend(figure, [("on the Pareto front", "#D55E00", "o"), ("not on it", "#0072B2", "s")])
    axis.autoscale_view()
    axis.set_autoscale_on(False)
    label_points(axis, shown, steps, fontsize=8.5)
    return figure


def _log_ticks(axis: "Axes", costs: Float[Array, " K"]) -> None:
    """Plain numbers at decades, and at 2 and 5 between them where there are few."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_xscale("log")
    decades = math.log10(costs.max() / costs.min())
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0,) if decades > 2.0 else (1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(lambda cost, _: f"{cost:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())


def pareto_front(points: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """Names that no other point beats in both numbers, from the cheapest on.

    Example
    -------
    >>> pareto_front({"dear": (9.0, 1.0), "cheap": (1.0, 2.0), "neither": (9.0, 2.0)})
    ('cheap', 'dear')
    """
    front: list[str] = []
    for name in sorted(points, key=lambda each: points[each]):
        if not front or points[name][1] < points[front[-1]][1]:
            front.append(name)
    return tuple(front)


def calibration_curves_plot(
    panels: Mapping[str, Mapping[str, Float[Array, " L"]]],
    points: Mapping[str, int] | None = None,
    *,
    highlight: Sequence[str] = (),
) -> "Figure":
    """A panel a data set, a line a method: observed against nominal coverage at the 19 levels of theory 11.

    More than six lines in one panel cannot be told apart: the six farthest from the diagonal (mean distance) keep their
    colour then, the others are grey; ``highlight`` names those that are coloured instead, in every panel. With
    ``points``, the number of test points behind a panel, the 95 % binomial band around the diagonal is drawn.

    Raises
    ------
    DataError : nothing to draw, or a curve that has not one value a level.

    Example
    -------
    >>> figure = calibration_curves_plot({"yacht": {"a": np.linspace(0.1, 1.0, 19)}}, {"yacht": 31})
    >>> len(figure.axes)
    1
    """
    names = all_names(panels.values())
    wrong = {(p, n): np.shape(c) for p, row in panels.items() for n, c in row.items() if np.shape(c) != LEVELS.shape}
    if wrong:
        raise DataError(f"a calibration curve has one value at each of {LEVELS.size} levels; got shapes {wrong}")
    coloured = {name: _coloured(curves, highlight) for name, curves in panels.items()}
    shown = [name for name in names if any(name in some for some in coloured.values())]
    look = styles(shown)
    columns = min(3, len(panels))
    figure, axes = make_panels(len(panels), columns, height=2.9, width=STUDY_WIDTH, sharex=True, sharey=True)
    for axis, (name, curves) in zip(axes, panels.items(), strict=True):
        if points is not None and name in points:
            low, high = stats.binom.interval(0.95, points[name], LEVELS)
            axis.fill_between(LEVELS, low / points[name], high / points[name], color=FAINT, linewidth=0)
        axis.plot([0.0, 1.0], [0.0, 1.0], color=INK, linewidth=0.9)
        for method in sorted(curves, key=lambda each: each in coloured[name]):
            _draw_curve(axis, curves[method], look[method] if method in coloured[name] else None)
        axis.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal", xticks=(0.0, 0.5, 1.0), yticks=(0.0, 0.5, 1.0))
        set_title(axis, name)
    figure.supxlabel("nominal coverage", fontsize=10)
    figure.supylabel("observed coverage", fontsize=10)
    others = [("others", PALE, "-")] if any(len(row) > len(coloured[name]) for name, row in panels.items()) else []
    legend(figure, [*((name, style.colour, style.dash) for name, style in look.items()), *others])
    return figure


def _coloured(curves: Mapping[str, Float[Array, " L"]], highlight: Sequence[str]) -> set[str]:
    if highlight or len(curves) <= TOLD_APART:
        return set(curves) & set(highlight or curves)
    return set(sorted(curves, key=lambda name: -float(np.abs(curves[name] - LEVELS).mean()))[:TOLD_APART])


def _draw_curve(axis: "Axes", curve: Float[Array, " L"], style: Style | None) -> None:
    if style is None:
        axis.plot(LEVELS, curve, color=PALE, linewidth=0.8)
    else:
        axis.plot(LEVELS, curve, linestyle=style.dash, color=style.colour, linewidth=1.5)


def attribution_bars(panels: Mapping[str, Mapping[str, Mapping[str, float]]]) -> "Figure":
    """A panel a data set, a stacked bar a method: shares of the predictive variance ``noise, covariance, prior``.

    A share that is absent or NaN counts as zero; a method without any has no bar.

    Example
    -------
    >>> bars = attribution_bars({"yacht": {"a": {"noise": 0.5, "covariance": 0.3, "prior": 0.2}}})
    >>> [f"{bar.get_width():.1f}" for bar in bars.axes[0].patches[-3:]]
    ['0.5', '0.3', '0.2']
    """
    names = all_names(panels.values())
    figure, axes = row_panels(len(panels), names, sharex=True)
    for axis, (name, rows) in zip(axes, panels.items(), strict=True):
        widths = np.nan_to_num([[rows[row].get(share, 0.0) for share in SHARES] for row in rows])
        places, lefts = np.array([names.index(row) for row in rows], dtype=float), np.zeros(len(rows))
        for k, share in enumerate(widths.T):
            axis.barh(places, share, left=lefts, color=SHARE_COLOURS[k], height=0.8)
            for row in np.flatnonzero(share >= NUMBERED_SHARE):
                text = axis.text(float(lefts[row] + 0.5 * share[row]), places[row], f"{100.0 * share[row]:.0f}")
                text.set(ha="center", va="center_baseline", fontsize=6.5, color=SHARE_INK[k], in_layout=False)
            lefts += share
        axis.set(xlim=(0.0, 1.0), xticks=(0.0, 0.5, 1.0))
        set_title(axis, name)
    figure.supxlabel("share of the predictive variance (numbers in per cent)", fontsize=10)
    legend(figure, [(name, colour, "s") for name, colour in zip(SHARES, SHARE_COLOURS, strict=True)])
    return figure
