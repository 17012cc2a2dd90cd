"""Labels of points that do not meet: every label goes where it covers the least, joined to its point by a line."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from corners.comparison.figures._style import GREY, INK, plain
from corners.types import Array, Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DISTANCES = (7.0, 14.0, 24.0, 36.0, 50.0, 66.0, 84.0)
ANGLES = np.deg2rad(np.arange(0.0, 360.0, 22.5))
DIRECTIONS = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
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
    inside = np.array(axis.get_window_extent().extents)
    taken = np.vstack([_boxes(places, 2.0 * MARK * pixels), _stairs(axis.transData.transform(steps), 1.5 * pixels)])
    names = list(points)
    for k in order.tolist():
        text = axis.annotate(plain(names[k]), points[names[k]], xytext=(0, 0), textcoords="offset points", color=INK)
        text.set(fontsize=fontsize, ha="center", va="center", in_layout=False)
        size = np.asarray(text.get_window_extent().size)
        offset = _offset(places[k], size, pixels, taken, inside)
        taken = np.vstack([taken, _boxes(places[k] + offset, size)])
        text.set_position(tuple(offset / pixels))
        edge = (offset - np.clip(offset, -0.5 * size, 0.5 * size)) / pixels
        if np.linalg.norm(edge) > JOINED_FROM:
            line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "alpha": 0.7}
            axis.annotate("", points[names[k]], xytext=tuple(edge), textcoords="offset points", arrowprops=line)


def _offset(place: Array, size: Array, pixels: float, taken: Array, inside: Array) -> Array:
    """From a point to the middle of its label, in pixels: the nearest ring with a free place, else the least cover."""
    best, least = np.zeros(2), np.inf
    for distance in DISTANCES:
        offsets = DIRECTIONS * (distance * pixels + 0.5 * size)
        boxes = _boxes(place + offsets, size)
        outside = size.prod() - _shared(boxes, inside[None])[:, 0]
        costs = _shared(boxes, taken).sum(1) + outside + CROSSED * _crossed(place, offsets, size, taken)
        first = int(costs.argmin())
        if costs[first] < least - 1e-6:
            best, least = offsets[first], float(costs[first])
        if least <= 0.0:
            break
    return best


def _crossed(place: Array, offsets: Float[Array, "A 2"], size: Array, taken: Float[Array, "T 4"]) -> Array:
    """How many boxes the line from a point to each of its possible labels runs through, its own left out."""
    ends = offsets - np.clip(offsets, -0.5 * size, 0.5 * size)
    spots = place + np.linspace(0.0, 1.0, 9)[:, None, None] * ends
    own = _within(place, taken)
    return (_within(spots, taken).any(0) & ~own).sum(-1)


def _within(spots: Float[Array, "*S 2"], boxes: Float[Array, "T 4"]) -> Array:
    x, y = spots[..., 0, None], spots[..., 1, None]
    return (x >= boxes[:, 0]) & (x <= boxes[:, 2]) & (y >= boxes[:, 1]) & (y <= boxes[:, 3])


def _boxes(centres: Array, size: float | Array) -> Float[Array, "T 4"]:
    """Left, bottom, right and top of boxes of one size."""
    centres = np.atleast_2d(centres)
    return np.hstack([centres - 0.5 * np.asarray(size), centres + 0.5 * np.asarray(size)])


def _stairs(corners: Float[Array, "K 2"], half: float) -> Float[Array, "T 4"]:
    """Boxes around a line that goes across first, then up or down."""
    pairs = list(pairwise(corners))
    across = [(first[0], first[1] - half, second[0], first[1] + half) for first, second in pairs]
    along = [(second[0] - half, second[1], second[0] + half, first[1]) for first, second in pairs]
    return np.array(across + along).reshape(-1, 4)


def _shared(first: Float[Array, "A 4"], second: Float[Array, "T 4"]) -> Float[Array, "A T"]:
    """Area that every box of one kind shares with every one of the other."""
    a, b = first[:, None], second[None]
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    return np.clip(sides, 0.0, None).prod(-1)
