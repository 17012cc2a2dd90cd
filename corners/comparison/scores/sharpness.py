"""Mean predictive standard deviation, target units: how narrow the predictive is, right or wrong."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.predictive._base import Predictive, require_targets
from corners.types import Array, Float


@SCORES.register("sharpness")
@dataclass(frozen=True)
class Sharpness(ScoreRule):
    """Mean of the predictive standard deviations, in target units; lower is better only at equal calibration.

    Reference: Gneiting, Balabdaoui and Raftery (2007), Probabilistic forecasts, calibration and sharpness.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> Sharpness()(GaussianPredictive(np.zeros(2), np.array([1.0, 9.0])), np.zeros(2)).mean
    2.0
    """

    tasks: ClassVar[tuple[Task, ...]] = ("regression", "count")

    def __call__(self, predictive: Predictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive; the targets only fix the number of points."""
        scales = np.sqrt(predictive.variance)
        require_targets(targets, scales.size)
        return mean_score("sharpness", scales, "target units", "lower")

    @classmethod
    def example(cls) -> "Sharpness":
        """The rule itself: it has no settings."""
        return cls()
