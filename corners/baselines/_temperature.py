"""Temperature scaling: one number that divides a classifier's log probabilities, fitted on the validation part."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import optimize, special

from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array, Float

if TYPE_CHECKING:
    from corners.data.split import Part

BOUNDS = (0.05, 20.0)
"""Temperatures that are searched: from nearly certain to nearly uniform."""
AT_BOUND = 1e-3
"""Distance of a log temperature from its bound below which it is said to be there."""


@dataclass(frozen=True)
class Temperature:
    """``P_T(k) ∝ P(k)^{1/T}``: above 1 it takes confidence away, below 1 it adds some; the label never changes.

    Example
    -------
    >>> predictive = CategoricalPredictive(np.array([[0.8, 0.2]]))
    >>> Temperature(0.5).of(predictive).probabilities.round(3).tolist()
    [[0.941, 0.059]]
    """

    value: float
    remarks: tuple[str, ...] = ()

    def of(self, predictive: CategoricalPredictive) -> CategoricalPredictive:
        """The predictive at this temperature; what draws it averaged is forgotten, unless the temperature is 1."""
        if self.value == 1.0:
            return predictive
        assert predictive.log_probabilities is not None
        return CategoricalPredictive.from_logarithms(_tempered(predictive.log_probabilities, math.log(self.value)))


def fit_temperature(predictive: CategoricalPredictive, part: "Part") -> Temperature:
    """The temperature of the lowest NLL of ``log_softmax(log p / T)``, which is convex in ``1/T``, within bounds.

    It stays 1 where nothing is better. A label of probability 0 has that at every temperature: it stays 1, and says so.

    Reference: Guo et al. (2017), On calibration of modern neural networks, section 4.2.
    """
    logarithms, labels = predictive.log_probabilities, part.targets.astype(int)
    assert logarithms is not None

    def nll(log_temperature: float) -> float:
        return -float(_tempered(logarithms, log_temperature)[np.arange(labels.size), labels].mean())

    before = nll(0.0)
    if not math.isfinite(before):
        return Temperature(1.0, ("temperature not fitted: validation NLL is infinite at every temperature",))
    low, high = map(math.log, BOUNDS)
    found: Any = optimize.minimize_scalar(nll, bounds=(low, high), method="bounded", options={"xatol": 1e-8})
    candidates = {0.0: before, low: nll(low), high: nll(high), float(found.x): float(found.fun)}
    best = min(candidates, key=lambda each: candidates[each])
    value = math.exp(best)
    if min(best - low, high - best) >= AT_BOUND:
        return Temperature(value)
    spelt = f"{BOUNDS[0]:g} to {BOUNDS[1]:g}"
    return Temperature(value, (f"temperature {value:.3g} is at the edge of its bounds {spelt}",))


def _tempered(log_probabilities: Float[Array, "N K"], log_temperature: float) -> Float[Array, "N K"]:
    return special.log_softmax(log_probabilities * math.exp(-log_temperature), axis=1)
