"""Numbers and lists in sentences, and figures as pictures of the document."""

import math
from collections.abc import Sequence
from typing import Any

from corners.comparison import figures
from corners.comparison.document import Picture
from corners.comparison.grid import decimals_for, mean_and_error, number

NAMED = 5
NO_BREAK = "\u00a0"


def with_error(mean: float, error: float) -> str:
    """``mean ± error`` with the digits that the error allows."""
    return mean_and_error(mean, error, decimals_for([error], [mean])).text.replace(" ", NO_BREAK)


def signed(value: float, digits: int = 2) -> str:
    """A difference with its sign."""
    return f"{'+' if value > 0.0 else ''}{number(value, digits).text}"


def p_value(p: float) -> str:
    """``p = 0.03`` or ``p < 0.001``."""
    text = "p < 0.001" if p < 0.001 else f"p = {number(p, 2).text}"
    return text.replace(" ", NO_BREAK)


def listed(items: Sequence[str], named: int = NAMED) -> str:
    """``a``, ``a and b``, ``a, b and c``; beyond ``named`` the rest is counted."""
    if len(items) > named + 1:
        items = [*items[:named], f"{len(items) - named} more"]
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def several(count: int, noun: str) -> str:
    """``1 method``, ``3 methods``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def per_cent(share: float) -> str:
    """A share in per cent; NaN as a dash."""
    return "–" if math.isnan(share) else f"{share:.0%}"


def counted(words: str, count: int, total: int) -> str:
    """``words`` where all did, ``words (3 of 5)`` where some did."""
    return words if count == total else f"{words} ({count} of {total})"


def counted_in(count: int, total: int) -> str:
    """``all 5 seeds``, ``3 of 5 seeds``, ``the one seed``."""
    if total == 1:
        return "the one seed"
    if count == total:
        return "both seeds" if total == 2 else f"all {total} seeds"
    return f"{count} of {total} seeds"


def ranged(values: Sequence[float]) -> str:
    """One number, or the lowest to the highest."""
    low, high = number(min(values), 2).text, number(max(values), 2).text
    return low if low == high else f"{low} to {high}"


def picture(name: str, caption: str, alternative: str, figure: Any) -> Picture:
    """Render a figure."""
    return Picture(name, caption, alternative, figures.render(figure))
