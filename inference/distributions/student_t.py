"""Student's t with location and scale: the predictive of a normal-gamma belief."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from inference.distributions._base import Numbers
from inference.distributions._checks import finite, levels, positive
from inference.distributions._parametric import Parametric
from inference.distributions._special import half_step_digamma, log_student_normaliser
from inference.types import Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class StudentT(Parametric):
    """``t_df((x - loc)/scale)/scale``; ``scale`` is not the standard deviation (message_passing 5.3).

    Raises
    ------
    SpecError : df or scale is not positive and finite, loc not finite, or their shapes do not broadcast.

    Example
    -------
    >>> float(StudentT(df=4.0, loc=1.0, scale=3.0).var())
    18.0
    """

    support: ClassVar[str] = "real"
    layout: ClassVar[dict[str, int]] = {"df": 0, "loc": 0, "scale": 0}
    df: Array
    loc: Array
    scale: Array

    def __init__(self, df: Numbers, loc: Numbers, scale: Numbers) -> None:
        cls = type(self)
        given = {"df": positive(cls, "df", df), "loc": finite(cls, "loc", loc), "scale": positive(cls, "scale", scale)}
        self._fill(given)

    def mean(self) -> Array:
        """``loc``; nan where df <= 1, as there is none."""
        return np.where(self.df > 1.0, self.loc, np.nan)

    def var(self) -> Array:
        """``scale^2 df/(df-2)``; inf where 1 < df <= 2, nan where df <= 1."""
        exists = self.df > 2.0
        value = self.scale**2 * self.df / np.where(exists, self.df - 2.0, 1.0)
        return np.where(exists, value, np.where(self.df > 1.0, np.inf, np.nan))

    def logpdf(self, x: Numbers) -> Array:
        """``-log(sqrt(df) B(1/2, df/2)) - log scale - (df+1)/2 log(1 + t^2/df)``."""
        kernel = 0.5 * (self.df + 1.0) * np.log1p(self._standard(x) ** 2 / self.df)
        return np.asarray(-log_student_normaliser(self.df) - np.log(self.scale) - kernel)

    def cdf(self, x: Numbers) -> Array:
        """Student's distribution function."""
        return np.asarray(special.stdtr(self.df, self._standard(x)))

    def quantile(self, q: Numbers) -> Array:
        """``loc + scale t_df^-1(q)``."""
        level = levels(type(self), q, self._batch, ())
        inner = special.stdtrit(self.df, np.where((level > 0.0) & (level < 1.0), level, 0.5))
        return np.asarray(self.loc + self.scale * np.where(level > 0.0, np.where(level < 1.0, inner, np.inf), -np.inf))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` draws."""
        return np.asarray(self.loc + self.scale * rng.standard_t(self.df, size=(n, *self._batch)))

    def entropy(self) -> Array:
        """``(df+1)/2 [psi((df+1)/2) - psi(df/2)] + log(sqrt(df) B(1/2, df/2)) + log scale``."""
        slope = 0.5 * (self.df + 1.0) * half_step_digamma(np.asarray(0.5 * self.df))
        return np.asarray(slope + log_student_normaliser(self.df) + np.log(self.scale))

    @classmethod
    def example(cls) -> "StudentT":
        """Tails light enough for the fourth moment, which judges a sampled variance."""
        return cls(np.array([9.5, 14.0]), np.array([-0.8, 2.1]), np.array([0.6, 1.9]))

    def _standard(self, x: Numbers) -> Array:
        return np.asarray((np.asarray(x, np.float64) - self.loc) / self.scale)
