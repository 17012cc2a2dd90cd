"""Mean distance of the central intervals' coverage from their levels 0.05, ..., 0.95."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.comparison.scores._central import LEVELS, inside_central
from corners.predictive._base import Predictive
from corners.types import Array, Float


@SCORES.register("calibration_error")
@dataclass(frozen=True)
class CalibrationError(ScoreRule):
    """``mean_p |coverage(p) - p|`` over the 19 levels ``p = 0.05, 0.10, ..., 0.95`` (theory 11).

    ``|x| = sign(x) x``, so the score is the mean of the per-point values ``mean_p sign(coverage(p) - p)
    (1[n inside] - p)``; they are its influence values, from which the standard error follows. That error is too small
    where coverage is within its own error of the level (the sign may flip); a calibrated predictive of N points still
    scores about ``√(2/πN) mean_p √(p (1 - p)) = 0.33 / √N``, not zero.

    Of counts the intervals are those of the randomised PIT of ``seed``.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> round(CalibrationError()(GaussianPredictive(np.zeros(3), np.ones(3)), np.zeros(3)).mean, 12)
    0.5
    """

    tasks: ClassVar[tuple[Task, ...]] = ("regression", "count")

    seed: int = 0

    def __call__(self, predictive: Predictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        excess = inside_central(predictive, targets, LEVELS, self.seed) - LEVELS[:, None]
        influence = (np.sign(excess.mean(axis=1))[:, None] * excess).mean(axis=0)
        return mean_score("calibration_error", influence, "fraction", "lower")

    @classmethod
    def example(cls) -> "CalibrationError":
        """The first seed."""
        return cls()
