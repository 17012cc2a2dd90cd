"""Share of labels that are the predicted class."""

from dataclasses import dataclass
from typing import ClassVar

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.comparison.scores._classes import top_class
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array, Float


@SCORES.register("accuracy")
@dataclass(frozen=True)
class Accuracy(ScoreRule):
    """Share of points whose predicted class is the label (theory 11).

    The predicted class is the most probable one; of equally probable ones the first, but of two classes the second:
    ``p_1 ≥ ½`` predicts class 1.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.categorical import CategoricalPredictive
    >>> p = np.array([[0.7, 0.2, 0.1], [0.4, 0.4, 0.2]])
    >>> Accuracy()(CategoricalPredictive(p), np.array([0.0, 1.0])).mean
    0.5
    """

    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    def __call__(self, predictive: CategoricalPredictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        _, correct = top_class(predictive, targets)
        return mean_score("accuracy", correct.astype(float), "fraction", "higher")

    @classmethod
    def example(cls) -> "Accuracy":
        """The rule itself: it has no settings."""
        return cls()
