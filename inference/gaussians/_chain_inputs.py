"""Reads the arguments of a chain: checks them, broadcasts them, and puts time first."""

from typing import Any

import numpy as np

from inference.errors import ImproperMarginal, SpecError
from inference.gaussians._scalar_chain import ScalarInputs, by_time
from inference.gaussians._vector_chain import VectorInputs, inverse
from inference.types import Array

NAMES = (
    "linear",
    "precision",
    "start_linear",
    "start_precision",
    "matrix (or coefficient)",
    "offset",
    "noise_precision",
)
EVENTS = ("Td", "Tdd", "d", "dd", "Sdd", "Sd", "Sdd")
"""The axes after the batch of each argument: T times, S = T - 1 transitions, d dimensions."""


def read_vectors(*arguments: Array) -> tuple[VectorInputs, tuple[Array, Array], tuple[int, ...]]:
    """Inputs of the passes, mean and covariance of ``x_0``, and the batch shape."""
    given = _finite(arguments)
    if given[0].ndim < 2:
        raise SpecError(
            f"linear has shape {given[0].shape}; give (..., T, d), or use the scalar functions for (..., T)"
        )
    sizes = {"T": given[0].shape[-2], "S": given[0].shape[-2] - 1, "d": given[0].shape[-1]}
    noise_covariance = inverse(given[6], "noise_precision")
    batch = _batch(given, EVENTS, sizes)
    start_covariance = inverse(given[3], "start_precision")
    start_mean = (start_covariance @ given[2][..., None])[..., 0]
    timed = [
        _time_first(each, batch, tuple(sizes[axis] for axis in EVENTS[k]))
        for k, each in (
            (0, given[0]),
            (1, given[1]),
            (4, given[4]),
            (5, given[5]),
            (6, given[6]),
            (6, noise_covariance),
        )
    ]
    d = sizes["d"]
    start = np.broadcast_to(start_mean, (*batch, d)), np.broadcast_to(start_covariance, (*batch, d, d))
    return VectorInputs(*timed), start, batch


def read_scalars(*arguments: Array | float) -> tuple[ScalarInputs, tuple[Any, Any], tuple[int, ...]]:
    """Inputs of the passes, mean and variance of ``x_0`` and the batch shape."""
    given = _finite(arguments)
    if given[0].ndim < 1:
        raise SpecError("linear is a single number; give (..., T)")
    sizes = {"T": given[0].shape[-1], "S": given[0].shape[-1] - 1}
    batch = _batch(given, tuple(event.replace("d", "") for event in EVENTS), sizes)
    for name, each in ((NAMES[3], given[3]), (NAMES[6], given[6])):
        if (each <= 0.0).any():
            raise ImproperMarginal(f"{name} is {each.min():g}; it must be positive")
    lengths = (sizes["T"], sizes["T"], sizes["S"], sizes["S"], sizes["S"])
    timed = (by_time(given[k], batch, length) for k, length in zip((0, 1, 4, 5, 6), lengths, strict=True))
    mean, var = (by_time(each[..., None], batch, 1)[0] for each in (given[2] / given[3], 1.0 / given[3]))
    return ScalarInputs(*timed), (mean, var), batch


def time_last(values: Array, batch: tuple[int, ...]) -> Array:
    """Back from time first to (..., T, event)."""
    return np.ascontiguousarray(np.moveaxis(values, 0, len(batch)))


def _finite(arguments: tuple[Array | float, ...]) -> list[Array]:
    given = [np.asarray(each, dtype=np.float64) for each in arguments]
    for name, each in zip(NAMES, given, strict=True):
        if not np.isfinite(each).all():
            raise SpecError(f"{name} holds NaN or infinity; a missing observation is a flat message: zeros")
    return given


def _batch(given: list[Array], events: tuple[str, ...], sizes: dict[str, int]) -> tuple[int, ...]:
    """The common batch shape; every event must broadcast to its axes."""
    if sizes["S"] < 0:
        raise SpecError("the chain has no time; T must be at least 1")
    batches = []
    for name, each, event in zip(NAMES, given, events, strict=True):
        wanted = tuple(sizes[axis] for axis in event)
        tail = each.shape[max(each.ndim - len(wanted), 0) :]
        try:
            fits = np.broadcast_shapes(tail, wanted) == wanted
        except ValueError:
            fits = False
        if not fits:
            raise SpecError(f"{name} has shape {each.shape}; it must broadcast to (..., {', '.join(map(str, wanted))})")
        batches.append(each.shape[: max(each.ndim - len(wanted), 0)])
    try:
        return np.broadcast_shapes(*batches)
    except ValueError as error:
        shapes = ", ".join(f"{name} {each.shape}" for name, each in zip(NAMES, given, strict=True))
        raise SpecError(f"the leading (batch) axes do not broadcast: {shapes}") from error


def _time_first(values: Array, batch: tuple[int, ...], event: tuple[int, ...]) -> Array:
    return np.moveaxis(np.broadcast_to(values, (*batch, *event)), len(batch), 0)
