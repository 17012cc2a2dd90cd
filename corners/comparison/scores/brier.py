"""Brier score over all classes, between 0 and 2."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.comparison.scores._classes import label_codes
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array, Float


@SCORES.register("brier")
@dataclass(frozen=True)
class Brier(ScoreRule):
    """Mean of ``Σ_k (p_nk - 1[y_n = k])²``, between 0 and 2 (theory 11); of two classes twice ``brier_binary``.

    Reference: Brier (1950), Verification of forecasts expressed in terms of probability.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.categorical import CategoricalPredictive
    >>> p = np.array([[0.5, 0.5], [1e-20, 1.0]])
    >>> Brier()(CategoricalPredictive(p), np.array([0.0, 0.0])).mean
    1.25
    """

    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    def __call__(self, predictive: CategoricalPredictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        distance = np.array(predictive.probabilities)
        distance[np.arange(len(distance)), label_codes(predictive, targets)] -= 1.0
        return mean_score("brier", (distance**2).sum(axis=1), "squared probability", "lower")

    @classmethod
    def example(cls) -> "Brier":
        """The rule itself: it has no settings."""
        return cls()
