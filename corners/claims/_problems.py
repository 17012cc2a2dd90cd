"""What a claim is checked on: a last layer on fixed features, drawn with a seed or a user's own."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from corners.errors import DataError, SpecError
from corners.exact import Evidence
from corners.types import Array, Float

if TYPE_CHECKING:
    from corners.data.dataset import Dataset

ROWS_AT_MOST = 400
"""Rows of a table that a claim looks at: some oracles are dense in the rows."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A Gaussian last layer ``y_n = wᵀψ_n + e_n``, ``w ~ N(0, I/α)``, ``e_n ~ N(0, σ²)`` on fixed features.

    Attributes
    ----------
    name : what it is called in a ledger.
    features, targets : (N, H) and (N,), finite.
    prior_precision, noise_scale : α, and σ as a standard deviation in the units of the targets.
    seed : of whatever the claim draws.

    Raises
    ------
    SpecError : shapes that do not fit, numbers that are not finite, a hyperparameter that is not positive.

    Example
    -------
    >>> Problem("two points", np.eye(2), np.ones(2)).noise_var
    0.25
    """

    name: str
    features: Float[Array, "N H"]
    targets: Float[Array, " N"]
    prior_precision: float = 1.0
    noise_scale: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        features, targets = checked_arrays(self.features, self.targets)
        if not (0.0 < self.prior_precision < np.inf and 0.0 < self.noise_scale < np.inf):
            raise SpecError(
                f"prior_precision and noise_scale must be positive and finite; got {self.prior_precision} and "
                f"{self.noise_scale}"
            )
        for name, values in (("features", features), ("targets", targets)):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @property
    def noise_var(self) -> float:
        """``σ²``."""
        return self.noise_scale**2

    @property
    def rows(self) -> int:
        """N."""
        return self.features.shape[0]

    @property
    def width(self) -> int:
        """H."""
        return self.features.shape[1]

    def generator(self) -> np.random.Generator:
        """A generator of the problem's seed, new at every call."""
        return np.random.default_rng(self.seed)


def checked_arrays(features: ArrayLike, targets: ArrayLike) -> tuple[Float[Array, "N H"], Float[Array, " N"]]:
    """Copies in float64, of shapes that fit, all finite; else a SpecError."""
    features, targets = np.array(features, np.float64), np.array(targets, np.float64)
    if features.ndim != 2 or targets.shape != features.shape[:1] or not features.size:
        raise SpecError(
            f"a problem needs features (N, H) and targets (N,), at least one of each; got {features.shape} and "
            f"{targets.shape}"
        )
    if not (np.isfinite(features).all() and np.isfinite(targets).all()):
        raise SpecError("features and targets of a problem must be finite; drop or fill what is not")
    return features, targets


def drawn_problem(
    name: str,
    *,
    rows: int = 60,
    width: int = 8,
    seed: int = 0,
    prior_precision: float = 1.0,
    noise_scale: float = 0.5,
) -> Problem:
    """Features ``tanh(W x)`` of four Gaussian inputs, targets from the model itself.

    Example
    -------
    >>> drawn_problem("tiny", rows=5, width=2).features.shape
    (5, 2)
    """
    generator = np.random.default_rng(seed)
    features = np.tanh(generator.normal(size=(rows, 4)) @ generator.normal(size=(4, width)))
    weights = generator.normal(size=width) / np.sqrt(prior_precision)
    targets = features @ weights + noise_scale * generator.normal(size=rows)
    return Problem(name, features, targets, prior_precision, noise_scale, seed)


def problem_of(dataset: "Dataset", *, units: int = 0, seed: int = 0) -> Problem:
    """A user's table as a problem: standardised inputs, or ``units`` fixed random tanh units of them.

    Targets are standardised. The hyperparameters are those of the largest evidence; where they run away (nothing to
    learn) or the noise vanishes they stay at 1 and 0.5. Of a long table 400 rows are taken at random by ``seed``.

    Raises
    ------
    DataError : a table whose targets are not one number each, or are constant.

    Example
    -------
    >>> import corners
    >>> problem_of(corners.load("diabetes"), units=20).features.shape
    (400, 20)
    """
    if dataset.task != "regression" or dataset.targets.ndim != 1:
        raise DataError(
            f"claims are checked on one number a row, and {dataset.name} is a table of task {dataset.task!r} with "
            f"targets of shape {dataset.targets.shape}; give a regression table with one target"
        )
    generator = np.random.default_rng(seed)
    chosen = np.sort(generator.permutation(len(dataset.targets))[:ROWS_AT_MOST])
    inputs, targets = np.asarray(dataset.inputs, np.float64)[chosen], np.asarray(dataset.targets, np.float64)[chosen]
    inputs = inputs[:, inputs.std(axis=0) > 1e-10]
    if targets.std() == 0.0 or not inputs.size:
        raise DataError(f"{dataset.name} has constant targets or no column that varies: there is nothing to claim")
    inputs = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    targets = (targets - targets.mean()) / targets.std()
    features = inputs
    if units:
        features = np.tanh(inputs @ (generator.normal(size=(inputs.shape[1], units)) / np.sqrt(inputs.shape[1])))
    found = Evidence(features, targets).maximise()
    usable = np.isfinite(found.prior_precision) and found.noise_scale > 1e-3
    precision, scale = (found.prior_precision, found.noise_scale) if usable else (1.0, 0.5)
    return Problem(dataset.name, features, targets, precision, scale, seed)
