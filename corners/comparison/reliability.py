"""Reliability diagrams: how often predictions of each confidence are right."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from corners.comparison.scores._classes import equal_width_bins, label_codes, require_bins, top_class
from corners.errors import SpecError
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array, Float, Int


@dataclass(frozen=True, eq=False)
class Reliability:
    """Bins ``(edges_b, edges_{b+1}]`` of confidence: how many points, mean confidence, share that is right.

    ``confidence`` and ``accuracy`` of a bin without points are NaN.
    """

    count: Int[Array, " B"]
    confidence: Float[Array, " B"]
    accuracy: Float[Array, " B"]
    edges: Float[Array, " B+1"]

    @property
    def error(self) -> float:
        """``Σ_b n_b/N |accuracy_b - confidence_b|``: the score ``ece``."""
        held = self.count > 0
        gaps = np.abs(self.accuracy - self.confidence)[held]
        return float(gaps @ self.count[held] / self.count.sum())

    def band(self, level: float = 0.95) -> tuple[Float[Array, " B"], Float[Array, " B"]]:
        """Central binomial range of each bin's accuracy if its confidence were right; NaN without points.

        It is a little too wide for confidences that differ within the bin.
        """
        low, high = np.full(self.count.size, np.nan), np.full(self.count.size, np.nan)
        held = self.count > 0
        ends = stats.binom.interval(level, self.count[held], np.minimum(self.confidence[held], 1.0))
        low[held], high[held] = (end / self.count[held] for end in ends)
        return low, high

    def records(self) -> list[dict[str, Any]]:
        """One flat row a bin; ``None`` stands for the confidence and accuracy of a bin without points."""
        rows = zip(self.edges, self.edges[1:], self.count, self.confidence, self.accuracy, strict=False)
        return [
            {"above": float(low), "up_to": float(high), "count": int(n)}
            | {"confidence": float(c) if n else None, "accuracy": float(a) if n else None}
            for low, high, n, c, a in rows
        ]


def reliability(
    predictive: CategoricalPredictive, targets: Float[Array, " N"], bins: int = 10, *, of_class: int | None = None
) -> Reliability:
    """Data of a reliability diagram: per bin of confidence the count, the mean confidence and the accuracy.

    Confidence is ``max_k p_k`` and accuracy the share of predicted classes that are the label; with ``of_class`` they
    are that class's probability and its frequency. Bin b is ``(b/bins, (b+1)/bins]``, 0 goes to the first (theory 11).

    Raises
    ------
    DataError : the labels have another shape or are no codes 0..K-1.
    SpecError : fewer than one bin, or ``of_class`` is no class of the predictive.

    Example
    -------
    >>> import numpy as np
    >>> p = np.array([[0.75, 0.25], [0.75, 0.25]])
    >>> diagram = reliability(CategoricalPredictive(p), np.array([0.0, 1.0]))
    >>> diagram.count.tolist(), diagram.error
    ([0, 0, 0, 0, 0, 0, 0, 2, 0, 0], 0.25)
    """
    require_bins(bins)
    classes = predictive.classes
    if of_class is None:
        confidence, right = top_class(predictive, targets)
    elif 0 <= of_class < classes:
        confidence, right = predictive.probabilities[:, of_class], label_codes(predictive, targets) == of_class
    else:
        raise SpecError(f"of_class must be a class code from 0 to {classes - 1}; got {of_class}")
    bin_of = equal_width_bins(confidence, bins)
    count = np.bincount(bin_of, minlength=bins)
    sums = (np.bincount(bin_of, weights=values, minlength=bins) for values in (confidence, right))
    means = [np.divide(total, count, out=np.full(bins, np.nan), where=count > 0) for total in sums]
    return Reliability(count, means[0], means[1], np.arange(bins + 1) / bins)
