"""Two interleaved half circles: the table on which a classifier's uncertainty can be looked at in the plane."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.data.dataset import Dataset
from corners.data.sources._base import SOURCES, Entry, Source
from corners.errors import SpecError, UnknownNameError
from corners.registry import unknown_name_message

NAME, ROWS, NOISE = "two_moons", 300, 0.2


@SOURCES.register("two_moons")
@dataclass(frozen=True)
class TwoMoonsSource(Source):
    """scikit-learn's ``make_moons``: two classes, two columns, Gaussian noise of the given scale on both.

    Example
    -------
    >>> TwoMoonsSource().load("two_moons", n=100, seed=3).source
    'synthetic: two_moons(n=100, noise=0.2, seed=3)'
    """

    order: ClassVar[int] = 31

    @classmethod
    def default(cls) -> "TwoMoonsSource":
        """Always there."""
        return cls()

    @classmethod
    def example(cls) -> "TwoMoonsSource":
        """Always there."""
        return cls()

    def entries(self) -> tuple[Entry, ...]:
        """The one table with 300 rows, which ``n`` changes."""
        return (Entry(NAME, "two_moons", "classification", ROWS, 2, "any n, noise and seed"),)

    def load(self, name: str, *, n: int = ROWS, noise: float = NOISE, seed: int = 0) -> Dataset:
        """``n`` rows drawn with the seed; ``noise`` is a standard deviation, and the half circles have radius 1.

        Raises
        ------
        UnknownNameError : another name.  SpecError : fewer than two rows, a negative noise or seed.
        """
        if name != NAME:
            raise UnknownNameError(unknown_name_message("synthetic table", name, [NAME]))
        if not isinstance(n, int) or n < 2 or not isinstance(seed, int) or seed < 0 or not 0.0 <= noise < float("inf"):
            raise SpecError(
                f"n is {n!r}, noise {noise!r} and seed {seed!r}; n must be a whole number from 2, noise a standard "
                "deviation from 0, and seed a whole number from 0"
            )
        from sklearn.datasets import make_moons

        inputs, classes = make_moons(n_samples=n, noise=noise, random_state=seed)
        return Dataset(
            np.asarray(inputs),
            np.asarray(classes, np.float64),
            NAME,
            task="classification",
            labels=("outer", "inner"),
            description=f"two interleaved half circles of radius 1 with Gaussian noise of scale {noise:g}",
            source=f"synthetic: {NAME}(n={n}, noise={noise:g}, seed={seed})",
        )
