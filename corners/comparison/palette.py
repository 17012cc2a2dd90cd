"""One colour, line and marker a method, the same in every figure; safe for colour-blind readers."""

from collections.abc import Sequence
from dataclasses import dataclass

# Okabe and Ito's palette without yellow, which vanishes on white; then again with another line style.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":")
MARKERS = ("o", "s", "^")


@dataclass(frozen=True)
class Style:
    """How one method is drawn, everywhere."""

    colour: str
    dash: str
    marker: str


def styles(methods: Sequence[str]) -> dict[str, Style]:
    """Styles in the order of the methods, distinct for up to 21 of them."""
    count = len(COLOURS)
    return {
        name: Style(COLOURS[i % count], DASHES[i // count % len(DASHES)], MARKERS[i // count % len(MARKERS)])
        for i, name in enumerate(methods)
    }
