"""Leverage and out-of-distribution scores of a belief (theory 9)."""

import numpy as np
from numpy.typing import ArrayLike

from corners.errors import DataError
from corners.exact._inputs import as_features, as_float64
from corners.exact.covariance import CovarianceLike, as_covariance
from corners.types import Array, Float


def novelty(features: Float[Array, "N H"] | ArrayLike, covariance: CovarianceLike) -> Float[Array, " N"]:
    """Score ``ψᵀΣψ`` at new inputs, in squared units of the target; larger is further out.

    With the posterior it grows off the span of the training features and is at most ``‖ψ‖²/α``; with a free covariance
    it is a fitted residual variance and need not grow there. Reference: theory 9.

    Example
    -------
    >>> novelty([[1.0, 2.0]], np.diag([1.0, 0.5])).tolist()
    [3.0]
    """
    matrix = as_features(features)
    return as_covariance(covariance, matrix.shape[1]).variances(matrix)


def auroc(inside: Float[Array, " N"] | ArrayLike, outside: Float[Array, " M"] | ArrayLike) -> float:
    """``P(s_out > s_in) + ½P(s_out = s_in)`` over all pairs; out-of-distribution points are the positives.

    Reference: theory 9; Mann and Whitney (1947), doi:10.1214/aoms/1177730491.

    Example
    -------
    >>> auroc([1.0, 2.0], [2.0, 3.0])  # of four pairs three are larger and one is tied
    0.875
    """
    low, high = np.sort(as_float64("inside", inside).ravel()), as_float64("outside", outside).ravel()
    if not len(low) or not len(high):
        raise DataError(
            f"both sets of scores must hold at least one value; got {len(low)} inside and {len(high)} outside"
        )
    below, at_most = np.searchsorted(low, high, side="left"), np.searchsorted(low, high, side="right")
    return 0.5 * float((below + at_most).sum()) / (len(low) * len(high))
