"""The critical-difference diagram: who differs from whom over many data sets."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from corners.comparison.figures._rows import STUDY_WIDTH
from corners.comparison.figures._style import GREY, INK, make_panels, plain
from corners.comparison.ranks import indistinct_groups
from corners.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR_STEP, LABEL_STEP = 0.28, 0.42
"""Heights of a bar and of a label, in the units of the drawing."""
ROOM_A_LETTER = 0.0145
"""Share of the axis that a letter of a label takes beside it."""


def critical_difference_plot(ranks: Mapping[str, float], critical_difference: float) -> "Figure":
    """Mean ranks on an axis, best on the left; bars join methods that do not differ (Demšar 2006, figure 1).

    Raises
    ------
    DataError : fewer than two methods, or a rank below 1 or not finite.

    Example
    -------
    >>> figure = critical_difference_plot({"a": 1.2, "b": 1.9, "c": 2.9}, 1.0)
    >>> [text.get_text() for text in figure.axes[0].texts][-3:]
    ['a  1.20', 'b  1.90', '2.90  c']
    """
    if len(ranks) < 2 or not all(1.0 <= rank < math.inf for rank in ranks.values()):
        raise DataError(f"mean ranks must be at least two, each finite and at least 1; got {dict(ranks)}")
    order = sorted(ranks, key=lambda method: ranks[method])
    groups = indistinct_groups(ranks, critical_difference)
    left = order[: -(-len(order) // 2)]
    first = 0.5 + BAR_STEP * len(groups)
    bottom = first + LABEL_STEP * len(left)
    figure, (axis,) = make_panels(1, 1, height=LABEL_STEP * (bottom + 2.0), width=STUDY_WIDTH)
    low, high = 1.0, float(max(len(order), math.ceil(max(ranks.values()))))
    room = (high - low) * max(0.36, ROOM_A_LETTER * max(len(plain(method)) for method in ranks))
    axis.set(xlim=(low - room, high + room), ylim=(bottom, -2.0))
    axis.axis("off")
    _rank_axis(axis, low, high, critical_difference)
    for place, group in enumerate(groups):
        ends = ranks[group[0]] - 0.006 * (high - low), ranks[group[-1]] + 0.006 * (high - low)
        axis.plot(ends, [0.42 + BAR_STEP * place] * 2, color=INK, linewidth=3.5, solid_capstyle="butt")
    for k, method in enumerate(order):
        near = k < len(left)
        height = first + LABEL_STEP * (k if near else len(order) - 1 - k)
        edge = low - 0.02 * room if near else high + 0.02 * room
        axis.plot([ranks[method], ranks[method], edge], [0.0, height, height], color=GREY, linewidth=0.9)
        axis.plot(ranks[method], 0.0, "o", color="#0072B2", markersize=4.5, zorder=3)
        text = f"{plain(method)}  {ranks[method]:.2f}" if near else f"{ranks[method]:.2f}  {plain(method)}"
        axis.text(edge - 0.04 * room if near else edge + 0.04 * room, height, text).set(
            ha="right" if near else "left", va="center", fontsize=9, color=INK
        )
    return figure


def _rank_axis(axis: "Axes", low: float, high: float, critical_difference: float) -> None:
    """The axis with its ticks, and the critical difference as a bar above it."""
    axis.plot([low, high], [0.0, 0.0], color=INK, linewidth=1.2)
    for tick in range(int(low), int(high) + 1, max(round((high - low) / 10), 1)):
        axis.plot([tick, tick], [0.0, -0.14], color=INK, linewidth=1)
        axis.text(tick, -0.24, str(tick), ha="center", va="bottom", fontsize=9, color=INK)
    end = low + critical_difference
    axis.plot([low, low, low, end, end, end], [-1.0, -1.2, -1.1, -1.1, -1.2, -1.0], color=INK, linewidth=1.4)
    text = axis.text(0.5 * (low + end), -1.3, f"critical difference {critical_difference:.2f}")
    text.set(ha="center", va="bottom", fontsize=9, color=INK)
