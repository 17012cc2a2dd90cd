"""The score table of a comparison: means with their errors, best and tied, and how every method's run ended."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corners.comparison.grid import MAX_DECIMALS, Cell, Grid, decimals_for, mean_and_error, number, whole, words
from corners.comparison.outcomes import Outcome
from corners.comparison.paired import Ranking, rank
from corners.comparison.records import json_number
from corners.comparison.scores import Score
from corners.comparison.scores._base import Task

TABLE_SCORES: Mapping[Task, tuple[str, ...]] = {
    "regression": ("nll", "rmse", "crps", "calibration_error", "coverage"),
    "classification": ("nll", "accuracy", "brier", "ece", "adaptive_ece", "classwise_ece"),
    "count": ("nll", "rmse", "crps", "calibration_error", "coverage"),
}
"""Scores of the table by task; NLL orders it."""
HEADINGS: Mapping[str, str] = {
    "nll": "NLL",
    "rmse": "RMSE",
    "crps": "CRPS",
    "calibration_error": "calibration error",
    "coverage": "coverage",
    "brier": "Brier",
    "ece": "ECE",
    "adaptive_ece": "adaptive ECE",
    "classwise_ece": "classwise ECE",
}
FRACTION_DECIMALS = 3
UNIT_HEADINGS: Mapping[str, str] = {"nats per observation": "nats/point", "target units": "target units"}

RULE = (
    "Marks: best = lowest mean over seeds (for coverage: nearest to its level; where seeds failed: over the seeds that "
    "every method has); tied = not worse than the best by a one-sided paired t-test over seeds (p ≥ 0.05); no mark = "
    "worse. The best is chosen on the same data and nothing is "
    "corrected for the number of methods, so the test is anti-conservative: it calls a method worse too readily."
)
RULE_ONE_SEED = (
    "Marks: best = lowest value. With one seed there is no test over seeds, so no method is called tied or worse; the "
    "standard errors say how much the test points vary, not how another seed would come out."
)


NOTHING = "No method has a seed that can predict, so there is nothing to score; the runs below say why."


@dataclass(frozen=True)
class ScoreColumn:
    """One score of every method: the scores seed by seed (None where a replicate cannot predict) and the ranking."""

    name: str
    unit: str
    direction: str
    nominal: float | None
    scores: Mapping[str, tuple[Score | None, ...]]
    ranking: Ranking

    @property
    def single(self) -> bool:
        """Whether there is one seed, so that the standard error is over test points."""
        return all(len(row) == 1 for row in self.scores.values())

    @property
    def heading(self) -> str:
        """Short heading; a score that is not well known keeps its name."""
        level = f"{self.nominal:.0%} " if self.name == "coverage" and self.nominal is not None else ""
        return level + HEADINGS.get(self.name, self.name.replace("_", " "))

    @property
    def unit_heading(self) -> str:
        """Unit and what is better, for the second line of a heading."""
        return f"{UNIT_HEADINGS.get(self.unit, self.unit)}, {self.aim}"

    @property
    def aim(self) -> str:
        """What is better, in words."""
        if self.direction == "nominal":
            return f"nearer to {self.nominal:g} is better"
        return f"{self.direction} is better"

    def mean(self, method: str) -> float:
        """Mean over usable seeds; NaN without one."""
        return self.ranking[method].mean if method in self.scores else math.nan

    def error(self, method: str) -> float:
        """Standard error over seeds, or over test points where there is one seed."""
        if method not in self.scores:
            return math.nan
        if self.single:
            score = self.scores[method][0]
            return score.se if score is not None else math.nan
        return self.ranking[method].se

    def count(self, method: str) -> int:
        """Number of seeds, or of test points where there is one seed, behind the standard error."""
        if not self.single:
            return self.ranking[method].seeds if method in self.scores else 0
        score = self.scores.get(method, (None,))[0]
        return score.n if score is not None else 0

    def mark(self, method: str) -> str:
        """``"best"``, ``"tied"``, ``"worse"`` or ``""`` where there is no test."""
        mark = self.ranking[method].mark if method in self.scores else ""
        return "" if mark == "no test" else mark


def score_column(scores: Mapping[str, tuple[Score | None, ...]]) -> ScoreColumn | None:
    """Rank one score of every method; a replicate without a score counts as missing. None where no one has any."""
    known = next((score for row in scores.values() for score in row if score is not None), None)
    if known is None:
        return None
    values = {method: np.array([math.nan if s is None else s.mean for s in row]) for method, row in scores.items()}
    ranking = rank(values, direction=known.direction, nominal=known.nominal)
    return ScoreColumn(known.name, known.unit, known.direction, known.nominal, scores, ranking)


@dataclass(frozen=True)
class ScoreTable:
    """Scores and outcomes of every method, best first; prints as text, and as Markdown, records or data frame.

    ``published`` holds figures of the literature by (method, score), shown beside ours where there are any.
    """

    dataset: str
    seeds: tuple[int, ...]
    test_points: str
    columns: tuple[ScoreColumn, ...]
    outcomes: tuple[Outcome, ...]
    published: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def single(self) -> bool:
        """Whether there is one seed."""
        return len(self.seeds) == 1

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods by the first score, best first; then those that cannot predict, then the unavailable ones."""
        if not self.columns:
            return tuple(each.method for each in self.outcomes)
        first = self.columns[0]
        sign = -1.0 if first.direction == "higher" else 1.0

        def key(outcome: Outcome) -> tuple[bool, bool, float]:
            mean = first.mean(outcome.method)
            distance = abs(mean - first.nominal) if first.nominal is not None else sign * mean
            return (not outcome.available, math.isnan(mean), 0.0 if math.isnan(mean) else distance)

        return tuple(outcome.method for outcome in sorted(self.outcomes, key=key))

    @property
    def caption(self) -> str:
        """Data set, what the numbers are means over and what their errors are over."""
        if self.single:
            spread = f"seed {self.seeds[0]}, value ± standard error over the test points"
        else:
            spread = f"mean over {len(self.seeds)} seeds ± standard error over seeds"
        return f"{self.dataset}: {spread}; {self.test_points}"

    @property
    def legend(self) -> str:
        """The marking rule and what it is worth (theory 11)."""
        return RULE_ONE_SEED if self.single else RULE

    def outcome(self, method: str) -> Outcome:
        """How the method's run ended."""
        return next(each for each in self.outcomes if each.method == method)

    def scores_grid(self) -> Grid:
        """One row a method that was asked for, one column a score."""
        shown = [(column, "", self._cells(column)) for column in self.columns]
        for place in range(len(self.columns), 0, -1):
            published = self._published_cells(self.columns[place - 1])
            if published:
                shown.insert(place, (self.columns[place - 1], "published", published))
        headings = [title or column.heading for column, title, _ in shown]
        units = [column.heading if title else column.unit_heading for column, title, _ in shown]
        rows = tuple((words(method), *(cells[k] for _, _, cells in shown)) for k, method in enumerate(self.methods))
        return Grid(self.caption, ("method", *headings), rows, ("", *units), (self.legend if shown else NOTHING,))

    def _cells(self, column: ScoreColumn) -> list[Cell]:
        most = FRACTION_DECIMALS if column.unit == "fraction" else MAX_DECIMALS
        decimals = decimals_for(map(column.error, self.methods), map(column.mean, self.methods), most)
        return [
            mean_and_error(column.mean(method), column.error(method), decimals, column.mark(method))
            for method in self.methods
        ]

    def _published_cells(self, column: ScoreColumn) -> list[Cell]:
        if not any((method, column.name) in self.published for method in self.methods):
            return []
        return [number(self.published.get((method, column.name)), 4) for method in self.methods]

    def outcomes_grid(self) -> Grid:
        """Seeds that can predict, mean kept step, seconds and how the run ended, for every method asked for."""
        rows = []
        for method in self.methods:
            each = self.outcome(method)
            usable = f"{each.usable} of {each.replicates}" if each.available else "none"
            host = f"; features of {each.host}" if each.host else ""
            rows.append(
                (words(method), words(usable), whole(each.steps), number(each.seconds, 2), words(each.status + host))
            )
        headings = ("method", "seeds", "steps", "seconds", "how it ended")
        return Grid("Runs: usable seeds, mean number of steps, seconds for all seeds", headings, tuple(rows))

    def to_text(self) -> str:
        """Both tables as aligned text, at most 100 columns wide for the default scores."""
        legend = "* best" if self.single else "* best; = tied with the best; no mark: worse"
        grid = self.scores_grid()
        notes = (legend, self._units_note(), *grid.notes) if self.columns else grid.notes
        narrow = Grid(grid.caption, grid.headings, grid.rows, (), notes)
        return f"{narrow.to_text()}\n\n{self.outcomes_grid().to_text()}"

    def _units_note(self) -> str:
        units: dict[str, list[str]] = {}
        for column in self.columns:
            units.setdefault(column.unit, []).append(column.heading)
        parts = [f"{', '.join(headings)} in {unit}" for unit, headings in units.items()]
        other = [f"{c.heading}: {c.aim}" for c in self.columns if c.direction != "lower"]
        return "; ".join(parts) + f". Lower is better{', but ' + ', '.join(other) if other else ''}."

    def to_markdown(self) -> str:
        """Both tables as Markdown."""
        return f"{self.scores_grid().to_markdown()}\n\n{self.outcomes_grid().to_markdown()}\n"

    def records(self) -> list[dict[str, Any]]:
        """``{dataset, method, score, mean, se, n, unit, status}`` and what ``se`` and ``n`` are over, and the mark.

        Not-a-number is None and an infinite mean is ``"inf"``, so that the rows are valid JSON.
        """
        return [self._record(method, column) for method in self.methods for column in self.columns]

    def _record(self, method: str, column: ScoreColumn) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "method": method,
            "score": column.name,
            "mean": json_number(column.mean(method)),
            "se": json_number(column.error(method)),
            "n": column.count(method),
            "unit": column.unit,
            "status": self.outcome(method).status,
            "over": "test points" if self.single else "seeds",
            "mark": column.mark(method),
        }

    def to_dataframe(self) -> Any:
        """The records as a pandas data frame, numbers as numbers."""
        import pandas

        frame = pandas.DataFrame(self.records())
        return frame.assign(mean=frame["mean"].astype(float), se=frame["se"].astype(float))

    def __str__(self) -> str:
        return self.to_text()

    def _repr_markdown_(self) -> str:
        return self.to_markdown()
