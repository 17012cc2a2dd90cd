"""The log-normal: what a Gaussian says of its exponential."""

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
class LogNormal(Parametric):
    """``x = e^z`` with ``z ~ N(m, v)``: ``m`` is ``log_mean``, ``v`` is ``log_var`` (message_passing 1.1).

    Raises
    ------
    SpecError : log_mean is not finite, log_var not positive and finite, or their shapes do not broadcast.

    Example
    -------
    >>> x = LogNormal(log_mean=-1.0, log_var=2.0)
    >>> float(x.mean()), float(x.mean_log())
    (1.0, -1.0)
    """

    support: ClassVar[str] = "positive"
    layout: ClassVar[dict[str, int]] = {"log_mean": 0, "log_var": 0}
    log_mean: Array
    log_var: Array

    def __init__(self, log_mean: Numbers, log_var: Numbers) -> None:
        cls = type(self)
        self._fill({"log_mean": finite(cls, "log_mean", log_mean), "log_var": positive(cls, "log_var", log_var)})

    def mean(self) -> Array:
        """``exp(m + v/2)``; inf where that overflows."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.log_mean + 0.5 * self.log_var))

    def var(self) -> Array:
        """``(e^v - 1) exp(2m + v)``; inf where that overflows."""
        with np.errstate(over="ignore"):
            excess = self.log_var + np.log(-np.expm1(-self.log_var))
            return np.asarray(np.exp(excess + 2.0 * self.log_mean + self.log_var))

    def mode(self) -> Array:
        """``exp(m - v)``."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.log_mean - self.log_var))

    def mean_log(self) -> Array:
        """``E log x = m``."""
        return self.log_mean

    def var_log(self) -> Array:
        """``Var log x = v``."""
        return self.log_var

    def mean_inverse(self) -> Array:
        """``E 1/x = exp(-m + v/2)``; inf where that overflows."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(0.5 * self.log_var - self.log_mean))

    def logpdf(self, x: Numbers) -> Array:
        """``-1/2 (log 2 pi v + (log x - m)^2/v) - log x``."""
        given = np.asarray(x, np.float64)
        log_x = np.log(np.where(given <= 0.0, 1.0, given))
        density = -0.5 * (LOG_2PI + np.log(self.log_var) + (log_x - self.log_mean) ** 2 / self.log_var) - log_x
        return np.where(given <= 0.0, -np.inf, density)

    def cdf(self, x: Numbers) -> Array:
        """``Phi((log x - m)/sqrt v)``."""
        with np.errstate(divide="ignore"):
            log_x = np.log(np.maximum(np.asarray(x, np.float64), 0.0))
        return np.asarray(special.ndtr((log_x - self.log_mean) / np.sqrt(self.log_var)))

    def quantile(self, q: Numbers) -> Array:
        """``exp(m + sqrt(v) Phi^-1(q))``."""
        level = levels(type(self), q, self._batch, ())
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.log_mean + np.sqrt(self.log_var) * special.ndtri(level)))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` draws."""
        noise = rng.standard_normal((n, *self._batch))
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.log_mean + np.sqrt(self.log_var) * noise))

    def entropy(self) -> Array:
        """``H[z] + E z = 1/2 log(2 pi e v) + m``."""
        return np.asarray(0.5 * (LOG_2PI + 1.0 + np.log(self.log_var)) + self.log_mean)

    @classmethod
    def example(cls) -> "LogNormal":
        """Two of small spread, whose moments a sample can reach."""
        return cls(np.array([-0.4, 1.3]), np.array([0.09, 0.35]))
