"""The gamma distribution, by shape and rate."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from inference.distributions._base import Numbers
from inference.distributions._checks import levels, positive
from inference.distributions._parametric import Parametric
from inference.distributions._special import standard_gamma_entropy, trigamma
from inference.types import Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Gamma(Parametric):
    """``Ga(x | a, b) = b^a / Gamma(a) x^(a-1) e^(-b x)``: shape a, RATE b (message_passing, conventions and 1.1).

    Raises
    ------
    SpecError : a parameter is not positive and finite, or their shapes do not broadcast.

    Example
    -------
    >>> g = Gamma(shape=3.0, rate=2.0)
    >>> float(g.mean()), float(g.mean_inverse())
    (1.5, 1.0)
    """

    support: ClassVar[str] = "positive"
    layout: ClassVar[dict[str, int]] = {"shape": 0, "rate": 0}
    shape: Array
    rate: Array

    def __init__(self, shape: Numbers, rate: Numbers) -> None:
        cls = type(self)
        self._fill({"shape": positive(cls, "shape", shape), "rate": positive(cls, "rate", rate)})

    def mean(self) -> Array:
        """``a/b``."""
        return np.asarray(self.shape / self.rate)

    def var(self) -> Array:
        """``a/b^2``."""
        return np.asarray(self.shape / self.rate**2)

    def mode(self) -> Array:
        """``(a-1)/b``, 0 where a <= 1."""
        return np.asarray(np.maximum(self.shape - 1.0, 0.0) / self.rate)

    def mean_log(self) -> Array:
        """``E log x = psi(a) - log b``."""
        return np.asarray(special.digamma(self.shape) - np.log(self.rate))

    def var_log(self) -> Array:
        """``Var log x = psi1(a)``."""
        return trigamma(self.shape)

    def mean_inverse(self) -> Array:
        """``E 1/x = b/(a-1)``; nan where a <= 1, as there is none."""
        exists = self.shape > 1.0
        return np.where(exists, self.rate / np.where(exists, self.shape - 1.0, 1.0), np.nan)

    def logpdf(self, x: Numbers) -> Array:
        """``a log b - lgamma(a) + (a-1) log x - b x``."""
        given = np.asarray(x, np.float64)
        inside = np.where(given < 0.0, 1.0, given)
        constant = self.shape * np.log(self.rate) - special.gammaln(self.shape)
        density = constant + special.xlogy(self.shape - 1.0, inside) - self.rate * inside
        return np.where(given < 0.0, -np.inf, density)

    def cdf(self, x: Numbers) -> Array:
        """``P(a, b x)``, the regularised incomplete gamma function."""
        return np.asarray(special.gammainc(self.shape, self.rate * np.maximum(np.asarray(x, np.float64), 0.0)))

    def quantile(self, q: Numbers) -> Array:
        """``P^-1(a, q)/b``."""
        return np.asarray(special.gammaincinv(self.shape, levels(type(self), q, self._batch, ())) / self.rate)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` draws."""
        return np.asarray(rng.standard_gamma(self.shape, size=(n, *self._batch)) / self.rate)

    def entropy(self) -> Array:
        """``a - log b + lgamma(a) + (1-a) psi(a)``."""
        return np.asarray(standard_gamma_entropy(self.shape) - np.log(self.rate))

    @classmethod
    def example(cls) -> "Gamma":
        """One with a pole at zero, one without."""
        return cls(np.array([0.7, 3.3]), np.array([0.4, 2.9]))
