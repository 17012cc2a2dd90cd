"""The log-gamma: what a gamma variable says of its logarithm, and the exp link's message to its input."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from inference.distributions._base import Numbers
from inference.distributions._checks import levels, positive
from inference.distributions._parametric import Parametric
from inference.distributions._special import standard_gamma_entropy, trigamma
from inference.types import Array

UNDERFLOW = -500.0
"""Below this logarithm of its argument the incomplete gamma function is its first term, ``g^b / Gamma(b+1)``."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LogGamma(Parametric):
    """``e^{b x - e^x/a} / (a^b Gamma(b))``: the logarithm of ``Ga(b, 1/a)``; scale a, shape b (message_passing 1.6).

    Raises
    ------
    SpecError : a parameter is not positive and finite, or their shapes do not broadcast.

    Example
    -------
    >>> float(np.exp(LogGamma(scale=1.0, shape=1.0).logpdf(0.0)) * np.e)
    1.0
    """

    support: ClassVar[str] = "real"
    layout: ClassVar[dict[str, int]] = {"scale": 0, "shape": 0}
    scale: Array
    shape: Array

    def __init__(self, scale: Numbers, shape: Numbers) -> None:
        cls = type(self)
        self._fill({"scale": positive(cls, "scale", scale), "shape": positive(cls, "shape", shape)})

    def mean(self) -> Array:
        """``psi(b) + log a``."""
        return np.asarray(special.digamma(self.shape) + np.log(self.scale))

    def var(self) -> Array:
        """``psi1(b)``."""
        return trigamma(self.shape)

    def logpdf(self, x: Numbers) -> Array:
        """``b (x - log a) - e^{x - log a} - lgamma(b)``."""
        ratio = self._log_ratio(x)
        with np.errstate(over="ignore"):
            return np.asarray(self.shape * ratio - np.exp(ratio) - special.gammaln(self.shape))

    def cdf(self, x: Numbers) -> Array:
        """``P(b, e^x/a)``; its first term where ``e^x/a`` underflows."""
        ratio = self._log_ratio(x)
        with np.errstate(over="ignore"):
            first = np.exp(self.shape * np.minimum(ratio, UNDERFLOW) - special.gammaln(self.shape + 1.0))
            return np.where(ratio < UNDERFLOW, first, special.gammainc(self.shape, np.exp(ratio)))

    def quantile(self, q: Numbers) -> Array:
        """``log(a P^-1(b, q))``, from the first term of P where its inverse underflows."""
        level = levels(type(self), q, self._batch, ())
        with np.errstate(divide="ignore"):
            first = (np.log(level) + special.gammaln(self.shape + 1.0)) / self.shape
            inverse = special.gammaincinv(self.shape, level)
            return np.asarray(np.where(first < UNDERFLOW, first, np.log(inverse)) + np.log(self.scale))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """``log Ga(b+1) - Exp/b``: the same law as ``log Ga(b)``, and it cannot underflow."""
        size = (n, *self._batch)
        drawn = np.log(rng.standard_gamma(self.shape + 1.0, size=size)) - rng.standard_exponential(size) / self.shape
        return np.asarray(drawn + np.log(self.scale))

    def entropy(self) -> Array:
        """``b + lgamma(b) - b psi(b)``, free of a (message_passing 1.1)."""
        return np.asarray(standard_gamma_entropy(self.shape) - special.digamma(self.shape))

    @classmethod
    def example(cls) -> "LogGamma":
        """Two, skewed to the left."""
        return cls(np.array([0.6, 2.7]), np.array([0.8, 3.4]))

    def _log_ratio(self, x: Numbers) -> Array:
        return np.asarray(np.asarray(x, np.float64) - np.log(self.scale))
