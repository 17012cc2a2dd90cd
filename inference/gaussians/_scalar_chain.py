"""The passes of a chain of scalars; one text serves single series (Python floats) and batches (arrays of series)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from inference.errors import ImproperMarginal
from inference.types import Array

IMPROPER = (
    "a message of negative precision outweighs what the chain knows at that time: give a proper prior and messages"
)


class ScalarInputs(NamedTuple):
    """One item a time: floats of one series, or arrays over the series of a batch."""

    linear: Sequence[Any]
    precision: Sequence[Any]
    coefficient: Sequence[Any]
    offset: Sequence[Any]
    noise_precision: Sequence[Any]


class ScalarForward(NamedTuple):
    """Predictives and filtered marginals of every time; the step's log normaliser is ``exponent - log(growth) / 2``."""

    predictive_mean: list[Any]
    predictive_var: list[Any]
    mean: list[Any]
    var: list[Any]
    exponent: list[Any]
    growth: list[Any]


class ScalarBackward(NamedTuple):
    """Marginals of every time, lag-one covariances, and variances of ``x_t`` given ``x_{t+1}``."""

    mean: list[Any]
    var: list[Any]
    cross: list[Any]
    conditional_var: list[Any]


def forward_pass(inputs: ScalarInputs, mean: Any, var: Any) -> ScalarForward:
    """From the mean and variance of ``x_0``; the filtered marginals must stay proper."""
    try:
        with np.errstate(all="ignore"):  # of a message so improper that no number comes of it, which is refused below
            result = _filtered(inputs, mean, var)
    except ZeroDivisionError:
        raise ImproperMarginal(IMPROPER) from None
    if not np.min(result.growth) > 0.0:
        raise ImproperMarginal(IMPROPER)
    return result


def _filtered(inputs: ScalarInputs, mean: Any, var: Any) -> ScalarForward:
    result = ScalarForward([], [], [], [], [], [])
    for t, (h, weight) in enumerate(zip(inputs.linear, inputs.precision, strict=True)):
        if t:
            a = inputs.coefficient[t - 1]
            mean = a * mean + inputs.offset[t - 1]
            var = a * a * var + 1.0 / inputs.noise_precision[t - 1]
        growth = 1.0 + var * weight
        result.predictive_mean.append(mean)
        result.predictive_var.append(var)
        result.growth.append(growth)
        var = var / growth
        pull = h - weight * mean
        result.exponent.append(0.5 * ((h + pull) * mean + var * pull * pull))
        mean = mean + var * pull
        result.mean.append(mean)
        result.var.append(var)
    return result


def backward_pass(inputs: ScalarInputs, forward: ScalarForward) -> ScalarBackward:
    """By the conditionals ``x_t`` given ``x_{t+1}``: sums of positive terms only."""
    mean, var = forward.mean[-1], forward.var[-1]
    result = ScalarBackward([mean], [var], [], [])
    for t in range(len(forward.mean) - 2, -1, -1):
        a, weight, filtered = inputs.coefficient[t], inputs.noise_precision[t], forward.var[t]
        conditional = filtered / (1.0 + filtered * a * a * weight)
        gain = conditional * a * weight
        result.cross.append(gain * var)
        result.conditional_var.append(conditional)
        mean = forward.mean[t] + gain * (mean - forward.predictive_mean[t + 1])
        var = conditional + gain * gain * var
        result.mean.append(mean)
        result.var.append(var)
    return ScalarBackward(*(each[::-1] for each in result))


def by_time(values: Array, batch: tuple[int, ...], length: int) -> list[Any]:
    """``(..., length)`` as one item a time, floats where there is a single series."""
    shaped = np.broadcast_to(values, (*batch, length))
    if int(np.prod(batch)) == 1:
        return shaped.reshape(length).tolist()
    return list(np.moveaxis(shaped, -1, 0))


def by_series(items: list[Any], batch: tuple[int, ...]) -> Array:
    """The inverse of ``by_time``: ``(..., length)``."""
    if not items:
        return np.zeros((*batch, 0))
    stacked = np.asarray(items, dtype=np.float64)
    return stacked.reshape((*batch, -1)) if stacked.ndim == 1 else np.moveaxis(stacked, 0, -1)
