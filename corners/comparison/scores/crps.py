"""Continuous ranked probability score, target units."""

from dataclasses import dataclass
from typing import ClassVar

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.predictive._base import Predictive
from corners.types import Array, Float


@SCORES.register("crps")
@dataclass(frozen=True)
class Crps(ScoreRule):
    """Mean of ``∫ (F_n(t) - 1[y_n ≤ t])² dt``, in target units; the absolute error of a point forecast (theory 11).

    Of counts the integrand is constant between whole numbers: ``Σ_k (F_n(k) - 1[y_n ≤ k])²``.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> round(Crps()(GaussianPredictive(np.zeros(1), np.full(1, 1e-30)), np.array([2.0])).mean, 12)
    2.0
    """

    tasks: ClassVar[tuple[Task, ...]] = ("regression", "count")

    def __call__(self, predictive: Predictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        return mean_score("crps", predictive.crps(targets), "target units", "lower")

    @classmethod
    def example(cls) -> "Crps":
        """The rule itself: it has no settings."""
        return cls()
