"""The collected results of a study as a value: one line a seed, means with standard errors, paired differences."""

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from corners.comparison.scores._base import standard_error
from corners.errors import DataError
from corners.types import Array, Float

if TYPE_CHECKING:
    from pandas import DataFrame

FORMAT = 1
SCORES, FAILURES, PROVENANCE = "scores.csv.gz", "failures.csv", "provenance.json"
KEYS = ("dataset", "row", "seed")
FACTS = ("code", "status", "n_test", "fingerprint")
RENDERED_WITH, OUTDATED = "rendered_with", "outdated"
"""Keys of the provenance: versions of the libraries that drew the committed figures, and lines of an earlier study."""


@dataclass(frozen=True)
class Summary:
    """Mean over the seeds that have the quantity, its standard error ``s/√S``, and how many seeds those are."""

    mean: float
    se: float
    seeds: int


@dataclass(frozen=True)
class SeedDifference:
    """``d̄``, first minus second over the ``pairs`` seeds both have, ``se = s_d/√S``, ``t = d̄/se`` and two-sided p.

    With fewer than two pairs ``se``, ``t`` and ``p`` are NaN; where all differences are equal p is 1 or 0.
    """

    mean: float
    se: float
    t: float
    p: float
    pairs: int


@dataclass(frozen=True)
class Failure:
    """A row that could not run on a data set, and why."""

    dataset: str
    row: str
    reason: str


