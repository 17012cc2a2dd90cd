"""Fraction of targets inside the central predictive interval of a stated level."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.comparison.scores._central import inside_central, require_central_level
from corners.predictive._base import Predictive
from corners.types import Array, Float


@SCORES.register("coverage")
@dataclass(frozen=True)
class Coverage(ScoreRule):
    """Fraction of targets in the central interval of ``level`` (default 0.9); best nearest to ``level`` (theory 11).

    Of counts the interval is one of the randomised PIT of ``seed``: of whole counts it could only cover too much.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> score = Coverage()(GaussianPredictive(np.zeros(4), np.ones(4)), np.array([0.0, 1.6, -1.7, 0.3]))
    >>> score.mean, score.nominal
    (0.75, 0.9)
    """

    tasks: ClassVar[tuple[Task, ...]] = ("regression", "count")

    level: float = 0.9
    seed: int = 0

    def __post_init__(self) -> None:
        require_central_level(self.level)

    def __call__(self, predictive: Predictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        inside = inside_central(predictive, targets, np.array([self.level]), self.seed)[0].astype(float)
        return mean_score("coverage", inside, "fraction", "nominal", self.level)

    @classmethod
    def example(cls) -> "Coverage":
        """The 90 % interval."""
        return cls()
