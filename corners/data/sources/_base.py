"""The contract of a data source: say without cost what you have, and load it when asked."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from corners.data.dataset import Dataset
from corners.registry import Registry

SOURCES = Registry("data source", "corners.data.sources")


@dataclass(frozen=True)
class Entry:
    """What a source offers under one name: ``n`` rows, ``d`` columns before any is encoded, and what loading needs."""

    name: str
    source: str
    task: str
    n: int
    d: int
    note: str = ""


class Source(ABC):
    """Tables by name. ``order`` is its place in the search: a smaller number is asked earlier."""

    order: ClassVar[int]

    @classmethod
    @abstractmethod
    def default(cls) -> "Source | None":
        """The source as the user's environment sets it up, None where it does not."""

    @classmethod
    @abstractmethod
    def example(cls) -> "Source":
        """A source that can be built anywhere."""

    @abstractmethod
    def entries(self) -> tuple[Entry, ...]:
        """What it offers; no heavy import, no network."""

    @abstractmethod
    def load(self, name: str) -> Dataset:
        """The table called ``name`` (a source adds keyword options); UnknownNameError lists the names it has."""
