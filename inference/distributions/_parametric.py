"""Families that are their parameters: storing, indexing, broadcasting and saving them, written once."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from inference.distributions._base import Distribution
from inference.errors import SpecError
from inference.types import Array, Values

P = TypeVar("P", bound="Parametric")


class Parametric(Distribution):
    """A distribution whose parameters are arrays ``(*batch, *own)`` with one batch shape.

    A parameter is kept in the field of its name, or behind an underscore where a method has that name (``mean``).
    """

    layout: ClassVar[dict[str, int]]
    """Every parameter there may be, with the number of its own (non-batch) axes; the first given one has the event."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    _batch: tuple[int, ...]

    def _fill(self, given: Mapping[str, Values]) -> None:
        """Set the parameters as read-only views of one batch shape."""
        own = {name: array.shape[array.ndim - self.layout[name] :] for name, array in given.items()}
        try:
            batch = np.broadcast_shapes(*(a.shape[: a.ndim - self.layout[name]] for name, a in given.items()))
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in given.items())
            raise SpecError(f"{type(self).__name__}: batch shapes do not broadcast: {shapes}") from None
        for name, array in given.items():
            object.__setattr__(self, self._place(name), np.broadcast_to(array, batch + own[name]))
        object.__setattr__(self, "_batch", batch)

    @classmethod
    def _trusted(cls: type[P], **given: Values) -> P:
        """Build from float64 arrays that are known to be valid: no check, no copy."""
        self = object.__new__(cls)
        self._fill(given)
        return self

    @classmethod
    def _place(cls, name: str) -> str:
        return name if name in cls.__dataclass_fields__ else f"_{name}"

    def _parameters(self) -> dict[str, Array]:
        held = self.__dict__
        return {name: held[place] for name in self.layout if (place := self._place(name)) in held}

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The plates."""
        return self._batch

    @property
    def event_shape(self) -> tuple[int, ...]:
        """``()`` of a scalar, ``(d,)`` of a vector."""
        first = next(iter(self._parameters().values()))
        return first.shape[len(self._batch) :]

    def __getitem__(self: P, index: Any) -> P:
        parts = index if isinstance(index, tuple) else (index,)
        picked = {
            name: np.asarray(array[(*parts, *(slice(None),) * self.layout[name])])
            for name, array in self._parameters().items()
        }
        return self._trusted(**picked)

    def broadcast_to(self: P, batch_shape: tuple[int, ...]) -> P:
        """The same distributions under a larger batch shape, without copies."""
        count = len(self._batch)
        wide = {n: np.broadcast_to(a, (*batch_shape, *a.shape[count:])) for n, a in self._parameters().items()}
        return self._trusted(**wide)

    def arrays(self) -> dict[str, Array]:
        """The parameters by name."""
        return self._parameters()

    @classmethod
    def from_arrays(cls: type[P], arrays: dict[str, Array]) -> P:
        """Build again from :meth:`arrays`, with every check."""
        return cls(**arrays)

    def __repr__(self) -> str:
        if self._batch or self.event_shape:
            event = f", event={self.event_shape}" if self.event_shape else ""
            return f"{type(self).__name__}(batch={self._batch}{event})"
        shown = ", ".join(f"{name}={float(value):.6g}" for name, value in self._parameters().items())
        return f"{type(self).__name__}({shown})"
