"""Labels of points that do not meet: every label goes where it covers the least, joined to its point by a line."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from corners.comparison.figures._style import GREY, INK, plain
from corners.types import Array, Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

DISTANCES = (7.0, 14.0, 24.0, 36.0, 50.0, 66.0, 84.0)
ANGLES = np.deg2rad(np.arange(0.0, 360.0, 22.5))
JOINED_FROM = 12.0  # points: a label farther away than this has a line to its own
CROSSED = 20.0  # square pixels that a line through something else counts for
MARK = 4.0  # half the width of a marker, in points


def label_points(
    axis: "Axes", points: Mapping[str, tuple[float, float]], steps: Float[Array, "K 2"], *, fontsize: float
) -> None:
    """Write every name beside its point, clear of a line of ``steps``; the limits of the axis must be final.

    Labels are placed one after another, those in the thick of the points first, at the nearest place that meets no
    label, no point and no edge, else where they cover least.
    """
    figure = axis.figure
    figure.draw_without_rendering()  # pyright: ignore[reportAttributeAccessIssue]  (the layout decides where pixels are)
    pixels = figure.dpi / 72.0
    places = axis.transData.transform(list(points.values()))
    crowd = np.linalg.norm(places[:, None] - places[None], axis=-1)
    order = np.argsort(np.sort(crowd, axis=1)[:, 1 : min(4, len(places))].sum(axis=1), kind="stable")
    inside, taken = axis.get_window_extent(), [_box(place, np.full(2, 2.0 * MARK * pixels)) for place in places]
    taken += _stairs(axis.transData.transform(steps), 1.5 * pixels)
    names = list(points)
    for k in order.tolist():
        text = axis.annotate(plain(names[k]), points[names[k]], xytext=(0, 0), textcoords="offset points", color=INK)
        text.set(fontsize=fontsize, ha="center", va="center", in_layout=False)
        size = np.asarray(text.get_window_extent().size) / pixels
        offset = _offset(places[k], size, pixels, taken, inside)
        taken.append(_box(places[k] + offset * pixels, size * pixels))
        text.set_position(tuple(offset))
        edge = offset - np.clip(offset, -0.5 * size, 0.5 * size)
        if np.linalg.norm(edge) > JOINED_FROM:
            line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "alpha": 0.7}
            axis.annotate("", points[names[k]], xytext=tuple(edge), textcoords="offset points", arrowprops=line)


def _offset(place: np.ndarray, size: np.ndarray, pixels: float, taken: "list[Bbox]", inside: "Bbox") -> np.ndarray:
    best, least = np.zeros(2), np.inf
    for distance in DISTANCES:
        for angle in ANGLES:
            direction = np.array([np.cos(angle), np.sin(angle)])
            offset = direction * (distance + 0.5 * size)
            box = _box(place + offset * pixels, size * pixels)
            cost = sum(_shared(box, other) for other in taken) + box.width * box.height - _shared(box, inside)
            cost += CROSSED * sum(_crosses(place, offset * pixels, size * pixels, other) for other in taken)
            if cost < least - 1e-6:
                best, least = offset, cost
        if least <= 0.0:
            return best
    return best


def _crosses(place: np.ndarray, offset: np.ndarray, size: np.ndarray, other: "Bbox") -> bool:
    """Whether the line from a point to its label runs through another box."""
    end = offset - np.clip(offset, -0.5 * size, 0.5 * size)
    inner = [place + part * end for part in np.linspace(0.0, 1.0, 9)]
    return not other.contains(*place) and any(other.contains(*spot) for spot in inner)


def _box(centre: np.ndarray, size: np.ndarray) -> "Bbox":
    from matplotlib.transforms import Bbox

    return Bbox([centre - 0.5 * size, centre + 0.5 * size])


def _stairs(corners: np.ndarray, half: float) -> "list[Bbox]":
    """Boxes around a line that goes across first, then up or down."""
    from matplotlib.transforms import Bbox

    pairs = list(pairwise(corners))
    across = [[(first[0], first[1] - half), (second[0], first[1] + half)] for first, second in pairs]
    along = [[(second[0] - half, second[1]), (second[0] + half, first[1])] for first, second in pairs]
    return [Bbox(ends) for ends in across + along]


def _shared(first: "Bbox", second: "Bbox") -> float:
    """Area that two boxes share."""
    width = min(first.x1, second.x1) - max(first.x0, second.x0)
    height = min(first.y1, second.y1) - max(first.y0, second.y0)
    return max(width, 0.0) * max(height, 0.0)
