"""Brier score of two classes, between 0 and 1."""

from dataclasses import dataclass
from typing import ClassVar

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.comparison.scores._classes import label_codes
from corners.errors import SpecError
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array, Float


@SCORES.register("brier_binary")
@dataclass(frozen=True)
class BrierBinary(ScoreRule):
    """Mean of ``(p_n1 - y_n)²``, between 0 and 1: half of ``brier`` (theory 11). Two classes only, else ``SpecError``.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.categorical import CategoricalPredictive
    >>> p = np.array([[0.5, 0.5], [1e-20, 1.0]])
    >>> BrierBinary()(CategoricalPredictive(p), np.array([0.0, 0.0])).mean
    0.625
    """

    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    def __call__(self, predictive: CategoricalPredictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        classes = predictive.classes
        if classes != 2:
            raise SpecError(f"brier_binary scores two classes; got {classes}: use brier, the sum over all classes")
        squares = (predictive.probabilities[:, 1] - label_codes(predictive, targets)) ** 2
        return mean_score("brier_binary", squares, "squared probability", "lower")

    @classmethod
    def example(cls) -> "BrierBinary":
        """The rule itself: it has no settings."""
        return cls()
