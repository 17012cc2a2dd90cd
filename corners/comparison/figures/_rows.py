"""Small multiples of a study: panels with the same rows in the same order, and one legend above them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from corners.comparison.figures._style import make_panels, plain
from corners.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STUDY_WIDTH = 9.0
ROW_HEIGHT = 0.165


def all_names(panels: Iterable[Iterable[str]]) -> list[str]:
    """Rows of all panels, in the order in which they first appear."""
    names = list(dict.fromkeys(name for panel in panels for name in panel))
    if not names:
        raise DataError("there is nothing to draw: no panel has a row")
    return names


def row_panels(count: int, names: Sequence[str], **share: Any) -> "tuple[Figure, list[Axes]]":
    """Panels that share their rows, named at the left edge alone; every other row is shaded to lead the eye."""
    height = ROW_HEIGHT * len(names) + 0.55
    figure, axes = make_panels(count, min(4, count), height=height, width=STUDY_WIDTH, sharey=True, **share)
    for axis in axes:
        for place in range(0, len(names), 2):
            axis.axhspan(place - 0.5, place + 0.5, color="#f3f3f3", linewidth=0, zorder=-1)
        axis.tick_params(labelsize=8)
        axis.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(names)), [plain(name) for name in names])
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    return figure, axes


def legend(figure: "Figure", entries: Sequence[tuple[str, str, str]]) -> None:
    """Names above the panels, in as many columns as there is room for; a look is a marker or a dash."""
    from matplotlib.lines import Line2D

    dashes = ("-", "--", ":")
    handles = [
        Line2D([], [], color=colour, label=plain(name), linestyle=look, linewidth=1.8)
        if look in dashes
        else Line2D([], [], color=colour, label=plain(name), linestyle="none", marker=look)
        for name, colour, look in entries
    ]
    longest = max((len(name) for name, _, _ in entries), default=0)
    columns = max(min(len(entries), int(STUDY_WIDTH / (0.066 * longest + 0.65))), 1)
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, fontsize=8.5, frameon=False)
