"""Expected calibration error of every class's probability, averaged over the classes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.comparison.scores._classes import equal_width_bins, gap_influence, label_codes, require_bins
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array, Float


@SCORES.register("classwise_ece")
@dataclass(frozen=True)
class ClasswiseEce(ScoreRule):
    """``1/K Σ_k Σ_b n_bk/N |frequency_bk - p̄_bk|``, bins of each class's probabilities as ``ece`` has them.

    It sees what ``ece`` cannot: miscalibrated probabilities of classes that are not predicted. Standard error as of
    ``ece``.

    Reference: Kull et al. (2019), Beyond temperature scaling: Dirichlet calibration.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.categorical import CategoricalPredictive
    >>> p = np.array([[0.8, 0.2], [0.8, 0.2]])
    >>> round(ClasswiseEce()(CategoricalPredictive(p), np.array([0.0, 1.0])).mean, 12)
    0.3
    """

    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    bins: int = 10

    def __post_init__(self) -> None:
        require_bins(self.bins)

    def __call__(self, predictive: CategoricalPredictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        labels, probabilities = label_codes(predictive, targets), predictive.probabilities
        influence = [
            gap_influence((labels == k) - column, equal_width_bins(column, self.bins))
            for k, column in enumerate(probabilities.T)
        ]
        return mean_score("classwise_ece", np.mean(influence, axis=0), "fraction", "lower")

    @classmethod
    def example(cls) -> "ClasswiseEce":
        """Ten bins."""
        return cls()
