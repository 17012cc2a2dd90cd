"""Class probabilities over a plane of two inputs, with the points they were learned from: a panel a method."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from corners.comparison.figures._style import INK, make_panels, plain, set_title
from corners.comparison.plane import Plane
from corners.errors import DataError
from corners.types import Array, Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = (0.0, 0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.0)
TICKS = (0.05, 0.25, 0.45, 0.55, 0.75, 0.95)
CLASSES = ("#004c7f", "#8f3f00")


def plane_plot(
    planes: Mapping[str, Plane],
    inputs: Float[Array, "N 2"],
    classes: Float[Array, " N"],
    names: tuple[str, str],
    labels: tuple[str, str],
) -> "Figure":
    """``P(second class)`` in bands of equal colour, ½ as a line, and the training points: dots and triangles.

    "certain" is the share of the plane beyond the training inputs where one class has more than 95 %. ``names`` are
    those of the two inputs, ``labels`` those of the two classes.

    Raises
    ------
    DataError : there is nothing to draw.
    """
    if not planes:
        raise DataError("a plot of the plane needs at least one method")
    figure, axes = make_panels(len(planes), 2 if len(planes) > 1 else 1, height=2.3, sharex=True, sharey=True)
    bands = None
    for axis, (method, one) in zip(axes, planes.items(), strict=True):
        bands = axis.contourf(one.across, one.up, one.probability, LEVELS, cmap="RdBu_r", alpha=0.8)
        axis.contour(one.across, one.up, one.probability, (0.5,), colors=INK, linewidths=1.2)
        for code, marker in enumerate(("o", "^")):
            own = inputs[classes == code]
            axis.plot(*own.T, marker, color=CLASSES[code], markersize=3.2, markeredgecolor="white", markeredgewidth=0.4)
        set_title(axis, method)
        note = axis.text(0.03, 0.96, f"certain: {one.certain_far:.0%}", transform=axis.transAxes)
        note.set(ha="left", va="top", fontsize=9, color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 2})
    assert bands is not None
    bar = figure.colorbar(bands, ax=axes, location="top", aspect=45, ticks=TICKS)
    bar.set_label(plain(f"probability of {labels[1]}"), fontsize=10)
    bar.ax.tick_params(labelsize=9, colors=INK)
    figure.supxlabel(plain(names[0]), fontsize=10)
    figure.supylabel(plain(names[1]), fontsize=10)
    return figure
