"""What a study is: data sets, rows (methods with their options), seeds and the protocol they share."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from corners.errors import UnknownNameError
from corners.protocols import Protocol, with_options
from corners.registry import unknown_name_message
from corners.study.cells import Cell
from corners.study.heads import Head

FILE_NAME = "study.toml"
BACKBONES = ("mlp", "identity")
"""From inputs to features: hidden layers of the row, or the inputs themselves (a linear model, frozen embeddings)."""


TOLERANCE = 0.1
"""Nats: a mean this close to the published one counts as reproduced, where the study says nothing else."""


@dataclass(frozen=True)
class RowSpec:
    """One row of the study's table: a method, what is special about it here, and where it was published.

    ``seeds`` maps data sets to numbers of seeds; the entry ``""`` is for every data set without one of its own.
    ``hidden`` empty is a linear model; None takes the study's. ``head`` is the likelihood of its cells; None takes the
    data set's, else the study's, else that of the table's task.
    """

    name: str
    method: str
    label: str
    options: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    hidden: tuple[int, ...] | None = None
    datasets: tuple[str, ...] | None = None
    seeds: Mapping[str, int] | None = None
    published: str | None = None
    published_tables: Mapping[str, str] | None = None
    head: Head | None = None
    shared_precision: bool = False


@dataclass(frozen=True)
class DatasetSpec:
    """What is special about one data set: choices of the protocol, rows, seeds, head, its name in published tables."""

    name: str
    protocol: Mapping[str, Any] = field(default_factory=dict)
    backbone: str = "mlp"
    seeds: int | None = None
    chunk: int | None = None
    rows: tuple[str, ...] | None = None
    published_name: str | None = None
    head: Head | None = None


@dataclass(frozen=True)
class ContrastSpec:
    """Differences between rows, paired by seed: first minus second of each pair."""

    title: str
    quantity: str
    pairs: tuple[tuple[str, str], ...]
    published: str | None = None


@dataclass(frozen=True)
class StudySpec:
    """A study as its file says it, checked; ``read_study`` makes it.

    ``seeds`` are those of every cell that says nothing else, ``chunk`` how many of them one cell holds. ``notes`` are
    what its author says of the choices made, a paragraph each. ``published`` maps our quantities to the tables they
    were published in, and a mean within ``tolerance`` nats of a published one counts as reproduced. ``folder`` is where
    the study file lies.
    """

    name: str
    title: str
    question: str
    protocol: Protocol
    datasets: tuple[str, ...]
    seeds: tuple[int, ...]
    chunk: int
    hidden: tuple[int, ...]
    rows: tuple[RowSpec, ...]
    dataset_specs: Mapping[str, DatasetSpec]
    published: Mapping[str, str]
    contrasts: tuple[ContrastSpec, ...]
    folder: Path
    notes: tuple[str, ...] = ()
    head: Head | None = None
    tolerance: float = TOLERANCE

    @property
    def runs(self) -> Path:
        """Folder of the cell files: ``.runs/<name>`` beside a folder that bears the study's name, else inside it."""
        inside = self.folder.name != self.name
        return self.folder / ".runs" if inside else self.folder.parent / ".runs" / self.name

    def row(self, name: str) -> RowSpec:
        """The row called ``name``.

        Raises
        ------
        UnknownNameError : there is none; the message lists the rows.
        """
        found = {row.name: row for row in self.rows}
        if name not in found:
            raise UnknownNameError(unknown_name_message("row", name, list(found)))
        return found[name]

    def dataset(self, name: str) -> DatasetSpec:
        """What is special about a data set; nothing, where the file says nothing."""
        return self.dataset_specs.get(name, DatasetSpec(name))

    def rows_of(self, dataset: str) -> tuple[RowSpec, ...]:
        """Rows that are run on a data set, in the order of the file."""
        chosen = self.dataset(dataset).rows
        return tuple(
            row
            for row in self.rows
            if (chosen is None or row.name in chosen) and (row.datasets is None or dataset in row.datasets)
        )

    def seeds_of(self, dataset: str, row: str | RowSpec) -> tuple[int, ...]:
        """Seeds of a row (or of the row of that name) on a data set.

        The row's own number for this data set, else the smaller one of the row's and the data set's, else the study's.
        """
        own = (self.row(row) if isinstance(row, str) else row).seeds or {}
        limit = self.dataset(dataset).seeds
        if dataset in own:
            count = own[dataset]
        else:
            count = min((each for each in (own.get(""), limit) if each is not None), default=len(self.seeds))
        return tuple(range(self.seeds[0], self.seeds[0] + count))

    def protocol_of(self, dataset: str, row: str) -> Protocol:
        """The study's protocol with the choices of the data set, then those of the row."""
        return with_options(self.protocol, **(dict(self.dataset(dataset).protocol) | dict(self.row(row).protocol)))

    def hidden_of(self, dataset: str, row: str) -> tuple[int, ...]:
        """Units of the hidden layers; empty where the features are the inputs."""
        if self.dataset(dataset).backbone == "identity":
            return ()
        own = self.row(row).hidden
        return self.hidden if own is None else own

    def head_of(self, dataset: str, row: str) -> Head:
        """The head of the row, else of the data set, else of the study, with the row's word on the precision."""
        own = self.row(row)
        named = next((head for head in (own.head, self.dataset(dataset).head, self.head) if head is not None), Head())
        return replace(named, shared_precision=True) if own.shared_precision else named

    def cells(self) -> tuple[Cell, ...]:
        """Every cell, in the order of the file."""
        found = []
        for dataset in self.datasets:
            chunk = self.dataset(dataset).chunk or self.chunk
            for row in self.rows_of(dataset):
                seeds = self.seeds_of(dataset, row.name)
                found += [Cell(self, dataset, row.name, seeds[k : k + chunk]) for k in range(0, len(seeds), chunk)]
        return tuple(found)


def read_study(path: str | Path) -> StudySpec:
    """The study of a file, or of the ``study.toml`` in a folder.

    Raises
    ------
    SpecError, UnknownNameError : a mistake in the file, wherever it is; the message names the key and what is allowed.
    DataError : there is no such file.

    Example
    -------
    >>> text = '''name = "tiny"
    ... title = "A tiny study"
    ... question = "Does it run?"
    ... datasets = ["linear"]
    ... seeds = 2
    ... [[rows]]
    ... name = "scroll_none"
    ... '''
    >>> _ = Path("tiny.toml").write_text(text, encoding="utf-8")
    >>> [cell.name for cell in read_study("tiny.toml").cells()]
    ['linear--scroll_none--5-6']
    """
    from corners.study.reading import parsed_study

    return parsed_study(Path(path))
