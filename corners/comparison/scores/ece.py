"""Expected calibration error of the predicted class, bins of equal width."""

from dataclasses import dataclass
from typing import ClassVar

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.comparison.scores._classes import equal_width_bins, gap_influence, require_bins, top_class
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array, Float


@SCORES.register("ece")
@dataclass(frozen=True)
class Ece(ScoreRule):
    """``Σ_b n_b/N |accuracy_b - confidence_b|`` over 10 bins ``(b/10, (b+1)/10]`` of ``max_k p_k`` (theory 11).

    Like ``calibration_error`` it is the mean of influence values, ``sign_b (1[n correct] - confidence_n)``, from which
    the standard error follows; that is too small where a gap is within its own error. A calibrated predictive scores
    about ``√(2/π) Σ_b √(n_b s_b²) / N``, not zero, ``s_b²`` being the mean of ``confidence (1 - confidence)`` in bin b.

    Reference: Naeini, Cooper and Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian binning.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.categorical import CategoricalPredictive
    >>> p = np.array([[0.8, 0.2], [0.8, 0.2]])
    >>> round(Ece()(CategoricalPredictive(p), np.array([0.0, 1.0])).mean, 12)
    0.3
    """

    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    bins: int = 10

    def __post_init__(self) -> None:
        require_bins(self.bins)

    def __call__(self, predictive: CategoricalPredictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        confidence, correct = top_class(predictive, targets)
        influence = gap_influence(correct - confidence, equal_width_bins(confidence, self.bins))
        return mean_score("ece", influence, "fraction", "lower")

    @classmethod
    def example(cls) -> "Ece":
        """Ten bins."""
        return cls()
