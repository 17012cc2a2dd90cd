"""Root mean squared error of the predictive mean, target units."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task
from corners.predictive._base import Predictive, require_targets
from corners.types import Array, Float


@SCORES.register("rmse")
@dataclass(frozen=True)
class Rmse(ScoreRule):
    """``√(mean of r_n²)``, ``r_n = y_n - E[Y_n]``, in target units (theory 11).

    ``pointwise`` holds the squared errors; the standard error is that of their mean, divided by ``2 RMSE`` (delta
    method). An RMSE of exactly zero has slope 0.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> Rmse()(GaussianPredictive(np.zeros(2), np.ones(2)), np.array([1.0, -7.0])).mean
    5.0
    """

    tasks: ClassVar[tuple[Task, ...]] = ("regression", "count")

    def __call__(self, predictive: Predictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        mean = predictive.mean
        squares = (require_targets(targets, mean.size) - mean) ** 2
        root = float(np.sqrt(squares.mean()))
        return Score("rmse", squares, root, "target units", "lower", slope=0.5 / root if root > 0.0 else 0.0)

    @classmethod
    def example(cls) -> "Rmse":
        """The rule itself: it has no settings."""
        return cls()
