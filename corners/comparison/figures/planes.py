"""Class probabilities over a plane of two inputs, with the points they were learned from: a panel a method."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from corners.comparison.figures._style import INK, make_panels, set_title
from corners.comparison.plane import Plane
from corners.errors import DataError
from corners.types import Array, Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = (0.0, 0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.0)
CLASSES = ("#004c7f", "#8f3f00")


def plane_plot(
    planes: Mapping[str, Plane],
    inputs: Float[Array, "N 2"],
    classes: Float[Array, " N"],
    names: tuple[str, str],
    labels: tuple[str, str],
) -> "Figure":
    """``P(second class)`` in bands of equal colour, ½ as a line, and the training points.

    ``names`` are those of the two inputs, ``labels`` those of the two classes.

    Raises
    ------
    DataError : there is nothing to draw.
    """
    if not planes:
        raise DataError("a plot of the plane needs at least one method")
    figure, axes = make_panels(len(planes), 2 if len(planes) > 1 else 1, height=2.3, sharex=True, sharey=True)
    bands = None
    for axis, (method, one) in zip(axes, planes.items(), strict=True):
        bands = axis.contourf(one.across, one.up, one.probability, LEVELS, cmap="RdBu_r")
        axis.contour(one.across, one.up, one.probability, (0.5,), colors=INK, linewidths=1.2)
        for code, marker in enumerate(("o", "^")):
            own = inputs[classes == code]
            axis.plot(*own.T, marker, color=CLASSES[code], markersize=2.5, markeredgewidth=0, label=labels[code])
        set_title(axis, f"{method}: {one.certain_far:.0%} certain far away")
    assert bands is not None
    bar = figure.colorbar(bands, ax=axes, shrink=0.8, ticks=(0.05, 0.25, 0.45, 0.55, 0.75, 0.95))
    bar.set_label(f"P({labels[1]})", fontsize=10)
    figure.supxlabel(names[0], fontsize=10)
    figure.supylabel(names[1], fontsize=10)
    return figure
