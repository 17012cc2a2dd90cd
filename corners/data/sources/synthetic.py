"""Drawn tables whose truth is known: the mean function and the noise standard deviation of every row."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.data.dataset import Dataset
from corners.data.sources._base import SOURCES, Entry, Source
from corners.errors import SpecError, UnknownNameError
from corners.registry import unknown_name_message
from corners.types import Array, Float

ROWS = 300


@dataclass(frozen=True)
class Truth:
    """``y = mean(x) + noise_scale(x) e`` with e standard normal.

    ``draw(generator, n)`` gives (n, d) inputs; ``mean`` and ``noise_scale`` map (N, d) inputs to (N,) values.
    """

    formula: str
    d: int
    draw: Callable[[np.random.Generator, int], Array]
    mean: Callable[[Array], Array]
    noise_scale: Callable[[Array], Array]


def _two_intervals(generator: np.random.Generator, n: int) -> Float[Array, "N 1"]:
    """Uniform on [-3, -1] and [1, 3]: nothing is seen between -1 and 1."""
    side = np.where(generator.random((n, 1)) < 0.5, -1.0, 1.0)
    return side * generator.uniform(1.0, 3.0, (n, 1))


def _uniform(d: int) -> Callable[[np.random.Generator, int], Array]:
    return lambda generator, n: generator.uniform(size=(n, d))


def _normal(d: int) -> Callable[[np.random.Generator, int], Array]:
    return lambda generator, n: generator.standard_normal((n, d))


def _constant(scale: float) -> Callable[[Array], Array]:
    return lambda x: np.full(len(x), scale)


def _friedman1(x: Float[Array, "N 10"]) -> Float[Array, " N"]:
    """Friedman (1991), equation 61; columns 5 to 9 do not matter."""
    return 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]


TRUTHS = {
    "friedman1": Truth(
        "y = 10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 + 10 x3 + 5 x4 + e, x0..x9 uniform on [0, 1], e standard normal",
        10,
        _uniform(10),
        _friedman1,
        _constant(1.0),
    ),
    "heteroscedastic_sine": Truth(
        "y = sin(2 pi x) + (0.05 + 0.45 x) e, x uniform on [0, 1], e standard normal",
        1,
        _uniform(1),
        lambda x: np.sin(2 * np.pi * x[:, 0]),
        lambda x: 0.05 + 0.45 * x[:, 0],
    ),
    "linear": Truth(
        "y = 0.5 + x0 - 2 x1 + 0.5 x2 + e, x0..x4 standard normal, e of standard deviation 0.5 (x3, x4 do not matter)",
        5,
        _normal(5),
        lambda x: 0.5 + x[:, 0] - 2.0 * x[:, 1] + 0.5 * x[:, 2],
        _constant(0.5),
    ),
    "sine": Truth(
        "y = sin(2 x) + e, x uniform on [-3, -1] and [1, 3] (a gap between), e of standard deviation 0.3",
        1,
        _two_intervals,
        lambda x: np.sin(2 * x[:, 0]),
        _constant(0.3),
    ),
}


@SOURCES.register("synthetic")
@dataclass(frozen=True)
class SyntheticSource(Source):
    """sine (with a gap), heteroscedastic_sine, linear, friedman1; ``TRUTHS[name]`` is what a perfect model would find.

    Example
    -------
    >>> data = SyntheticSource().load("sine", n=200, seed=3)
    >>> data.source
    'synthetic: sine(n=200, seed=3)'
    >>> TRUTHS["sine"].noise_scale(data.inputs)[:2].tolist()
    [0.3, 0.3]
    """

    order: ClassVar[int] = 30

    @classmethod
    def default(cls) -> "SyntheticSource":
        """Always there."""
        return cls()

    @classmethod
    def example(cls) -> "SyntheticSource":
        """Always there."""
        return cls()

    def entries(self) -> tuple[Entry, ...]:
        """All of them with 300 rows, which ``n`` changes."""
        note = "any n and seed"
        return tuple(Entry(name, "synthetic", "regression", ROWS, truth.d, note) for name, truth in TRUTHS.items())

    def load(self, name: str, *, n: int = ROWS, seed: int = 0) -> Dataset:
        """``n`` rows drawn by ``numpy.random.default_rng(seed)``; UnknownNameError lists the names."""
        if name not in TRUTHS:
            raise UnknownNameError(unknown_name_message("synthetic table", name, list(TRUTHS)))
        if not isinstance(n, int) or n < 1 or not isinstance(seed, int) or seed < 0:
            raise SpecError(f"n is {n!r} and seed is {seed!r}; n must be a whole number from 1, seed one from 0")
        truth = TRUTHS[name]
        generator = np.random.default_rng(seed)
        x = truth.draw(generator, n)
        y = truth.mean(x) + truth.noise_scale(x) * generator.standard_normal(n)
        return Dataset(
            x, y, name, target_name="y", description=truth.formula, source=f"synthetic: {name}(n={n}, seed={seed})"
        )
