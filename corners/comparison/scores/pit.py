"""Probability integral transform: uniform over [0, 1] if the predictive is right."""

from dataclasses import dataclass

from corners.comparison.scores._base import SCORES, Score, ScoreRule, mean_score
from corners.predictive._base import Predictive
from corners.types import Array, Float


@SCORES.register("pit")
@dataclass(frozen=True)
class Pit(ScoreRule):
    """``F_n(y_n)``, with mean one half if the predictive is right; the mean sees bias, the histogram sees the rest.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> Pit()(GaussianPredictive(np.zeros(1), np.ones(1)), np.zeros(1)).pointwise.tolist()
    [0.5]
    """

    def __call__(self, predictive: Predictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        return mean_score("pit", predictive.cdf(targets), "fraction", "nominal", 0.5)

    @classmethod
    def example(cls) -> "Pit":
        """The rule itself: it has no settings."""
        return cls()
