"""What a score is, the contract of the rule that computes it, and the registry of rules."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from corners.errors import DataError, SpecError
from corners.predictive._base import Predictive
from corners.predictive.categorical import CategoricalPredictive
from corners.registry import Registry
from corners.types import Array, Float

SCORES = Registry("score", "corners.comparison.scores")

Direction = Literal["lower", "higher", "nominal"]
Unit = Literal["nats per observation", "target units", "fraction", "ratio", "squared probability"]
Task = Literal["regression", "classification", "count"]

DEFAULT_SCORES: dict[Task, tuple[str, ...]] = {
    "regression": ("nll", "rmse", "crps", "calibration_error", "coverage", "sharpness"),
    "classification": ("nll", "accuracy", "brier", "ece"),
    "count": ("nll", "rmse", "crps", "calibration_error", "coverage", "sharpness"),
}


@dataclass(frozen=True, eq=False)
class Score:
    """One score of one predictive: a value a point, what they average to, and how sure that is.

    ``se = |slope| sd(pointwise) / √n`` (ddof 1), where ``slope`` is the derivative of ``mean`` by the mean of
    ``pointwise``: 1 for a plain mean, ``1/(2 RMSE)`` for the root of a mean square (delta method). One point has no
    standard error: NaN. The standard error speaks of this test part and this fit alone, not of other seeds.

    ``direction`` is what is better: ``"lower"``, ``"higher"``, or nearest to ``nominal``.

    Example
    -------
    >>> import numpy as np
    >>> score = Score("nll", np.array([1.0, 3.0]), 2.0, "nats per observation", "lower")
    >>> score.n, score.se
    (2, 1.0)
    """

    name: str
    pointwise: Float[Array, " N"]
    mean: float
    unit: Unit
    direction: Direction
    nominal: float | None = None
    slope: float = 1.0

    @property
    def n(self) -> int:
        """Number of data points."""
        return self.pointwise.size

    @property
    def se(self) -> float:
        """Standard error of ``mean`` over the data points; NaN for a single point or an infinite value."""
        return standard_error(self.slope * self.pointwise)

    def records(self) -> list[dict[str, Any]]:
        """The score as one flat row, without the per-point values."""
        row = {"score": self.name, "mean": self.mean, "se": self.se, "n": self.n, "unit": self.unit}
        return [{**row, "direction": self.direction, "nominal": self.nominal}]

    def __str__(self) -> str:
        aim = f"nominal {self.nominal:g}" if self.direction == "nominal" else f"{self.direction} is better"
        return f"{self.name} {self.mean:.4g} ± {self.se:.2g} ({self.unit}, {aim}, {self.n} points)"


class ScoreRule(ABC):
    """How to score a predictive at its targets: a frozen specification, called like a function.

    ``tasks`` says whose predictives it takes: those of "regression" (unless the rule says otherwise),
    "classification", "count", or several.
    """

    tasks: ClassVar[tuple[Task, ...]] = ("regression",)

    @abstractmethod
    def __call__(self, predictive: Any, targets: Float[Array, " N"]) -> Score:
        """Score of the predictive at targets in original units."""

    @classmethod
    @abstractmethod
    def example(cls) -> "ScoreRule":
        """A member for the law suite."""


def mean_score(name: str, pointwise: Array, unit: Unit, direction: Direction, nominal: float | None = None) -> Score:
    """Score that is the plain mean of its per-point values."""
    return Score(name, pointwise, float(pointwise.mean()), unit, direction, nominal)


def standard_error(values: Float[Array, " N"]) -> float:
    """``sd(values) / √n`` with ddof 1; NaN where it is not defined (one value, or an infinite one)."""
    if values.size < 2 or not np.isfinite(values).all():
        return float("nan")
    return float(values.std(ddof=1) / np.sqrt(values.size))


def evaluate(
    predictive: Predictive | CategoricalPredictive,
    targets: Float[Array, " N"],
    rules: Sequence[str | ScoreRule] | None = None,
) -> dict[str, Score]:
    """Every asked score of one predictive, by score name.

    Parameters
    ----------
    targets : in original units; of classes the codes 0..K-1.
    rules : registry names (then with their defaults) or rules of your own; each name once. By default those of
        ``DEFAULT_SCORES`` for the predictive's task.

    Raises
    ------
    DataError : a target is NaN or infinite, or the shapes differ.
    SpecError : one name twice, or a score of another task than the predictive's.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> evaluate(GaussianPredictive(np.zeros(2), np.ones(2)), np.array([1.0, -7.0]), ["rmse"])["rmse"].mean
    5.0
    """
    require_finite_targets(targets)
    scores: dict[str, Score] = {}
    for asked in DEFAULT_SCORES[task_of(predictive)] if rules is None else rules:
        rule = SCORES.get(asked)() if isinstance(asked, str) else asked
        require_task(rule, predictive)
        score = rule(predictive, targets)
        if score.name in scores:
            raise SpecError(f"score {score.name!r} is asked for twice; call the second rule by itself")
        scores[score.name] = score
    return scores


def task_of(predictive: Predictive | CategoricalPredictive) -> Task:
    """What kind of targets a predictive is for."""
    return "classification" if isinstance(predictive, CategoricalPredictive) else predictive.task


def require_task(rule: ScoreRule, predictive: Predictive | CategoricalPredictive) -> None:
    """Refuse a predictive of a task that the rule does not score, naming the scores that do."""
    task = task_of(predictive)
    if task in rule.tasks:
        return
    fitting = [name for name in SCORES.names() if task in SCORES.get(name).tasks]
    raise SpecError(
        f"{type(rule).__name__} takes a predictive of {' or '.join(rule.tasks)}; got a {type(predictive).__name__}, "
        f"which is of {task}; scores for it: {', '.join(fitting)}"
    )


def require_finite_targets(targets: Float[Array, " N"]) -> None:
    """Refuse NaN and infinity among the targets, naming the first row."""
    bad = ~np.isfinite(targets)
    if bad.any():
        raise DataError(
            f"targets must be finite to be scored; {int(bad.sum())} of {bad.size} are not (first at row "
            f"{int(np.argmax(bad))}); drop those rows"
        )
