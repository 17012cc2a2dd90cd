"""The contract of a distribution: an immutable value, batched, that travels on edges and comes out as a posterior."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from inference.errors import SpecError
from inference.types import Array

Numbers = ArrayLike | float | int
"""What numpy can turn into real numbers (spelt out, as run-time checks do not take a float for a complex)."""

D = TypeVar("D", bound="Distribution")


class Distribution(ABC):
    """A batch of distributions of one family; every array it holds or returns is float64.

    Arrays are ``(*batch, *event)``; the event is ``()`` or ``(d,)``. Points broadcast against batch and event from the
    left, so a grid ``(G, *batch, *event)`` is fine. Construction refuses what is not a distribution (``SpecError``).
    """

    support: ClassVar[str]
    """Where the mass lies: ``real``, ``positive``, ``unit``, ``binary``, ``point`` or ``joint``."""

    @property
    @abstractmethod
    def batch_shape(self) -> tuple[int, ...]:
        """The plates: one distribution each."""

    @property
    @abstractmethod
    def event_shape(self) -> tuple[int, ...]:
        """``()`` of a scalar, ``(d,)`` of a vector."""

    @abstractmethod
    def mean(self) -> Array:
        """Means, ``(*batch, *event)``."""

    @abstractmethod
    def var(self) -> Array:
        """Variances of the coordinates, ``(*batch, *event)``."""

    def std(self) -> Array:
        """Standard deviations of the coordinates, ``(*batch, *event)``."""
        return np.asarray(np.sqrt(self.var()))

    @abstractmethod
    def logpdf(self, x: Any) -> Array:
        """Log density (log mass of a discrete family) at x, one a batch entry; ``-inf`` outside the support."""

    @abstractmethod
    def cdf(self, x: Numbers) -> Array:
        """``P(X <= x)`` of every coordinate, ``(*batch, *event)``."""

    @abstractmethod
    def quantile(self, q: Numbers) -> Array:
        """Quantiles of every coordinate at levels in [0, 1], ``(*q.shape, *batch, *event)``."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Any:
        """``n`` independent draws, ``(n, *batch, *event)`` (a pair of such arrays of a joint family)."""

    @abstractmethod
    def entropy(self) -> Array:
        """Entropy in nats, ``(*batch,)``."""

    @abstractmethod
    def __getitem__(self: D, index: Any) -> D:
        """The part of the batch that numpy would pick; the event is not indexed."""

    @abstractmethod
    def broadcast_to(self: D, batch_shape: tuple[int, ...]) -> D:
        """The same distributions under a larger batch shape, without copies."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """Everything needed to build it again, as named arrays."""

    @classmethod
    @abstractmethod
    def from_arrays(cls: type[D], arrays: dict[str, Array]) -> D:
        """The inverse of :meth:`arrays`; checks what it is given as the constructor does."""

    @classmethod
    @abstractmethod
    def example(cls: type[D]) -> D:
        """A small batch that differs from entry to entry, for laws and documentation."""

    @staticmethod
    def named(name: str) -> "type[Distribution]":
        """The family of that class name; an unknown one is refused with the names there are (``SpecError``)."""
        known: dict[str, type[Distribution]] = {}
        waiting: list[type[Distribution]] = [Distribution]
        while waiting:
            family = waiting.pop()
            waiting.extend(family.__subclasses__())
            known[family.__name__] = family
        final = {key: family for key, family in known.items() if not family.__subclasses__()}
        if name not in final:
            raise SpecError(f"there is no distribution {name!r}; there are {', '.join(sorted(final))}")
        return final[name]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles go through the arrays, so they are as read-only as the original."""
        return type(self).from_arrays, (self.arrays(),)

    @abstractmethod
    def __repr__(self) -> str:
        """One short line: the parameters of a single scalar, the shapes of anything larger."""
