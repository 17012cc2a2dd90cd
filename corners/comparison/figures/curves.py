"""Curves of many rows on many data sets: a panel a data set, a line a row, one legend above them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from corners.comparison.figures._rows import STUDY_WIDTH, all_names, legend
from corners.comparison.figures._style import FAINT, INK, make_panels, plain, set_title
from corners.comparison.palette import styles
from corners.errors import DataError
from corners.types import Array, Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Curve:
    """Points ``(x, y)`` joined in their order; a NaN breaks the line."""

    x: Float[Array, " K"]
    y: Float[Array, " L"]

    def __post_init__(self) -> None:
        if self.x.shape != self.y.shape or self.x.ndim != 1 or not self.x.size:
            raise DataError(f"a curve needs as many x as y, at least one; got {self.x.shape} and {self.y.shape}")


def curves_plot(
    panels: Mapping[str, Mapping[str, Curve]],
    labels: tuple[str, str],
    *,
    right: Literal["diagonal", "one"] | None = None,
    band: Mapping[str, tuple[float, float]] | None = None,
    steps: bool = False,
) -> "Figure":
    """Lines a data set, ``labels`` on the axes; x runs over [0, 1].

    Parameters
    ----------
    right : where a right method lies, drawn in black: on the diagonal, or at y = 1.
    band : a range around it by panel, in grey.
    steps : outlines of a histogram of equal bins over [0, 1]; x is not looked at.

    Raises
    ------
    DataError : there is nothing to draw.

    Example
    -------
    >>> curve = Curve(np.array([0.5, 1.0]), np.array([0.0, 0.1]))
    >>> len(curves_plot({"iris": {"a": curve}, "sonar": {"a": curve}}, ("share", "risk")).axes)
    2
    """
    look = styles(all_names(panels.values()))
    square = right == "diagonal"
    columns = min(3, len(panels))
    figure, axes = make_panels(len(panels), columns, height=2.9, width=STUDY_WIDTH, sharex=True, sharey=square)
    for axis, (name, curves) in zip(axes, panels.items(), strict=True):
        if band is not None and name in band:
            axis.axhspan(*band[name], color=FAINT, linewidth=0)
        if right is not None:
            axis.plot([0.0, 1.0], [0.0, 1.0] if square else [1.0, 1.0], color=INK, linewidth=0.9)
        for row, curve in curves.items():
            line = {"linestyle": look[row].dash, "color": look[row].colour, "linewidth": 1.4}
            if steps:
                axis.stairs(curve.y, np.linspace(0.0, 1.0, curve.y.size + 1), baseline=None, **line)
            else:
                axis.plot(curve.x, curve.y, marker=look[row].marker, markersize=3.5, **line)
        axis.set(xlim=(0.0, 1.0), xticks=(0.0, 0.5, 1.0))
        if square:
            axis.set(ylim=(0.0, 1.0), aspect="equal", yticks=(0.0, 0.5, 1.0))
        else:
            axis.set_ylim(bottom=0.0)
        set_title(axis, name)
    figure.supxlabel(plain(labels[0]), fontsize=10)
    figure.supylabel(plain(labels[1]), fontsize=10)
    legend(figure, _entries(look))
    return figure


def _entries(look: Mapping) -> Sequence[tuple[str, str, str]]:
    return [(name, style.colour, style.dash) for name, style in look.items()]
