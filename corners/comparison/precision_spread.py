"""Whether the prior precisions of several classes differ by more than their own sampling noise (theory 7.4)."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from corners.errors import DataError
from corners.types import Array, Float


@dataclass(frozen=True)
class PrecisionSpread:
    """``statistic = H [K log mean_k ‖μ_k‖² - Σ_k log ‖μ_k‖²]`` and ``p = P(χ²_{K-1} ≥ statistic)``.

    A p above 0.05 says that one precision shared by the classes is as well supported as one a class.
    """

    statistic: float
    p: float


def precision_spread(means: Float[Array, "K H"]) -> PrecisionSpread:
    """The likelihood ratio of one precision a class against one for all, given the means of K classes of H weights.

    ``μ_k ~ N(0, I/α_k)`` has ``α_k = H/‖μ_k‖²``, whose logarithm spreads by ``√(2/H)`` where all are equal. χ² is its
    law for many weights: with H = 50 a test at 5 % rejects 5 % of the time, with H = 5 somewhat more often.

    Raises
    ------
    DataError : fewer than two classes, no weight, or a class whose weights are all zero or not finite.

    Source: theory 7.4 (one-versus-all row); Bartlett (1937).

    Example
    -------
    >>> precision_spread(np.array([[1.0, 0.0], [0.0, 1.0]]))
    PrecisionSpread(statistic=0.0, p=1.0)
    """
    weights = np.asarray(means, np.float64)
    if weights.ndim != 2 or len(weights) < 2 or not weights.shape[1]:
        raise DataError(f"a spread needs the means of at least two classes, shape (K, H); got {weights.shape}")
    squares = (weights**2).sum(axis=1)
    if not (np.isfinite(squares).all() and (squares > 0.0).all()):
        raise DataError("every class needs finite weights that are not all zero; leave the others out")
    ratio = len(squares) * np.log(squares.mean()) - np.log(squares).sum()
    statistic = float(weights.shape[1] * max(ratio, 0.0))  # rounding may leave equal norms below zero
    return PrecisionSpread(statistic, float(stats.chi2.sf(statistic, len(squares) - 1)))