@dataclass(frozen=True, eq=False)
class Results:
    """Every line of ``scores.csv.gz`` with the failures and the provenance beside it.

    ``frame`` has the columns ``dataset, row, seed, code, status, n_test, fingerprint`` and one a quantity, NaN where
    it is undefined.

    Example
    -------
    >>> import pandas as pd
    >>> lines = [("yacht", "map", 5, 1.0), ("yacht", "map", 6, 3.0)]
    >>> results = Results(pd.DataFrame(lines, columns=["dataset", "row", "seed", "nll"]))
    >>> results.summary("yacht", "map", "nll")
    Summary(mean=2.0, se=1.0, seeds=2)
    """

    frame: "DataFrame"
    failures: tuple[Failure, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities, sorted."""
        return tuple(sorted(set(self.frame.columns) - {*KEYS, *FACTS}))

    @cached_property
    def _known(self) -> dict[tuple[str, str, str], Summary]:
        return {}

    @cached_property
    def _groups(self) -> dict[tuple[str, str], "DataFrame"]:
        return {
            (str(dataset), str(row)): lines.set_index("seed").sort_index()
            for (dataset, row), lines in self.frame.groupby(["dataset", "row"], sort=False)  # pyright: ignore
        }

    def lines(self, dataset: str, row: str) -> "DataFrame | None":
        """The lines of one row on one data set by seed; None where there are none."""
        return self._groups.get((dataset, row))

    def seeds(self, dataset: str, row: str) -> tuple[int, ...]:
        """Seeds that were run, usable or not."""
        lines = self.lines(dataset, row)
        return () if lines is None else tuple(int(seed) for seed in lines.index)

    def values(self, dataset: str, row: str, quantity: str, seeds: Sequence[int] | None = None) -> Float[Array, " S"]:
        """One value a seed, in the order of ``seeds`` (default: all that were run), NaN where it is undefined."""
        lines = self.lines(dataset, row)
        if lines is None or quantity not in lines:
            return np.full(len(seeds or ()), np.nan)
        column = lines[quantity] if seeds is None else lines[quantity].reindex(list(seeds))
        return column.to_numpy(np.float64)

    def summary(self, dataset: str, row: str, quantity: str) -> Summary:
        """Mean and standard error over the seeds that have the quantity; tables ask for the same ones many times."""
        place = (dataset, row, quantity)
        if place not in self._known:
            self._known[place] = self._summary(*place)
        return self._known[place]

    def _summary(self, dataset: str, row: str, quantity: str) -> Summary:
        values = self.values(dataset, row, quantity)
        known = values[~np.isnan(values)]
        if known.size == 0:
            return Summary(float("nan"), float("nan"), 0)
        return Summary(float(known.mean()), standard_error(known), known.size)

    def median(self, dataset: str, row: str, quantity: str) -> float:
        """Median over the seeds that have the quantity; NaN without any."""
        values = self.values(dataset, row, quantity)
        known = values[~np.isnan(values)]
        return float(np.median(known)) if known.size else float("nan")

    def difference(self, dataset: str, first: str, second: str, quantity: str = "nll") -> SeedDifference:
        """First row minus second, paired by seed."""
        seeds = sorted(set(self.seeds(dataset, first)) & set(self.seeds(dataset, second)))
        gaps = self.values(dataset, first, quantity, seeds) - self.values(dataset, second, quantity, seeds)
        return seed_difference(gaps)


def seed_difference(differences: Float[Array, " S"]) -> SeedDifference:
    """Mean, standard error and two-sided t-test of differences, one a seed; NaN seeds are left out.

    Example
    -------
    >>> import numpy as np
    >>> found = seed_difference(np.array([1.0, 3.0, np.nan]))
    >>> found.mean, found.se, found.t, found.pairs
    (2.0, 1.0, 2.0, 2)
    """
    known = differences[np.isfinite(differences)]
    nan = float("nan")
    if known.size < 2:
        return SeedDifference(float(known.mean()) if known.size else nan, nan, nan, nan, known.size)
    mean, se = float(known.mean()), standard_error(known)
    if np.ptp(known) == 0.0:
        return SeedDifference(mean, 0.0, nan, 1.0 if mean == 0.0 else 0.0, known.size)
    p = 2.0 * float(special.stdtr(known.size - 1, -abs(mean) / se))
    return SeedDifference(mean, se, mean / se, p, known.size)


def read_results(folder: Path) -> Results:
    """What is committed in a study's folder.

    Raises
    ------
    DataError : there is nothing yet, or it was written by a newer version.
    """
    import pandas as pd

    path = folder / SCORES
    if not path.is_file():
        raise DataError(f"{folder} has no results ({SCORES} is not there); run the study first: corners run {folder}")
    provenance = read_json(folder / PROVENANCE)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        header, *lines = csv.reader(stream)
    columns = zip(*lines, strict=True) if lines else ([] for _ in header)
    frame = pd.DataFrame({name: _column(name, list(texts)) for name, texts in zip(header, columns, strict=True)})
    return Results(frame, read_failures(folder / FAILURES), provenance)


def _column(name: str, texts: list[str]) -> "Sequence[str] | Array":
    """Names and words as they are, whole numbers, and quantities: an empty field is undefined."""
    if name in ("seed", "n_test"):
        return np.array([int(text) for text in texts], dtype=np.int64)
    if name in (*KEYS, *FACTS):
        return texts
    return np.array([float(text) if text else np.nan for text in texts], dtype=np.float64)


def read_failures(path: Path) -> tuple[Failure, ...]:
    """The rows that could not run; none where the file is absent."""
    if not path.is_file():
        return ()
    with path.open(encoding="utf-8", newline="") as stream:
        return tuple(Failure(line["dataset"], line["row"], line["reason"]) for line in csv.DictReader(stream))


def read_json(path: Path) -> dict[str, Any]:
    """A file of this study as a mapping; the empty one where it is absent.

    Raises
    ------
    DataError : the file is no JSON, or its format is newer than this version knows.
    """
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is no JSON ({error}); delete it and run its cell again") from error
    found = content.get("format") if isinstance(content, dict) else None
    if not isinstance(found, int):
        raise DataError(f"{path} has no format number; delete it and run its cell again")
    if found > FORMAT:
        raise DataError(f"{path} has format {found} and this version reads up to {FORMAT}; upgrade bethe-corners")
    return content
