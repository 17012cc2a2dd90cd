"""A table as a value: cells with their numbers, written as aligned text or Markdown (and as HTML by the report)."""

import math
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MARK_SYMBOLS = {"best": "*", "tied": "="}
MAX_DECIMALS = 6
TEXT_WIDTH = 100
NARROWEST_WORDS, NARROWEST_HEADING = 24, 9
WIDE_NUMBER = 1e5
ROUNDING = 1e-12  # a standard error this small beside its mean is rounding of equal values
NOT_A_NUMBER = "–"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Cell:
    """What is shown, with the number behind it where there is one, its standard error and its mark."""

    text: str
    value: float | None = None
    error: float | None = None
    mark: str = ""


@dataclass(frozen=True)
class Grid:
    """A captioned table; the first column names the row. ``units`` stand under the headings where there are any."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    units: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Whether each column holds numbers, so that it is set flush right."""
        return tuple(j > 0 and any(row[j].value is not None for row in self.rows) for j in range(len(self.headings)))

    @property
    def marked(self) -> tuple[bool, ...]:
        """Whether each column holds a mark, so that room is kept for it in every row."""
        return tuple(any(row[j].mark in MARK_SYMBOLS for row in self.rows) for j in range(len(self.headings)))

    def to_text(self, width: int = TEXT_WIDTH) -> str:
        """Columns aligned with spaces; a last column of words is wrapped inside ``width``."""
        lines = self._lines(width, " ± ")
        if max(map(display_width, lines)) > width:
            lines = self._lines(width, "±")
        notes = [line for note in self.notes for line in textwrap.wrap(note, width)]
        return "\n".join([*textwrap.wrap(self.caption, width), "", *lines, *([""] if notes else []), *notes])

    def _lines(self, width: int, plus_minus: str) -> list[str]:
        body = [[_with_mark(cell, marked) for cell, marked in zip(row, self.marked, strict=True)] for row in self.rows]
        body = [[text.replace(" ± ", plus_minus) for text in row] for row in body]
        return _aligned(_heading_lines(self.headings, body), self.numeric, width, body)

    def to_markdown(self) -> str:
        """A pipe table; marks are words and every text is escaped."""
        units = self.units or ("",) * len(self.headings)
        head = [
            f"{markdown(h)} ({markdown(u)})" if u else markdown(h) for h, u in zip(self.headings, units, strict=True)
        ]
        lines = [_pipes(head), _pipes(["---"] * len(head)), *(_pipes(map(_markdown_cell, row)) for row in self.rows)]
        notes = "\n\n".join(markdown(note) for note in self.notes)
        return f"*{markdown(self.caption)}*\n\n" + "\n".join(lines) + (f"\n\n{notes}" if notes else "")


def words(text: object) -> Cell:
    """A cell without a number."""
    return Cell(str(text))


def number(value: float | None, digits: int = 3) -> Cell:
    """A cell with one number to ``digits`` significant digits."""
    if value is None or not math.isfinite(value):
        return Cell(NOT_A_NUMBER if value is None or math.isnan(value) else ("∞" if value > 0 else "−∞"), value)
    return Cell(_significant(value, digits), value)


def whole(value: float | int | None) -> Cell:
    """A cell with a number of things, or of steps."""
    return number(None) if value is None else Cell(f"{value:.0f}", float(value))


def mean_and_error(mean: float | None, error: float | None, decimals: int, mark: str = "") -> Cell:
    """``mean ± standard error`` with the same decimals for both."""
    if mean is None or not math.isfinite(mean):
        return Cell("∞" if mean is not None and mean > 0 else NOT_A_NUMBER, mean, error)
    shown = _fixed(mean, decimals)
    if error is not None and math.isfinite(error):
        vanishes = error > ROUNDING * abs(mean) and round(error, decimals) == 0.0
        shown = f"{shown} ± {_significant(error, 1) if vanishes else _fixed(error, decimals)}"
    return Cell(shown, mean, error, mark)


