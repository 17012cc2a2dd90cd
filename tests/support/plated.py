"""Random plates: sizes, the axes to be summed, a mask, and arrays that vary along some of the plates."""

from dataclasses import dataclass, replace
from typing import Any

import hypothesis.strategies as st
import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Plated:
    """A factor over plates."""

    sizes: tuple[int, ...]
    axes: tuple[int, ...]
    mask: Array | None
    rng: np.random.Generator

    def array(self, event: tuple[int, ...]) -> Array:
        """Numbers over the plates, of size 1 where they do not vary, and an event."""
        plates = tuple(size if self.rng.random() < 0.6 else 1 for size in self.sizes)
        return self.rng.normal(size=plates + event)

    @property
    def unmasked(self) -> "Plated":
        """The same where every factor is present."""
        return replace(self, mask=None)


@st.composite
def plated(draw: Any) -> Plated:
    """Up to three plates of one to four entries."""
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    axes = tuple(k for k in range(len(sizes)) if draw(st.booleans()))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = tuple(size if draw(st.booleans()) else 1 for size in sizes)
    mask = (rng.random(shape) < 0.6).astype(np.float64) if draw(st.booleans()) else None
    return Plated(sizes, axes, mask, rng)


def formed_total(array: Array, p: Plated, event_ndim: int) -> Array:
    """The sum from its definition: everything spread over the plates, masked, and added."""
    event = array.shape[array.ndim - event_ndim :]
    spread = np.broadcast_to(array, p.sizes + event)
    mask = np.broadcast_to(np.ones(()) if p.mask is None else p.mask, p.sizes)
    return (spread * mask.reshape(mask.shape + (1,) * event_ndim)).sum(axis=p.axes, keepdims=True)
