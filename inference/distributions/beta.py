"""The beta distribution."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from inference.distributions._base import Numbers
from inference.distributions._checks import levels, positive
from inference.distributions._parametric import Parametric
from inference.types import Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Beta(Parametric):
    """``x^(a-1) (1-x)^(b-1) / B(a, b)`` on the unit interval.

    Raises
    ------
    SpecError : a parameter is not positive and finite, or their shapes do not broadcast.

    Example
    -------
    >>> float(Beta(a=3.0, b=1.0).mean())
    0.75
    """

    support: ClassVar[str] = "unit"
    layout: ClassVar[dict[str, int]] = {"a": 0, "b": 0}
    a: Array
    b: Array

    def __init__(self, a: Numbers, b: Numbers) -> None:
        self._fill({"a": positive(type(self), "a", a), "b": positive(type(self), "b", b)})

    def mean(self) -> Array:
        """``a/(a+b)``."""
        return np.asarray(self.a / (self.a + self.b))

    def var(self) -> Array:
        """``a b / ((a+b)^2 (a+b+1))``."""
        total = self.a + self.b
        return np.asarray((self.a / total) * (self.b / total) / (total + 1.0))

    def mean_log(self) -> Array:
        """``E log x = psi(a) - psi(a+b)``."""
        return np.asarray(special.digamma(self.a) - special.digamma(self.a + self.b))

    def mean_log1m(self) -> Array:
        """``E log(1-x) = psi(b) - psi(a+b)``."""
        return np.asarray(special.digamma(self.b) - special.digamma(self.a + self.b))

    def logpdf(self, x: Numbers) -> Array:
        """``(a-1) log x + (b-1) log(1-x) - log B(a, b)``."""
        given = np.asarray(x, np.float64)
        outside = (given < 0.0) | (given > 1.0)
        inside = np.where(outside, 0.5, given)
        kernel = special.xlogy(self.a - 1.0, inside) + special.xlog1py(self.b - 1.0, -inside)
        return np.where(outside, -np.inf, kernel - special.betaln(self.a, self.b))

    def cdf(self, x: Numbers) -> Array:
        """The regularised incomplete beta function."""
        return np.asarray(special.betainc(self.a, self.b, np.clip(np.asarray(x, np.float64), 0.0, 1.0)))

    def quantile(self, q: Numbers) -> Array:
        """Its inverse."""
        return np.asarray(special.betaincinv(self.a, self.b, levels(type(self), q, self._batch, ())))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` draws."""
        return np.asarray(rng.beta(self.a, self.b, size=(n, *self._batch)))

    def entropy(self) -> Array:
        """``log B(a, b) - (a-1) E log x - (b-1) E log(1-x)``."""
        kernel = (self.a - 1.0) * self.mean_log() + (self.b - 1.0) * self.mean_log1m()
        return np.asarray(special.betaln(self.a, self.b) - kernel)

    @classmethod
    def example(cls) -> "Beta":
        """One with a pole at zero, one with a hump."""
        return cls(np.array([0.8, 3.6]), np.array([2.7, 2.2]))
