"""Categorical predictive: class probabilities, what every classifier hands to the scores."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from corners.errors import DataError
from corners.types import Array, Float

TOTAL_TOLERANCE = 1e-6
"""How far the probabilities of a data point may sum from 1: float32 softmaxes pass, unnormalised scores do not."""


@dataclass(frozen=True, eq=False)
class CategoricalPredictive:
    """``P(Y_n = k)`` for classes 0..K-1 at every data point, and its logarithm where the probability underflows.

    Classes have no mean, distribution function or quantile, so this is no ``Predictive``.

    Parameters
    ----------
    probabilities : one row a data point, summing to 1.
    log_probabilities : their logarithms, in nats; None takes ``log`` of the probabilities.
    aleatoric_entropy : mean entropy of the draws the probabilities average, where there are any (:meth:`from_draws`).

    Raises
    ------
    DataError : fewer than two classes, no data point, a probability outside [0, 1], a row that does not sum to 1, or
        logarithms that are not those of the probabilities.

    Example
    -------
    >>> import numpy as np
    >>> predictive = CategoricalPredictive(np.array([[0.25, 0.75], [0.5, 0.5]]))
    >>> predictive.label.tolist(), np.exp(predictive.log_prob(np.array([0.0, 1.0]))).tolist()
    ([1.0, 0.0], [0.25, 0.5])
    """

    probabilities: Float[Array, "N K"]
    log_probabilities: Float[Array, "N K"] | None = None
    aleatoric_entropy: Float[Array, " N"] | None = None

    def __post_init__(self) -> None:
        probabilities = _require_rows(np.asarray(self.probabilities, np.float64))
        object.__setattr__(self, "probabilities", probabilities)
        if self.log_probabilities is None:
            object.__setattr__(self, "log_probabilities", _log(probabilities))
        else:
            logarithms = np.asarray(self.log_probabilities, np.float64)
            object.__setattr__(self, "log_probabilities", _require_logarithms(logarithms, probabilities))

    @classmethod
    def from_logarithms(cls, log_probabilities: Float[Array, "N K"]) -> "CategoricalPredictive":
        """Of normalised log probabilities, in nats."""
        return cls(np.exp(log_probabilities), log_probabilities)

    @classmethod
    def from_draws(cls, log_probabilities: Float[Array, "S N K"]) -> "CategoricalPredictive":
        """Equal-weight average of the class probabilities of S draws or members, in log space.

        ``aleatoric_entropy`` is the mean entropy of the draws; what the entropy exceeds it by is the mutual information
        of label and draw, the epistemic part.
        """
        logarithms = np.asarray(log_probabilities, np.float64)
        if logarithms.ndim != 3 or not len(logarithms):
            raise DataError(f"log probabilities of draws must have shape (S, N, K) with S > 0; got {logarithms.shape}")
        mean = special.logsumexp(logarithms, axis=0) - np.log(len(logarithms))
        return cls(np.exp(mean), mean, special.entr(np.exp(logarithms)).sum(-1).mean(axis=0))

    @property
    def classes(self) -> int:
        """K."""
        return self.probabilities.shape[1]

    @property
    def label(self) -> Float[Array, " N"]:
        """Most probable class; ties go to the lowest."""
        return self.probabilities.argmax(axis=1).astype(np.float64)

    @property
    def entropy(self) -> Float[Array, " N"]:
        """``-Σ_k p_k log p_k`` in nats, from 0 to log K."""
        return special.entr(self.probabilities).sum(axis=1)

    def log_prob(self, labels: Float[Array, " N"]) -> Float[Array, " N"]:
        """``log P(Y_n = y_n)`` at labels 0..K-1; not clipped."""
        codes = require_labels(labels, self.classes)
        if codes.shape != self.probabilities.shape[:1]:
            raise DataError(
                f"labels must have shape {self.probabilities.shape[:1]}, one a data point; got {codes.shape}"
            )
        assert self.log_probabilities is not None
        return self.log_probabilities[np.arange(codes.size), codes.astype(np.int64)]

    def sample(self, count: int, generator: np.random.Generator) -> Float[Array, "S N"]:
        """``count`` independent labels a data point, by inversion of the cumulative probabilities."""
        cumulative = self.probabilities.cumsum(axis=1)
        uniform = generator.random((count, len(cumulative))) * cumulative[:, -1]
        return (uniform[..., None] >= cumulative[:, :-1]).sum(axis=-1).astype(np.float64)


def require_labels(labels: Array, classes: int | None = None) -> Array:
    """Labels as float64 codes 0..K-1 of any shape, or a ``DataError`` that shows the wrong ones.

    ``classes=None`` asks for whole numbers from 0 on, without an end.
    """
    codes = np.asarray(labels, np.float64)
    wrong = ~(np.isfinite(codes) & (codes == np.floor(codes)) & (codes >= 0.0))
    if classes is not None:
        wrong |= codes >= classes
    if not codes.size:
        raise DataError("there are no labels: at least one is needed")
    if wrong.any():
        allowed = "whole numbers 0, 1, 2, ..." if classes is None else f"0 to {classes - 1}, one code a class"
        shown = ", ".join(f"{value:g}" for value in np.unique(codes[wrong])[:3])
        raise DataError(
            f"class labels must be {allowed}; {int(wrong.sum())} of {codes.size} are not (such as {shown}): "
            "number the classes from 0"
        )
    return codes


def _require_rows(probabilities: Array) -> Array:
    if probabilities.ndim != 2 or not len(probabilities) or probabilities.shape[1] < 2:
        raise DataError(
            f"class probabilities must have shape (N, K) with N > 0 and at least two classes; got {probabilities.shape}"
        )
    good = (probabilities >= 0.0).all(axis=1) & (np.abs(probabilities.sum(axis=1) - 1.0) <= TOTAL_TOLERANCE)
    if not good.all():
        first = int(np.argmin(good))
        raise DataError(
            f"class probabilities must be at least 0 and sum to 1 a data point; {int((~good).sum())} of {good.size} "
            f"rows do not (first at point {first}: {probabilities[first].tolist()}); normalise them, or mend the fit"
        )
    return probabilities


def _require_logarithms(logarithms: Array, probabilities: Array) -> Array:
    if logarithms.shape != probabilities.shape:
        raise DataError(
            f"log probabilities must have the shape of the probabilities, {probabilities.shape}; got {logarithms.shape}"
        )
    if not (np.abs(np.exp(logarithms) - probabilities) <= TOTAL_TOLERANCE).all():
        raise DataError(
            "log probabilities must be the logarithms of the probabilities, in nats; leave them out to have them taken"
        )
    return logarithms


def _log(probabilities: Array) -> Array:
    """Logarithms, -inf at zero."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)
