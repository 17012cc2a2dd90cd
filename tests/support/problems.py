"""Tiny splits, generators and schedules that the tests of the engines share."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from corners.data.split import Part, Split
from corners.optimise import Schedule
from corners.protocols import Protocol

SHORT = Schedule(learning_rate=0.02, max_steps=30, patience=10, threshold=1e-6, trace_every=1)
TINY_PROTOCOL = Protocol("tiny", learning_rate=0.03, max_steps=12, patience=6)


def tiny_split(
    seed: int = 0, *, rows: tuple[int, int, int] = (12, 6, 5), columns: int = 2, name: str = "tiny"
) -> Split:
    """A smooth function of ``columns`` inputs with noise, in units far from standard ones."""
    generator = np.random.default_rng(seed)

    def part(count: int) -> Part:
        inputs = 3.0 + 2.0 * generator.normal(size=(count, columns))
        mean = 40.0 + 6.0 * np.sin(inputs[:, 0]) + 2.0 * inputs[:, -1]
        return Part(inputs, mean + 1.5 * generator.normal(size=count))

    return Split(part(rows[0]), part(rows[1]), part(rows[2]), name, seed=seed)


def generators(*seeds: int) -> list[torch.Generator]:
    """A fresh generator a seed."""
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def real(*values: float) -> Tensor:
    """Numbers in double precision (``torch.tensor`` alone would round them to single)."""
    return torch.tensor(values, dtype=torch.float64)


def batch(arrays: Sequence[np.ndarray] | np.ndarray) -> Tensor:
    """One array a replicate, stacked."""
    return torch.tensor(np.stack(list(arrays)), dtype=torch.float64)


def assert_close(
    actual: Tensor | np.ndarray, expected: Tensor | np.ndarray | float, *, rel: float = 1e-10, abs_: float = 1e-12
) -> None:
    """Equal within rounding that has been amplified a little; shapes must match."""
    one, other = (np.asarray(each.detach() if isinstance(each, Tensor) else each) for each in (actual, expected))
    assert one.shape == other.shape, f"shapes {one.shape} and {other.shape}"
    np.testing.assert_allclose(one, other, rtol=rel, atol=abs_)
