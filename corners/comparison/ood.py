"""How well a score separates inputs from outside the training distribution: area under the ROC curve with its error."""

from dataclasses import dataclass

import numpy as np

from corners.exact.leverage import auroc
from corners.types import Array, Float


@dataclass(frozen=True)
class Separation:
    """``auroc`` with its standard error, and the numbers of points on either side."""

    auroc: float
    se: float
    inside: int
    outside: int

    def __str__(self) -> str:
        return f"AUROC {self.auroc:.3f} ± {self.se:.3f} ({self.inside} points inside, {self.outside} outside)"


def separation(inside: Float[Array, " N"], outside: Float[Array, " M"]) -> Separation:
    """``P(s_out > s_in) + ½ P(s_out = s_in)`` over all pairs, outside being the positives (theory 9), with its error.

    The standard error is DeLong's, ``√(var(A_i)/N + var(A_j)/M)`` with each point's own share of pairs won; NaN with
    fewer than two points on a side. It is zero where the two sides do not overlap.

    Reference: DeLong, DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated ROC curves.

    Raises
    ------
    DataError : a side is empty or holds a value that is not finite.

    Example
    -------
    >>> import numpy as np
    >>> separation(np.array([0.0, 1.0]), np.array([1.0, 2.0])).auroc
    0.875
    """
    value = auroc(inside, outside)
    won_by_outside, won_by_inside = _won(outside, inside), _won(inside, outside)
    error = float(np.sqrt(_variance_of_mean(won_by_outside) + _variance_of_mean(won_by_inside)))
    return Separation(value, error, inside.size, outside.size)


def _won(scores: Float[Array, " N"], against: Float[Array, " M"]) -> Float[Array, " N"]:
    """Share of the others that each score exceeds, ties counting one half."""
    others = np.sort(against)
    return 0.5 * (np.searchsorted(others, scores, "left") + np.searchsorted(others, scores, "right")) / others.size


def _variance_of_mean(values: Array) -> float:
    return float(values.var(ddof=1) / values.size) if values.size > 1 else float("nan")
