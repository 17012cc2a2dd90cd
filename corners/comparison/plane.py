"""What classifiers say over a plane of two inputs: the probability of the second class wherever one looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corners.errors import DataError
from corners.method import Fit
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array, Float

if TYPE_CHECKING:
    from corners.data.split import Split

MARGIN = 0.6
"""How far the plane reaches beyond the data on every side, in widths of the data: where a belief should be unsure."""
CELLS = 60
CERTAIN = 0.95


@dataclass(frozen=True)
class Plane:
    """``P(second class)`` of one fit on a grid of both inputs; ``probability[i, j]`` belongs to ``across[j], up[i]``.

    ``certain_far`` is the share of the plane outside the box of the training inputs where either class has more than
    95 %: a network without a belief is sure there of what it has never seen.
    """

    across: Float[Array, " A"]
    up: Float[Array, " U"]
    probability: Float[Array, "U A"]
    certain_far: float


def plane(fit: Fit, replicate: int, split: "Split") -> Plane:
    """The fit's probabilities on and around its training inputs.

    Raises
    ------
    DataError : not two inputs and two classes, or the fit gives no class probabilities.

    Example
    -------
    >>> MARGIN, CELLS
    (0.6, 60)
    """
    inputs = split.train.inputs
    if split.d != 2 or split.labels is None or len(split.labels) != 2:
        raise DataError(f"a plane is drawn of two inputs and two classes; {split.name!r} has {split.d} inputs")
    low, high = inputs.min(axis=0), inputs.max(axis=0)
    across, up = (
        np.linspace(a - MARGIN * (b - a), b + MARGIN * (b - a), CELLS) for a, b in zip(low, high, strict=True)
    )
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    predictive = fit.predict(grid, replicate=replicate)
    if not isinstance(predictive, CategoricalPredictive):
        raise DataError(f"{fit.method} gives no class probabilities")
    probability = predictive.probabilities[:, 1]
    far = ((grid < low) | (grid > high)).any(axis=1)
    certain = float((np.abs(probability[far] - 0.5) > CERTAIN - 0.5).mean())
    return Plane(across, up, probability.reshape(CELLS, CELLS), certain)


def is_plane(splits: "Sequence[Split]") -> bool:
    """Whether a table has two inputs and two classes."""
    labels = splits[0].labels
    return splits[0].d == 2 and labels is not None and len(labels) == 2
