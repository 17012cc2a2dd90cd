"""A report as a value: sections of answers, tables, figures and reading notes, before it becomes HTML or Markdown."""

import base64
from dataclasses import dataclass

from corners.comparison.grid import Grid


@dataclass(frozen=True)
class Picture:
    """A figure as PNG, with what it shows (caption) and what one sees (alternative text)."""

    name: str
    caption: str
    alternative: str
    png: bytes

    @property
    def data_uri(self) -> str:
        """For an image element, so that the page needs no other file."""
        return f"data:image/png;base64,{base64.b64encode(self.png).decode('ascii')}"


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
