"""The figures of one comparison. They are narrow, with few columns and large type: readable on a telephone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corners.comparison.figure_data import LEVELS, Bands, Calibration, Marginal, Slice, TrainingCurve
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
    short,
)
from corners.comparison.palette import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN_SHARE = 0.09  # a narrower part of a bar has no room for its number
GAP_MARKS = (("data", "o", "#0072B2"), ("prior", "s", "#D55E00"), ("total", "D", INK))
PIT_BINS = 10
PEAK_FACTOR = 2.5


@dataclass(frozen=True)
class Difference:
    """One row of the difference plot: how much worse than the best, with its interval."""

    method: str
    mean: float
    low: float
    high: float


def difference_plot(rows: Sequence[Difference], look: Mapping[str, Style], label: str) -> "Figure":
    """Rows from best to worst; a row far outside the others is clipped, drawn as an arrow, its number kept."""
    figure, (axis,) = make_panels(1, 1, height=0.42 * len(rows) + 0.6)
    limit = clip_limit([row.high for row in rows])
    for place, row in enumerate(rows):
        style = look[row.method]
        clipped = row.mean > limit
        middle = min(row.mean, limit)
        axis.plot([min(row.low, limit), min(row.high, limit)], [place, place], color=style.colour, linewidth=2.5)
        axis.plot(middle, place, ">" if clipped else style.marker, color=style.colour, markersize=8)
        text = "best" if row.mean == 0.0 and row.low == row.high else f"{row.mean:+.2g}"
        axis.annotate(text, (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=9, color=INK)
    axis.axvline(0.0, color=GREY, linewidth=1)
    axis.set_yticks(range(len(rows)), [plain(row.method) for row in rows], fontsize=10)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlabel(label, fontsize=10)
    return figure


def band_plot(where: Slice, bands: Mapping[str, Bands], look: Mapping[str, Style], target: str) -> "Figure":
    """Predictive mean, 50 % and 95 % bands of every method along one slice, in one scale."""
    columns = 2 if len(bands) > 1 else 1
    figure, axes = make_panels(len(bands), columns, sharex=True, sharey=True)
    for axis, (method, band) in zip(axes, bands.items(), strict=True):
        colour = look[method].colour
        axis.scatter(where.shown_inputs, where.shown_targets, s=7, color=GREY, alpha=0.5, linewidths=0, rasterized=True)
        axis.fill_between(where.grid, *band.outer, color=colour, alpha=0.18, linewidth=0)
        axis.fill_between(where.grid, *band.inner, color=colour, alpha=0.35, linewidth=0)
        axis.plot(where.grid, band.mean, color=colour, linewidth=2)
        set_title(axis, method)
    axes[0].set_ylim(*_robust_limits(where, bands))
    figure.supxlabel(plain(short(where.label)), fontsize=10)
    figure.supylabel(plain(short(target)), fontsize=10)
    return figure


def _robust_limits(where: Slice, bands: Mapping[str, Bands]) -> tuple[float, float]:
    """Hold the points and every band, but let no single band squeeze the rest into less than a third."""
    low, high = float(where.shown_targets.min()), float(where.shown_targets.max())
    room = high - low
    floor = min(float(band.outer[0].min()) for band in bands.values())
    ceiling = max(float(band.outer[1].max()) for band in bands.values())
    return max(min(low, floor), low - room) - 0.05 * room, min(max(high, ceiling), high + room) + 0.05 * room


def calibration_plot(rows: Mapping[str, Calibration], look: Mapping[str, Style]) -> "Figure":
    """A row a method: histogram of the PIT, and coverage minus level, each with its binomial band."""
    figure, axes = make_panels(2 * len(rows), 2, height=1.55, sharex="col", sharey="col")
    for (method, row), left, right in zip(rows.items(), axes[::2], axes[1::2], strict=True):
        colour = look[method].colour
        left.axhspan(*row.histogram_band(PIT_BINS), color=FAINT, linewidth=0)
        left.hist(row.pit, bins=PIT_BINS, range=(0.0, 1.0), density=True, color=colour, alpha=0.6, edgecolor="white")
        left.axhline(1.0, color=INK, linewidth=1)
        low, high = row.coverage_band()
        right.fill_between(LEVELS, low - LEVELS, high - LEVELS, color=FAINT, linewidth=0)
        right.axhline(0.0, color=INK, linewidth=1)
        right.plot(LEVELS, row.coverage - LEVELS, color=colour, linewidth=2)
        set_title(left, method)
    axes[0].set_xlim(0.0, 1.0)
    axes[1].set_xlim(0.0, 1.0)
    axes[-2].set_xlabel("PIT, F(y)", fontsize=10)
    axes[-1].set_xlabel("level", fontsize=10)
    axes[1].set_title("coverage minus level", fontsize=10, color=INK, loc="left")
    return figure


def marginal_plot(rows: Mapping[str, Sequence[Marginal]], look: Mapping[str, Style]) -> "Figure":
    """A row a method: the sampler's draws (grey) and the belief's Gaussian (colour) for a few weights."""
    columns = max(len(row) for row in rows.values())
    figure, axes = make_panels(columns * len(rows), columns, height=1.5)
    for place, (method, row) in enumerate(rows.items()):
        panels = axes[place * columns : (place + 1) * columns]
        for axis, marginal in zip(panels, row, strict=False):
            _draw_marginal(axis, marginal, look[method].colour)
        for spare in panels[len(row) :]:
            spare.remove()
        set_title(panels[0], method)
    return figure


def _draw_marginal(axis: "Axes", marginal: Marginal, colour: str) -> None:
    heights, _, _ = axis.hist(marginal.draws, bins=40, density=True, color="#b8b8b8", linewidth=0)
    top = 1.15 * float(np.max(heights))
    if marginal.scale > 0.0:
        reach = np.linspace(-3.5, 3.5, 141)
        density = np.exp(-0.5 * reach**2) / (np.sqrt(2.0 * np.pi) * marginal.scale)
        axis.plot(marginal.mean + marginal.scale * reach, density, color=colour, linewidth=2)
        top = max(top, min(1.05 * float(density.max()), PEAK_FACTOR * top))
    else:
        axis.axvline(marginal.mean, color=colour, linewidth=2)
    axis.set_ylim(0.0, top)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.locator_params(axis="x", nbins=3)
    axis.tick_params(axis="x", labelsize=8)
    axis.set_xlabel(f"weight {marginal.weight}", fontsize=9)


def share_plot(shares: Mapping[str, Sequence[float]], names: Sequence[str]) -> "Figure":
    """A stacked bar a method: shares that add to one, the same order and colours everywhere."""
    figure, (axis,) = make_panels(1, 1, height=0.36 * len(shares) + 0.8)
    lefts = np.zeros(len(shares))
    for k, name in enumerate(names):
        widths = np.array([row[k] for row in shares.values()])
        axis.barh(range(len(shares)), widths, left=lefts, color=SHARE_COLOURS[k], height=0.7, label=name)
        for place in np.flatnonzero(widths >= SHOWN_SHARE):
            middle = float(lefts[place] + 0.5 * widths[place])
            text = f"{widths[place]:.0%}"
            axis.text(middle, float(place), text, ha="center", va="center", fontsize=9, color=SHARE_INK[k])
        lefts += widths
    axis.set_yticks(range(len(shares)), [plain(name) for name in shares], fontsize=10)
    axis.set_ylim(len(shares) - 0.4, -0.6)
    axis.set_xlim(0.0, 1.0)
    axis.set_xlabel("share of the predictive variance", fontsize=10)
    figure.legend(loc="outside upper left", ncols=len(names), fontsize=9, frameon=False, handlelength=1.2)
    return figure


def gap_plot(panels: Mapping[str, Mapping[str, tuple[float, float, float]]]) -> "Figure":
    """A panel a pair of objectives, a row a method: data, prior and total gap; left of zero the order is reversed."""
    rows = list(next(iter(panels.values())))
    figure, axes = make_panels(len(panels), 1, height=0.36 * len(rows) + 0.8)
    for axis, (title, gaps) in zip(axes, panels.items(), strict=True):
        values = np.array([gaps[name] for name in rows])
        _signed_log_axis(axis, values[np.isfinite(values)])
        for k, (name, marker, colour) in enumerate(GAP_MARKS):
            known = np.isfinite(values[:, k])
            places = np.arange(len(rows)) + 0.18 * (k - 1)
            axis.plot(values[known, k], places[known], marker, color=colour, markersize=7, linestyle="none", label=name)
        axis.axvline(0.0, color=GREY, linewidth=1)
        axis.set_yticks(range(len(rows)), [plain(name) for name in rows], fontsize=10)
        axis.set_ylim(len(rows) - 0.5, -0.5)
        set_title(axis, title)
    axes[-1].set_xlabel("gap, nats over the training part", fontsize=10)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3, fontsize=9, frameon=False)
    return figure


def _signed_log_axis(axis: "Axes", values: np.ndarray) -> None:
    """Linear near zero, logarithmic beyond, with a tick every few decades so that labels never meet."""
    sizes = np.abs(values[values != 0.0])
    low = int(np.floor(np.log10(np.quantile(sizes, 0.1)))) if sizes.size else 0
    high = max(int(np.ceil(np.log10(sizes.max()))), low + 1) if sizes.size else 1
    exponents = range(high, low, -max(-(-(high - low) // 3), 1))
    negative = {-(10.0**e): f"−{_power(e)}" for e in exponents if (values < -(10.0**low)).any()}
    positive = {10.0**e: _power(e) for e in exponents if (values > 10.0**low).any()}
    ticks = {**negative, 0.0: "0", **positive}
    axis.set_xscale("symlog", linthresh=10.0**low)
    axis.set_xticks(list(ticks), list(ticks.values()))
    axis.minorticks_off()


def _power(exponent: int) -> str:
    return f"{10.0**exponent:g}" if -3 <= exponent <= 4 else f"1e{exponent}"


def trace_plot(curves: Mapping[str, Sequence[TrainingCurve]], look: Mapping[str, Style]) -> "Figure":
    """Validation NLL while training: a panel a method, a line a seed, a dot at the state that was kept."""
    figure, axes = make_panels(len(curves), 2 if len(curves) > 1 else 1)
    for axis, (method, lines) in zip(axes, curves.items(), strict=True):
        for line in lines:
            axis.plot(line.steps, line.values, color=look[method].colour, linewidth=1, alpha=0.7)
            axis.plot(line.selected_step, line.selected_value, "o", color=INK, markersize=4, zorder=3)
        axis.set_ylim(*_trace_limits(lines))
        axis.locator_params(axis="x", nbins=4)
        set_title(axis, method)
    figure.supxlabel("step", fontsize=10)
    figure.supylabel("validation NLL, nats per point", fontsize=10)
    return figure


def _trace_limits(lines: Sequence[TrainingCurve]) -> tuple[float, float]:
    """From just below the lowest kept value to a few spreads above the highest: the start is cut off."""
    kept = np.array([line.selected_value for line in lines])
    spread = max(float(np.ptp(kept)), 0.3)
    return float(kept.min()) - 0.2 * spread, float(kept.max()) + 2.0 * spread
