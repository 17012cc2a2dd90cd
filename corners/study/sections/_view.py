"""What every section reads: the study, its results and the published figures, with the order and names of the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from corners.comparison.scores._base import Direction, Task
from corners.study.inspection import LATENTS
from corners.study.published import Published
from corners.study.results import Results
from corners.types import Array

if TYPE_CHECKING:
    from corners.study.spec import RowSpec, StudySpec


@dataclass(frozen=True)
class Quantity:
    """A column of the results as a reader knows it; ``nominal`` is the best value where neither lower nor higher is."""

    name: str
    heading: str
    unit: str
    nominal: float | None = None
    higher: bool = False

    @property
    def direction(self) -> Direction:
        """What is better."""
        return "nominal" if self.nominal is not None else "higher" if self.higher else "lower"

    @property
    def aim(self) -> str:
        """What is better, in words."""
        return f"{self.direction} is better" if self.nominal is None else f"nearer to {self.nominal:g} is better"

    @property
    def in_nats(self) -> bool:
        """Whether differences are in nats, so that a tolerance holds for every data set."""
        return self.unit.startswith("nats")


NATS, TARGET, SHARE = "nats per point", "target units", "share of points"
QUANTITIES = {
    each.name: each
    for each in (
        Quantity("nll", "NLL", NATS),
        Quantity("rmse", "RMSE", TARGET),
        Quantity("crps", "CRPS", TARGET),
        Quantity("calibration_error", "calibration error", SHARE),
        Quantity("coverage", "coverage of the 90 % interval", SHARE, 0.9),
        Quantity("accuracy", "accuracy", SHARE, higher=True),
        Quantity("brier", "Brier score", "squared probability"),
        Quantity("ece", "ECE", SHARE),
        Quantity("adaptive_ece", "adaptive ECE", SHARE),
        Quantity("classwise_ece", "classwise ECE", SHARE),
        Quantity("selective_area", "area under the selective-prediction curve", "error rate"),
        Quantity("oracle_nll", "oracle NLL", NATS),
        Quantity("nll_moment_matched", "NLL, moment-matched", NATS),
        Quantity("prior_precision", "prior precision", "1 / weight variance"),
        Quantity("noise_scale", "noise scale", f"standard deviation, {TARGET}"),
        Quantity("fit_seconds", "fit time", "seconds a seed"),
        Quantity("predict_seconds", "prediction time", "seconds for the test part"),
    )
}


def quantity(name: str) -> Quantity:
    """The known quantity, or one that is called as its column is."""
    return QUANTITIES.get(name, Quantity(name, name.replace("_", " "), ""))


@dataclass(frozen=True, eq=False)
class View:
    """One study as its sections see it."""

    study: "StudySpec"
    results: Results
    published: Published

    @cached_property
    def rows(self) -> "tuple[RowSpec, ...]":
        """Rows with published figures first, then the others; within each in the order of the study file."""
        return tuple(sorted(self.study.rows, key=lambda row: row.published is None))

    @cached_property
    def groups(self) -> "tuple[tuple[str, tuple[RowSpec, ...]], ...]":
        """The rows in tables that stay readable: with published figures, and without."""
        parts = (
            ("rows with published figures", tuple(row for row in self.rows if row.published is not None)),
            ("rows without", tuple(row for row in self.rows if row.published is None)),
        )
        filled = [part for part in parts if part[1]]
        return (("", filled[0][1]),) if len(filled) == 1 else tuple(filled)

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """What each row is called: its label, with its name where two rows share one."""
        wanted = {row.name: row.label or row.name for row in self.study.rows}
        shared = [label for label in wanted.values() if list(wanted.values()).count(label) > 1]
        return {
            name: f"{label} ({name})" if label in shared and label != name else label for name, label in wanted.items()
        }

    def datasets(self, row: "RowSpec") -> tuple[str, ...]:
        """Data sets on which the study plans the row."""
        return tuple(dataset for dataset in self.study.datasets if row in self.study.rows_of(dataset))

    def task(self, dataset: str) -> Task | None:
        """What the targets of a data set are, by the scores that are kept of it; None where nothing is."""
        marks: dict[Task, str] = {"classification": "accuracy", "count": "pit_0", "regression": "nll"}
        rows = self.study.rows_of(dataset)
        for task, name in marks.items():
            if any(self.has(row.name, dataset, name) for row in rows):
                return task
        return None

    @cached_property
    def tasks(self) -> frozenset[Task]:
        """Tasks of the data sets that have results."""
        return frozenset(task for dataset in self.study.datasets if (task := self.task(dataset)) is not None)

    def one_versus_all(self) -> tuple[str, ...]:
        """Labels of the rows with several latent functions a point somewhere."""
        return tuple(
            self.labels[row.name]
            for row in self.rows
            if any(self.has(row.name, dataset, LATENTS) for dataset in self.datasets(row))
        )

    def has(self, row: str, dataset: str, name: str) -> bool:
        """Whether any seed of the row has the quantity."""
        return self.results.summary(dataset, row, name).seeds > 0

    def full_seeds(self, dataset: str) -> tuple[int, ...]:
        """The largest set of seeds that a row is planned on; rows with fewer are not ranked with the others."""
        planned = [tuple(self.study.seeds_of(dataset, row.name)) for row in self.study.rows_of(dataset)]
        return max(planned, key=len, default=())

    def ranked(self, dataset: str, name: str) -> dict[str, Array]:
        """Values by seed of every row planned on all seeds of the data set that has the quantity."""
        seeds = self.full_seeds(dataset)
        found = {
            row.name: self.results.values(dataset, row.name, name, seeds)
            for row in self.rows
            if row in self.study.rows_of(dataset) and tuple(self.study.seeds_of(dataset, row.name)) == seeds
        }
        return {row: values for row, values in found.items() if not np.isnan(values).all()}

    @cached_property
    def core(self) -> tuple[str, ...]:
        """Data sets that most rows share: those with at least half as many ranked rows as the fullest one."""
        counts = {dataset: len(self.ranked(dataset, "nll")) for dataset in self.study.datasets}
        most = max(counts.values(), default=0)
        return tuple(dataset for dataset, count in counts.items() if most and 2 * count >= most)

    def means(self, name: str) -> dict[str, Array]:
        """Mean over seeds on every core data set, of the rows ranked on all of them.

        A data set is one block: its seeds share a table, and would be counted as many data sets.
        """
        tables = [self.ranked(dataset, name) for dataset in self.core]
        rows = [row.name for row in self.rows if tables and all(row.name in table for table in tables)]
        return {row: np.array([np.nanmean(table[row]) for table in tables]) for row in rows}
