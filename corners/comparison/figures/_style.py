"""What every figure has in common: size, ink, panels, text as it is given, and PNG bytes."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.4  # inches: text of 10 points is then about 10 pixels on a telephone and 16 on a desk
PANEL_HEIGHT = 1.9
DOTS_PER_INCH, WIDE_DOTS_PER_INCH = 180, 130
INK, GREY, FAINT = "#1a1a1a", "#6b6b6b", "#d9d9d9"
SHARE_COLOURS, SHARE_INK = ("#004c7f", "#E69F00", "#c9c9c9"), ("white", INK, INK)
LONGEST_LABEL = 45
CLIP_FACTOR = 6.0


def render(figure: "Figure") -> bytes:
    """The figure as PNG, without a date, so that equal figures are equal bytes.

    One format, at a resolution that stays sharp in print: drawing a second one would double the cost of a report.
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi="figure")
    figure.set_layout_engine("none")  # the layout moves a little each time it is made: drawn again, it must not
    return _with_palette(buffer)


def _with_palette(png: io.BytesIO) -> bytes:
    """The same picture in 128 colours of its own: a third of the bytes, and no difference to be seen."""
    from PIL import Image

    buffer = io.BytesIO()
    image = Image.open(png).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    image.save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def make_panels(
    count: int, columns: int, *, height: float = PANEL_HEIGHT, width: float = WIDTH, **share: Any
) -> "tuple[Figure, list[Axes]]":
    """A figure of ``count`` panels in reading order; what is left of the last row is taken away.

    A wider figure has fewer dots an inch, which keeps its bytes few: it is not meant for a telephone.
    """
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    dots = DOTS_PER_INCH if width <= WIDTH else WIDE_DOTS_PER_INCH
    figure = Figure(figsize=(width, rows * height + 0.5), layout="constrained", facecolor="white", dpi=dots)
    axes = list(figure.subplots(rows, columns, squeeze=False, **share).flat)
    for spare in axes[count:]:
        spare.remove()
    for axis in axes[:count]:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=9, colors=INK)
    for axis in axes[max(count - columns, 0) : count]:
        axis.tick_params(labelbottom=True)  # the last panel of a column may not stand in the last row
    return figure, axes[:count]


def set_title(axis: "Axes", text: str) -> None:
    """A bold title over the left edge of a panel."""
    axis.set_title(plain(text), fontsize=10, color=INK, loc="left", fontweight="bold")


def plain(text: str) -> str:
    """Names from data are shown as they are: a dollar sign must not start mathematics."""
    return text.replace("$", r"\$")


def short(text: str) -> str:
    """The text, or its beginning."""
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def clip_limit(ends: Sequence[float]) -> float:
    """Above this a row is clipped: several times the median of what is above zero, if that hides few rows."""
    above = np.sort([end for end in ends if np.isfinite(end) and end > 0.0])
    if above.size < 3 or above[-1] <= CLIP_FACTOR * np.median(above):
        return np.inf
    return float(CLIP_FACTOR * np.median(above))