def decimals_for(errors: Iterable[float | None], means: Iterable[float | None] = (), most: int = MAX_DECIMALS) -> int:
    """Decimals that give the middle standard error of a column two digits; without any, three digits of the means."""
    known = sorted(e for e in errors if e is not None and math.isfinite(e) and e > 0.0)
    if known:
        return min(_decimals(known[len(known) // 2], 2), most)
    sizes = sorted(abs(m) for m in means if m is not None and math.isfinite(m) and m != 0.0)
    return min(_decimals(sizes[len(sizes) // 2], 3), most) if sizes else 2


def _decimals(size: float, digits: int) -> int:
    return max(digits - 1 - math.floor(math.log10(size)), 0)


def _fixed(value: float, decimals: int) -> str:
    return _scientific(value, 3) if abs(value) >= WIDE_NUMBER else _minus(f"{value:.{decimals}f}")


def _significant(value: float, digits: int) -> str:
    if value == 0.0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if not -4 <= exponent < 6:
        return _scientific(value, digits)
    return _minus(f"{value:,.{max(digits - 1 - exponent, 0)}f}")


def _scientific(value: float, digits: int) -> str:
    """``1.2×10⁻⁷``."""
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    return f"{_minus(mantissa)}×10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _with_mark(cell: Cell, column_is_marked: bool) -> str:
    return f"{cell.text} {MARK_SYMBOLS.get(cell.mark, ' ')}" if column_is_marked else cell.text


def _heading_lines(headings: Sequence[str], body: Sequence[Sequence[str]]) -> list[list[str]]:
    """Headings broken into lines no wider than their column needs to be anyway, set at the bottom."""
    wrapped = []
    for j, heading in enumerate(headings):
        needed = max(
            [display_width(row[j]) for row in body] + [len(word) for word in heading.split()] + [NARROWEST_HEADING]
        )
        wrapped.append(textwrap.wrap(heading, needed) or [""])
    height = max(map(len, wrapped))
    return [[("", *lines)[max(k - height + len(lines) + 1, 0)] for lines in wrapped] for k in range(height)]


def _aligned(head: list[list[str]], numeric: Sequence[bool], width: int, body: list[list[str]]) -> list[str]:
    last = len(numeric) - 1
    sizes = [max(display_width(row[j]) for row in (*head, *body)) for j in range(len(numeric))]
    if not numeric[last]:
        sizes[last] = max(min(sizes[last], width - sum(sizes[:last]) - 2 * last), NARROWEST_WORDS)
    lines = [_joined(row, sizes, numeric) for row in head]
    for row in body:
        tail = [row[last]] if numeric[last] else textwrap.wrap(row[last], sizes[last]) or [""]
        blank = [""] * last
        lines += [_joined([*(blank if k else row[:last]), piece], sizes, numeric) for k, piece in enumerate(tail)]
    rule = "-" * max(map(display_width, lines))
    return [*lines[: len(head)], rule, *lines[len(head) :]]


def _joined(texts: Sequence[str], sizes: Sequence[int], numeric: Sequence[bool]) -> str:
    return "  ".join(_pad(t, s, n) for t, s, n in zip(texts, sizes, numeric, strict=True)).rstrip()


def _pad(text: str, size: int, right: bool) -> str:
    gap = " " * (size - display_width(text))
    return gap + text if right else text + gap


def display_width(text: str) -> int:
    """Columns of a terminal that ``text`` takes: combining marks none, wide characters two."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown_cell(cell: Cell) -> str:
    text = markdown(cell.text)
    return f"**{text}** (best)" if cell.mark == "best" else f"{text} (tied)" if cell.mark == "tied" else text


def markdown(text: str) -> str:
    """Escape what Markdown or the HTML inside it would act on, and keep a text on one line."""
    text = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_]))", r"\\\1", text)
