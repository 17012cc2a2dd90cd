"""Selective prediction: the risk that is left when the least confident predictions are handed to someone else."""

from dataclasses import dataclass

import numpy as np

from corners.comparison.scores._classes import top_class
from corners.errors import DataError
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array, Float


@dataclass(frozen=True, eq=False)
class SelectiveCurve:
    """Mean loss (``risk``) of the ``i`` most confident points against their share ``coverage = i/N``.

    ``best_risk`` is the curve of a confidence that ranked the points by their loss itself.
    """

    coverage: Float[Array, " N"]
    risk: Float[Array, " N"]
    best_risk: Float[Array, " N"]

    @property
    def area(self) -> float:
        """Area under the curve, ``mean_i risk_i`` (AURC)."""
        return float(self.risk.mean())

    @property
    def excess_area(self) -> float:
        """Area above the best possible curve at the same losses (E-AURC): what the ranking alone costs."""
        return float((self.risk - self.best_risk).mean())

    def risk_at(self, coverage: float) -> float:
        """Risk of the smallest number of points that is at least this share of them, for a share in (0, 1]."""
        if not 0.0 < coverage <= 1.0:
            raise DataError(f"a coverage must lie in (0, 1]; got {coverage}")
        return float(self.risk[np.searchsorted(self.coverage, coverage, side="left")])


def selective_curve(confidence: Float[Array, " N"], losses: Float[Array, " N"]) -> SelectiveCurve:
    """Risk-coverage curve of a confidence (higher is surer) and the losses of the same points.

    Points of equal confidence share their mean loss: the curve is the expectation over their orders, and the order of
    the points does not matter.

    Reference: Geifman, Uziel and El-Yaniv (2019), Bias-reduced uncertainty estimation for deep neural classifiers.

    Raises
    ------
    DataError : no points, shapes that differ, or a value that is not finite.

    Example
    -------
    >>> import numpy as np
    >>> curve = selective_curve(np.array([0.6, 0.9]), np.array([1.0, 0.0]))
    >>> curve.risk.tolist(), curve.area, curve.excess_area
    ([0.0, 0.5], 0.25, 0.0)
    """
    confidence, losses = np.asarray(confidence, np.float64), np.asarray(losses, np.float64)
    require_points(confidence, losses)
    _, group, sizes = np.unique(-confidence, return_inverse=True, return_counts=True)
    shared = np.bincount(group, weights=losses) / sizes
    place = np.arange(1, losses.size + 1)
    ranked, best = np.repeat(shared, sizes), np.sort(losses)
    return SelectiveCurve(place / losses.size, np.cumsum(ranked) / place, np.cumsum(best) / place)


def selective_accuracy(predictive: CategoricalPredictive, targets: Float[Array, " N"]) -> SelectiveCurve:
    """The curve of classes: confidence ``max_k p_k``, loss 1 where the predicted class is not the label.

    Raises
    ------
    DataError : the labels have another shape or are no codes 0..K-1.
    """
    confidence, correct = top_class(predictive, targets)
    return selective_curve(confidence, 1.0 - correct)


def require_points(confidence: Array, losses: Array) -> None:
    """Refuse shapes that differ, no points, and what is not finite."""
    if losses.ndim != 1 or confidence.shape != losses.shape or losses.size == 0:
        raise DataError(
            f"confidence and losses must have one shape (N,), N at least 1; got {confidence.shape} and {losses.shape}"
        )
    if not (np.isfinite(confidence).all() and np.isfinite(losses).all()):
        raise DataError("confidence and losses must be finite; drop the points that cannot be scored")
