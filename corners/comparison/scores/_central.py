"""Central predictive intervals: which targets fall inside."""

import numpy as np
from scipy import special

from corners.errors import SpecError
from corners.predictive._base import Predictive
from corners.predictive.gaussian import GaussianPredictive
from corners.types import Array, Bool, Float

LEVELS = np.arange(1, 20) / 20.0


def inside_central(
    predictive: Predictive, targets: Float[Array, " N"], levels: Float[Array, " L"]
) -> Bool[Array, "L N"]:
    """Whether target n lies in the central interval of each level, ends included (theory 11).

    Gaussian: ``|z_n| ≤ Φ⁻¹((1 + p)/2)``, which keeps its digits far out in the tails. Any other continuous predictive:
    ``(1 - p)/2 ≤ F_n(y_n) ≤ (1 + p)/2``.
    """
    if isinstance(predictive, GaussianPredictive):
        distance, radius = np.abs(predictive.standardised(targets)), special.ndtri(0.5 * (1.0 + levels))
    else:
        distance, radius = np.abs(2.0 * predictive.cdf(targets) - 1.0), levels
    return distance <= radius[:, None]


def require_central_level(level: float) -> None:
    """Refuse a level outside the open unit interval."""
    if not 0.0 < level < 1.0:
        raise SpecError(f"the level of a central interval must lie strictly between 0 and 1; got {level}")
