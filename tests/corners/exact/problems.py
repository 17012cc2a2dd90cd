"""Small problems that the tests of this folder share, in every shape: N above, at and below H, rank-deficient, empty
columns.
"""

from typing import NamedTuple

import numpy as np
import pytest


class Problem(NamedTuple):
    """Features, targets and hyperparameters that are neither 0 nor 1."""

    features: np.ndarray
    targets: np.ndarray
    precision: float
    noise_var: float

    @property
    def noise_scale(self) -> float:
        return self.noise_var**0.5

    @property
    def arguments(self) -> tuple[np.ndarray, np.ndarray, float, float]:
        """In the order of the functions under test: the noise as a standard deviation."""
        return self.features, self.targets, self.precision, self.noise_scale


def problem(rows: int, width: int, *, rank: int | None = None, seed: int = 0, precision=1.3, noise_var=0.17) -> Problem:
    """Normal features of a given rank and targets that follow them with noise."""
    generator = np.random.default_rng([seed, rows, width])
    features = generator.standard_normal((rows, width))
    if rank is not None:
        features = generator.standard_normal((rows, rank)) @ generator.standard_normal((rank, width))
    targets = features @ generator.standard_normal(width) + 0.4 * generator.standard_normal(rows)
    return Problem(features, targets, precision, noise_var)


EVERY_SHAPE = [
    pytest.param(problem(12, 4), id="N>H"),
    pytest.param(problem(5, 6), id="N<H"),
    pytest.param(problem(6, 6), id="N=H"),
    pytest.param(problem(1, 1), id="N=H=1"),
    pytest.param(problem(1, 4), id="N=1"),
    pytest.param(problem(7, 1), id="H=1"),
    pytest.param(problem(9, 5, rank=2), id="rank 2, N>H"),
    pytest.param(problem(5, 8, rank=2), id="rank 2, N<H"),
    pytest.param(problem(6, 3, rank=0), id="zero features"),
    pytest.param(problem(10, 3, precision=40.0, noise_var=5.0), id="strong ridge"),
]
