"""Mean squared standardised residual: 1 if the predictive variances are right."""

from dataclasses import dataclass
from typing import ClassVar

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.predictive._base import Predictive, require_targets
from corners.types import Array, Float


@SCORES.register("squared_z")
@dataclass(frozen=True)
class SquaredZ(ScoreRule):
    """Mean of ``(y_n - E[Y_n])² / Var[Y_n]``; above 1 the predictive is too narrow, below 1 too wide (theory 3.9).

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> SquaredZ()(GaussianPredictive(np.zeros(2), np.array([1.0, 4.0])), np.array([1.0, 2.0])).mean
    1.0
    """

    tasks: ClassVar[tuple[Task, ...]] = ("regression", "count")

    def __call__(self, predictive: Predictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        mean = predictive.mean
        squares = (require_targets(targets, mean.size) - mean) ** 2 / predictive.variance
        return mean_score("squared_z", squares, "ratio", "nominal", 1.0)

    @classmethod
    def example(cls) -> "SquaredZ":
        """The rule itself: it has no settings."""
        return cls()
