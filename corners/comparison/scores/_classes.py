"""Classes: labels as codes, the predicted class and its confidence, bins of probabilities and the gaps in them."""

import numpy as np

from corners.errors import SpecError
from corners.predictive._base import require_targets
from corners.predictive.categorical import CategoricalPredictive, require_labels
from corners.types import Array, Bool, Float, Int


def label_codes(predictive: CategoricalPredictive, targets: Float[Array, " N"]) -> Int[Array, " N"]:
    """Labels as whole numbers, one a data point; a ``DataError`` where they are no codes 0..K-1."""
    codes = require_targets(targets, len(predictive.probabilities))
    return require_labels(codes, predictive.classes).astype(np.int64)


def predicted_class(predictive: CategoricalPredictive) -> Int[Array, " N"]:
    """Most probable class, ties to the lowest; of two classes ``1[p_1 ≥ ½]``, so ties to the second (theory 11)."""
    if predictive.classes == 2:
        return (predictive.probabilities[:, 1] >= 0.5).astype(np.int64)
    return predictive.probabilities.argmax(axis=1)


def top_class(
    predictive: CategoricalPredictive, targets: Float[Array, " N"]
) -> tuple[Float[Array, " N"], Bool[Array, " N"]]:
    """Confidence ``max_k p_k`` of every point, and whether the predicted class is the label."""
    labels = label_codes(predictive, targets)
    return predictive.probabilities.max(axis=1), predicted_class(predictive) == labels


def equal_width_bins(values: Float[Array, " N"], bins: int) -> Int[Array, " N"]:
    """Bin of every value: bin b is ``(b/bins, (b+1)/bins]``, 0 goes to the first (theory 11).

    The edges are quotients of whole numbers: ``np.linspace`` misses 0.3, 0.6 and 0.7 by the last bit.
    """
    edges = np.arange(1, bins) / bins
    return np.searchsorted(edges, values, side="left")


def equal_mass_bins(values: Float[Array, " N"], bins: int) -> Int[Array, " N"]:
    """Bin of every value, bins closed above by the ``⌈bN/bins⌉``-th smallest: equal counts within one without ties.

    Equal values are never parted, so the order of the points does not matter.
    """
    last = -(-np.arange(1, bins) * values.size // bins) - 1
    return np.searchsorted(np.sort(values)[np.maximum(last, 0)], values, side="left")


def gap_influence(errors: Float[Array, " N"], bins: Int[Array, " N"]) -> Float[Array, " N"]:
    """``sign(sum of the errors in n's bin) error_n``: their mean is ``Σ_b n_b/N |mean error of bin b|``."""
    return np.sign(np.bincount(bins, weights=errors))[bins] * errors


def require_bins(bins: int) -> None:
    """Refuse fewer than one bin."""
    if bins < 1:
        raise SpecError(f"bins must be a whole number of at least 1; got {bins}")
