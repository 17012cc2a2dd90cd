"""The contract of a predictive distribution: one univariate distribution a data point, in original units."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np

from corners.errors import DataError, SpecError
from corners.types import Array, Float


class Predictive(ABC):
    """Univariate predictive distributions, one a data point.

    Everything is in the original units of the targets; ``log_prob`` is a log density in nats per those units.
    Targets of any other shape than ``(N,)`` are refused (``DataError``): nothing broadcasts to N x N.
    """

    task: ClassVar[Literal["regression", "count"]] = "regression"
    """Which scores make sense of it."""

    @property
    @abstractmethod
    def mean(self) -> Float[Array, " N"]:
        """Predictive means."""

    @property
    @abstractmethod
    def variance(self) -> Float[Array, " N"]:
        """Predictive variances, noise included."""

    @abstractmethod
    def log_prob(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``log p(y_n)`` at the targets."""

    @abstractmethod
    def cdf(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """``P(Y_n ≤ y_n)``: uniform over [0, 1] if the predictive is right (the PIT)."""

    @abstractmethod
    def quantile(self, level: float) -> Float[Array, " N"]:
        """Smallest y with ``P(Y_n ≤ y) ≥ level``, for one level in (0, 1)."""

    @abstractmethod
    def crps(self, targets: Float[Array, " N"]) -> Float[Array, " N"]:
        """Continuous ranked probability score ``∫ (F(t) - 1[y ≤ t])² dt``, in target units."""

    @abstractmethod
    def sample(self, count: int, generator: np.random.Generator) -> Float[Array, "S N"]:
        """``count`` independent draws a data point; a predictive may share randomness between data points."""


def require_moments(means: Array, variances: Array, dimensions: int) -> tuple[Array, Array]:
    """Means and variances as float64 arrays of one shape, finite, variances positive; ``DataError`` otherwise."""
    means, variances = np.asarray(means, np.float64), np.asarray(variances, np.float64)
    if means.ndim != dimensions or means.shape != variances.shape or means.size == 0:
        letters = "(N,)" if dimensions == 1 else "(S, N)"
        raise DataError(
            f"predictive means and variances must share one shape {letters} with at least one entry; "
            f"got {means.shape} and {variances.shape}"
        )
    _refuse("mean", "finite", means, np.isfinite(means))
    _refuse("variance", "positive and finite", variances, np.isfinite(variances) & (variances > 0.0))
    return means, variances


def require_targets(targets: Array, count: int) -> Array:
    """Targets as float64 of shape ``(count,)``; any other shape is a ``DataError`` that names both shapes."""
    targets = np.asarray(targets, np.float64)
    if targets.shape != (count,):
        raise DataError(f"targets must have shape ({count},), one a data point; got {targets.shape}; use .ravel()")
    return targets


def require_level(level: float) -> float:
    """A probability strictly between 0 and 1, or a ``SpecError``."""
    if not 0.0 < level < 1.0:
        raise SpecError(f"a quantile level must lie strictly between 0 and 1; got {level}")
    return level


def _refuse(what: str, allowed: str, values: Array, good: Array) -> None:
    if good.all():
        return
    first = tuple(int(i) for i in np.argwhere(~good)[0])
    raise DataError(
        f"predictive {what} must be {allowed}; {int((~good).sum())} of {good.size} are not "
        f"(first at point {first[-1]}: {values[first]}); the fit diverged or its noise underflowed"
    )
