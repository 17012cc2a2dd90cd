"""Central predictive intervals: which targets fall inside; for counts after randomisation."""

import numpy as np
from scipy import special

from corners.errors import DataError, SpecError
from corners.predictive._base import Predictive, require_targets
from corners.predictive.gaussian import GaussianPredictive
from corners.types import Array, Bool, Float

LEVELS = np.arange(1, 20) / 20.0


def inside_central(
    predictive: Predictive, targets: Float[Array, " N"], levels: Float[Array, " L"], seed: int = 0
) -> Bool[Array, "L N"]:
    """Whether target n lies in the central interval of each level, ends included (theory 11).

    Gaussian: ``|z_n| ≤ Φ⁻¹((1 + p)/2)``, which keeps its digits far out in the tails. Any other continuous predictive:
    ``(1 - p)/2 ≤ F_n(y_n) ≤ (1 + p)/2``; of counts the same with the randomised PIT of ``seed`` for ``F_n(y_n)``.
    """
    if isinstance(predictive, GaussianPredictive):
        distance, radius = np.abs(predictive.standardised(targets)), special.ndtri(0.5 * (1.0 + levels))
    else:
        counts = predictive.task == "count"
        transform = randomised_transform(predictive, targets, seed) if counts else predictive.cdf(targets)
        distance, radius = np.abs(2.0 * transform - 1.0), levels
    return distance <= radius[:, None]


def randomised_transform(predictive: Predictive, targets: Float[Array, " N"], seed: int) -> Float[Array, " N"]:
    """``F_n(y_n - 1) + u_n P(Y_n = y_n)`` with uniform ``u_n`` of ``seed``: uniform itself if the predictive is right.

    Raises
    ------
    DataError : a target is no count, or the shapes differ.
    """
    counts = require_targets(targets, predictive.mean.size)
    bad = ~((counts >= 0.0) & (counts == np.floor(counts)))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"counts must be whole numbers from 0 on; row {row} holds {counts[row]}: correct or drop it")
    below, at = predictive.cdf(counts - 1.0), predictive.cdf(counts)
    return below + np.random.default_rng(seed).random(counts.size) * (at - below)


def require_central_level(level: float) -> None:
    """Refuse a level outside the open unit interval."""
    if not 0.0 < level < 1.0:
        raise SpecError(f"the level of a central interval must lie strictly between 0 and 1; got {level}")
