"""Figures of the literature: tables with one method a line and one data set a column, read and never typed."""

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from corners.data.aliases import canonical_name
from corners.errors import DataError, SpecError
from corners.registry import unknown_name_message

if TYPE_CHECKING:
    from corners.study.spec import RowSpec, StudySpec

FOLDER = "published"
MARGIN = 0.05
"""Published means closer than this (nats) are not called an order: the tables give no standard error."""


@dataclass(frozen=True)
class PublishedTable:
    """One table of the literature: ``figures[method][data set]``; what the table leaves out is absent."""

    name: str
    figures: Mapping[str, Mapping[str, float]]

    def figure(self, method: str, dataset: str) -> float | None:
        """The published figure; a data set is found under any name that ``corners.load`` knows it by.

        Example
        -------
        >>> PublishedTable("nll", {"MAP": {"wine": 0.973}}).figure("MAP", "wine_red")
        0.973
        """
        line = self.figures.get(method, {})
        if dataset in line:
            return line[dataset]
        return next((value for name, value in line.items() if canonical_name(name) == canonical_name(dataset)), None)


@dataclass(frozen=True)
class OrderedPair:
    """Two rows whose published figures differ by more than the margin: ``published`` is worse minus better."""

    better: str
    worse: str
    published: float


def ordered_pairs(figures: Mapping[str, float], margin: float = MARGIN) -> tuple[OrderedPair, ...]:
    """Every pair that the published figures order by more than ``margin``; lower is better.

    Example
    -------
    >>> ordered_pairs({"a": 1.0, "b": 1.5, "c": 1.25}, margin=0.3)
    (OrderedPair(better='a', worse='b', published=0.5),)
    """
    names = sorted(figures, key=lambda name: figures[name])
    return tuple(
        OrderedPair(better, worse, figures[worse] - figures[better])
        for place, better in enumerate(names)
        for worse in names[place + 1 :]
        if figures[worse] - figures[better] > margin
    )


@dataclass(frozen=True)
class Published:
    """The tables beside a study, by file stem, and which of them speaks of which of its rows."""

    study: "StudySpec"
    tables: Mapping[str, PublishedTable] = field(default_factory=dict)

    def table_name(self, row: "RowSpec", quantity: str) -> str | None:
        """Stem of the table with this row's published figures of a quantity, the row's own before the study's."""
        own = row.published_tables
        return (self.study.published if own is None else own).get(quantity) if row.published else None

    def figure(self, row: "RowSpec", dataset: str, quantity: str) -> float | None:
        """The published figure of a row on a data set; None where the literature has none."""
        name = self.table_name(row, quantity)
        if name is None or row.published is None:
            return None
        return self.table(name).figure(row.published, self._column(dataset))

    def contrast(self, table: str | None, row: "RowSpec", dataset: str) -> float | None:
        """The published difference in a table of differences, whose label is that of the second row of a pair."""
        if table is None or row.published is None:
            return None
        return self.table(table).figure(row.published, self._column(dataset))

    def table(self, name: str) -> PublishedTable:
        """One table by its file stem.

        Raises
        ------
        SpecError : there is no such file beside the study.
        """
        if name not in self.tables:
            raise SpecError(unknown_name_message("published table", name, sorted(self.tables)))
        return self.tables[name]

    def quantities(self) -> tuple[str, ...]:
        """Quantities with published figures, the study's first, in the order of the study file."""
        named = [*self.study.published, *(q for row in self.study.rows for q in row.published_tables or {})]
        return tuple(dict.fromkeys(named))

    def _column(self, dataset: str) -> str:
        """The data set's column in the tables, where the study names another."""
        return self.study.dataset(dataset).published_name or dataset


def read_published(study: "StudySpec") -> Published:
    """Every CSV of ``published/`` beside the study's folder, or inside it where the study brings its own.

    Raises
    ------
    SpecError : the study names a table that is not there, or a label that none of a row's tables has.
    """
    places = (study.folder.parent / FOLDER, study.folder / FOLDER)
    tables = {path.stem: read_table(path) for place in places for path in sorted(place.glob("*.csv"))}
    published = Published(study, tables)
    for row in study.rows:
        _check_label(published, row)
    for contrast in study.contrasts:
        if contrast.published:
            published.table(contrast.published)
    return published


def _check_label(published: Published, row: "RowSpec") -> None:
    names = {published.table_name(row, quantity) for quantity in published.quantities()} - {None}
    labels = {label for name in names for label in published.table(str(name)).figures}
    if row.published and names and row.published not in labels:
        message = unknown_name_message("method of the published tables", row.published, sorted(labels))
        raise SpecError(f"row {row.name!r}: {message}")


def read_table(path: Path) -> PublishedTable:
    """One CSV: first column ``method``, the others data sets; an empty field is no figure.

    Raises
    ------
    DataError : the file is no such table, a method stands twice, or a field is no finite number.
    """
    with path.open(encoding="utf-8", newline="") as stream:
        header, *lines = list(csv.reader(stream)) or [[]]
    if not header or header[0] != "method":
        raise DataError(f"{path}: the first column must be called 'method'; got {header[:1]}")
    figures: dict[str, dict[str, float]] = {}
    for line in lines:
        if len(line) != len(header) or line[0] in figures:
            raise DataError(f"{path}: a line a method with {len(header)} fields is needed; got {line}")
        fields = zip(header[1:], line[1:], strict=True)
        figures[line[0]] = {name: _figure(path, text) for name, text in fields if text.strip()}
    return PublishedTable(path.stem, figures)


def _figure(path: Path, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{path}: a figure must be a finite number; got {text!r}")
    return value
