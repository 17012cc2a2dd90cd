"""The univariate Gaussian."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from inference.distributions._base import Numbers
from inference.distributions._checks import finite, levels, positive
from inference.distributions._parametric import Parametric
from inference.distributions._special import LOG_2PI
from inference.types import Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Normal(Parametric):
    """``N(x | m, v)``, by mean and variance (message_passing, conventions).

    Raises
    ------
    SpecError : a mean is not finite, a variance not positive and finite, or their shapes do not broadcast.

    Example
    -------
    >>> Normal(mean=1.0, var=4.0)
    Normal(mean=1, var=4)
    >>> float(Normal.from_natural(linear=0.5, precision=0.25).mean())
    2.0
    """

    support: ClassVar[str] = "real"
    layout: ClassVar[dict[str, int]] = {"mean": 0, "var": 0}
    _mean: Array
    _var: Array

    def __init__(self, mean: Numbers, var: Numbers) -> None:
        cls = type(self)
        self._fill({"mean": finite(cls, "mean", mean), "var": positive(cls, "var", var)})

    @classmethod
    def from_natural(cls, linear: Numbers, precision: Numbers) -> "Normal":
        """``N^-1(h, L)``: mean ``h/L``, variance ``1/L``; L must be positive."""
        held = positive(cls, "precision", precision)
        return cls(finite(cls, "linear", linear) / held, 1.0 / held)

    @property
    def precision(self) -> Array:
        """``1/v``."""
        return np.asarray(1.0 / self._var)

    def mean(self) -> Array:
        """``m``."""
        return self._mean

    def var(self) -> Array:
        """``v``."""
        return self._var

    def logpdf(self, x: Numbers) -> Array:
        """``-1/2 (log 2 pi v + (x - m)^2/v)``."""
        return np.asarray(-0.5 * (LOG_2PI + np.log(self._var) + self._standard(x) ** 2))

    def cdf(self, x: Numbers) -> Array:
        """``Phi((x - m)/sqrt v)``."""
        return np.asarray(special.ndtr(self._standard(x)))

    def quantile(self, q: Numbers) -> Array:
        """``m + sqrt(v) Phi^-1(q)``."""
        return np.asarray(self._mean + self.std() * special.ndtri(levels(type(self), q, self._batch, ())))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` draws."""
        return np.asarray(self._mean + self.std() * rng.standard_normal((n, *self._batch)))

    def entropy(self) -> Array:
        """``1/2 log(2 pi e v)`` (message_passing 1.1)."""
        return np.asarray(0.5 * (LOG_2PI + 1.0 + np.log(self._var)))

    @classmethod
    def example(cls) -> "Normal":
        """Two, far from the standard normal."""
        return cls(np.array([-0.7, 2.3]), np.array([0.3, 5.1]))

    def _standard(self, x: Numbers) -> Array:
        return np.asarray((np.asarray(x, np.float64) - self._mean) / np.sqrt(self._var))
