"""A report as a value: sections of answers, tables, figures and reading notes, before it becomes HTML or Markdown."""

import base64
from dataclasses import dataclass

from corners.comparison.grid import Grid

INLINE_SVG_LIMIT = 120_000  # bytes; a larger drawing goes into the page as PNG


@dataclass(frozen=True)
class Picture:
    """A figure in both formats, with what it shows (caption) and what one sees (alternative text)."""

    name: str
    caption: str
    alternative: str
    svg: bytes
    png: bytes

    @property
    def data_uri(self) -> str:
        """For an image element: sharp SVG, unless the drawing is so large that PNG is better."""
        small = len(self.svg) <= INLINE_SVG_LIMIT
        kind, content = ("svg+xml", self.svg) if small else ("png", self.png)
        return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


@dataclass(frozen=True)
class Section:
    """One question: the answer in a sentence or two, then tables, figures and how to read them."""

    anchor: str
    title: str
    answers: tuple[str, ...]
    grids: tuple[Grid, ...] = ()
    pictures: tuple[Picture, ...] = ()
    reading: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """The whole report, in reading order."""

    title: str
    subtitle: str
    introduction: tuple[str, ...]
    cells: tuple[tuple[str, str, str], ...]
    methods: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    glossary: tuple[tuple[str, str], ...]
