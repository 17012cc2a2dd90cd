"""A variable that is 0 or 1."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from inference.distributions._base import Numbers
from inference.distributions._checks import levels, unit_interval
from inference.distributions._parametric import Parametric
from inference.types import Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Bernoulli(Parametric):
    """``P(x = 1) = p``, ``P(x = 0) = 1 - p``; ``logpdf`` is the log mass.

    Raises
    ------
    SpecError : a probability is not between 0 and 1.

    Example
    -------
    >>> float(Bernoulli(probability=0.5).var())
    0.25
    """

    support: ClassVar[str] = "binary"
    layout: ClassVar[dict[str, int]] = {"probability": 0}
    probability: Array

    def __init__(self, probability: Numbers) -> None:
        self._fill({"probability": unit_interval(type(self), "probability", probability)})

    def mean(self) -> Array:
        """``p``."""
        return self.probability

    def var(self) -> Array:
        """``p (1-p)``."""
        return np.asarray(self.probability * (1.0 - self.probability))

    def logpdf(self, x: Numbers) -> Array:
        """``x log p + (1-x) log(1-p)`` at 0 and 1, ``-inf`` elsewhere."""
        given = np.asarray(x, np.float64)
        with np.errstate(divide="ignore"):
            one, zero = np.log(self.probability), np.log1p(-self.probability)
        return np.where(given == 1.0, one, np.where(given == 0.0, zero, -np.inf))

    def cdf(self, x: Numbers) -> Array:
        """0 below 0, ``1-p`` below 1, then 1."""
        given = np.asarray(x, np.float64)
        return np.where(given < 0.0, 0.0, np.where(given < 1.0, 1.0 - self.probability, 1.0))

    def quantile(self, q: Numbers) -> Array:
        """The smaller of 0 and 1 with ``cdf >= q``."""
        return np.where(levels(type(self), q, self._batch, ()) <= 1.0 - self.probability, 0.0, 1.0)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` draws, 0.0 or 1.0."""
        return np.asarray(rng.random((n, *self._batch)) < self.probability, dtype=np.float64)

    def entropy(self) -> Array:
        """``-p log p - (1-p) log(1-p)``."""
        return np.asarray(special.entr(self.probability) + special.entr(1.0 - self.probability))

    @classmethod
    def example(cls) -> "Bernoulli":
        """Two on either side of one half."""
        return cls(np.array([0.15, 0.72]))
