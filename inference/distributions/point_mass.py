"""A known value, as the distribution it is."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from inference.distributions._base import Distribution, Numbers
from inference.distributions._checks import finite, levels, points
from inference.errors import SpecError
from inference.types import Array


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PointMass(Distribution):
    """All mass at ``value``: the last ``event_ndim`` (0 or 1) axes are the event, the others the batch.

    Its entropy counts as zero: the free energy treats it as absent, never as minus infinity (message_passing 1.7).
    ``logpdf`` is the log mass, 0 at the value and ``-inf`` elsewhere.

    Raises
    ------
    SpecError : a value is not finite, or has fewer axes than event_ndim.

    Example
    -------
    >>> PointMass(2.0).mean_inverse().tolist(), PointMass([1.0, 2.0], event_ndim=1).entropy().tolist()
    (0.5, 0.0)
    """

    support: ClassVar[str] = "point"
    value: Array
    event_ndim: int

    def __init__(self, value: Numbers, event_ndim: int = 0) -> None:
        held = finite(type(self), "value", value)
        if event_ndim not in (0, 1) or held.ndim < event_ndim:
            raise SpecError(f"PointMass: event_ndim must be 0, or 1 with a value of an axis or more; got {event_ndim}")
        self._fill(held, int(event_ndim))

    def _fill(self, value: Array, event_ndim: int) -> None:
        object.__setattr__(self, "value", np.broadcast_to(value, value.shape))
        object.__setattr__(self, "event_ndim", event_ndim)

    @classmethod
    def _trusted(cls, value: Array, event_ndim: int = 0) -> "PointMass":
        self = object.__new__(cls)
        self._fill(value, event_ndim)
        return self

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The plates."""
        return self.value.shape[: self.value.ndim - self.event_ndim]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """``()`` or ``(d,)``."""
        return self.value.shape[self.value.ndim - self.event_ndim :]

    def mean(self) -> Array:
        """The value."""
        return self.value

    def var(self) -> Array:
        """Zeros."""
        return np.zeros(self.value.shape)

    def mean_log(self) -> Array:
        """``log c``; ``-inf`` at zero, nan below."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(self.value))

    def mean_log1m(self) -> Array:
        """``log(1 - c)``; ``-inf`` at one, nan above."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log1p(-self.value))

    def var_log(self) -> Array:
        """Zeros."""
        return np.zeros(self.value.shape)

    def mean_inverse(self) -> Array:
        """``1/c``; inf at zero."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / self.value)

    def logpdf(self, x: Numbers) -> Array:
        """0 at the value, ``-inf`` elsewhere."""
        same = points(type(self), x, self.event_shape) == self.value
        return np.where(same.all(axis=-1) if self.event_ndim else same, 0.0, -np.inf)

    def cdf(self, x: Numbers) -> Array:
        """0 below the value, 1 from it on."""
        return np.asarray(points(type(self), x, self.event_shape) >= self.value, dtype=np.float64)

    def quantile(self, q: Numbers) -> Array:
        """The value at every level."""
        level = levels(type(self), q, self.batch_shape, self.event_shape)
        return np.broadcast_to(self.value, np.broadcast_shapes(level.shape, self.value.shape))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """The value ``n`` times; the generator is not touched."""
        return np.broadcast_to(self.value, (n, *self.value.shape)).copy()

    def entropy(self) -> Array:
        """Zeros: treated as absent (message_passing 1.7)."""
        return np.zeros(self.batch_shape)

    def __getitem__(self, index: Any) -> "PointMass":
        parts = index if isinstance(index, tuple) else (index,)
        return self._trusted(np.asarray(self.value[(*parts, *(slice(None),) * self.event_ndim)]), self.event_ndim)

    def broadcast_to(self, batch_shape: tuple[int, ...]) -> "PointMass":
        """The same values under a larger batch shape, without copies."""
        return self._trusted(np.broadcast_to(self.value, (*batch_shape, *self.event_shape)), self.event_ndim)

    def arrays(self) -> dict[str, Array]:
        """``value`` and ``event_ndim``."""
        return {"value": self.value, "event_ndim": np.asarray(float(self.event_ndim))}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "PointMass":
        """Build again from :meth:`arrays`."""
        return cls(arrays["value"], int(arrays["event_ndim"]))

    @classmethod
    def example(cls) -> "PointMass":
        """Two positive values."""
        return cls(np.array([0.6, 3.4]))

    def __repr__(self) -> str:
        if not self.value.ndim:
            return f"PointMass(value={float(self.value):.6g})"
        event = f", event={self.event_shape}" if self.event_ndim else ""
        return f"PointMass(batch={self.batch_shape}{event})"
