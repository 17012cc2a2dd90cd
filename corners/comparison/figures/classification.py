"""The figures of class predictions: reliability diagrams and selective-prediction curves."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from corners.comparison.figures._style import FAINT, GREY, INK, make_panels, plain, set_title
from corners.comparison.palette import Style
from corners.comparison.reliability import Reliability
from corners.comparison.selective import SelectiveCurve
from corners.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHARE_HEIGHT = 0.25  # of the panel, for the fullest bin


def reliability_plot(rows: Mapping[str, Reliability], look: Mapping[str, Style]) -> "Figure":
    """A panel a method: accuracy against confidence, a dot a bin, with the range of a right confidence in grey.

    Dots below the diagonal are over-confident. The pale bars at the foot are the bins' shares of the points, the
    number is the expected calibration error.

    Raises
    ------
    DataError : there is nothing to draw.
    """
    if not rows:
        raise DataError("a reliability plot needs at least one method")
    figure, axes = make_panels(len(rows), 2 if len(rows) > 1 else 1, height=2.3, sharex=True, sharey=True)
    for axis, (method, row) in zip(axes, rows.items(), strict=True):
        _draw_reliability(axis, row, look[method])
        set_title(axis, method)
    axes[0].set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    figure.supxlabel("confidence", fontsize=10)
    figure.supylabel("accuracy", fontsize=10)
    return figure


def _draw_reliability(axis: "Axes", row: Reliability, style: Style) -> None:
    width, left, held = np.diff(row.edges), row.edges[:-1], row.count > 0
    low, high = row.band()
    shares = SHARE_HEIGHT * row.count / row.count.max()
    axis.bar(left[held], (high - low)[held], width[held], low[held], align="edge", color=FAINT, linewidth=0)
    axis.bar(left, shares, width, align="edge", color=style.colour, alpha=0.22, linewidth=0)
    axis.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=1)
    axis.plot(row.confidence[held], row.accuracy[held], color=style.colour, linewidth=1.2, linestyle=style.dash)
    axis.plot(row.confidence[held], row.accuracy[held], style.marker, color=style.colour, markersize=5, clip_on=False)
    text = axis.text(0.04, 0.95, f"ECE {row.error:.3f}", transform=axis.transAxes)
    text.set(ha="left", va="top", fontsize=9, color=INK)


def selective_plot(curves: Mapping[str, SelectiveCurve], look: Mapping[str, Style], risk: str = "risk") -> "Figure":
    """Risk of the most confident points against their share: a line a method, its area in the legend.

    Raises
    ------
    DataError : there is nothing to draw.
    """
    if not curves:
        raise DataError("a selective-prediction plot needs at least one method")
    figure, (axis,) = make_panels(1, 1, height=2.6)
    for method, curve in curves.items():
        style = look[method]
        name = f"{plain(method)}  {curve.area:.3f}"
        axis.plot(curve.coverage, curve.risk, color=style.colour, linestyle=style.dash, linewidth=1.8, label=name)
    axis.set_xlim(0.0, 1.0)
    axis.set_ylim(bottom=0.0)
    axis.set_xlabel("coverage, share of points predicted", fontsize=10)
    axis.set_ylabel(plain(risk), fontsize=10)
    title = {"title": "area under the curve", "title_fontsize": 9, "alignment": "left"}
    figure.legend(loc="outside upper left", ncols=2, fontsize=9, frameon=False, **title)
    return figure
