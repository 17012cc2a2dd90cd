"""Expected calibration error of the predicted class, bins of equal mass."""

from dataclasses import dataclass
from typing import ClassVar

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.comparison.scores._classes import equal_mass_bins, gap_influence, require_bins, top_class
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array, Float


@SCORES.register("adaptive_ece")
@dataclass(frozen=True)
class AdaptiveEce(ScoreRule):
    """``Σ_b n_b/N |accuracy_b - confidence_b|`` over 10 bins of ``max_k p_k`` that hold equally many points.

    The bins adapt to the data, as in the reference's adaptive calibration error, which however averages over the
    probabilities of every class. Equal confidences share a bin, so with ties bins hold different numbers of points.
    Standard error as of ``ece``.

    Reference: Nixon, Dusenberry, Zhang, Jerfel and Tran (2019), Measuring calibration in deep learning.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.categorical import CategoricalPredictive
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> round(AdaptiveEce()(CategoricalPredictive(p), np.array([0.0, 1.0])).mean, 12)
    0.35
    """

    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    bins: int = 10

    def __post_init__(self) -> None:
        require_bins(self.bins)

    def __call__(self, predictive: CategoricalPredictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        confidence, correct = top_class(predictive, targets)
        influence = gap_influence(correct - confidence, equal_mass_bins(confidence, self.bins))
        return mean_score("adaptive_ece", influence, "fraction", "lower")

    @classmethod
    def example(cls) -> "AdaptiveEce":
        """Ten bins."""
        return cls()
