"""The passes of a chain of vectors, time on the first axis, batched over the axes between time and event.

Every covariance is kept as ``F F'``; a message of precision ``L`` multiplies in through ``I + F' L F``, which is
positive definite whatever null space ``L`` has. No covariance is ever a difference and no message is ever inverted.
"""

from typing import NamedTuple

import numpy as np

from inference.errors import ImproperMarginal
from inference.types import Array


class VectorInputs(NamedTuple):
    """Messages (T, ..., d) and (T, ..., d, d), and transitions with T - 1 items."""

    linear: Array
    precision: Array
    matrix: Array
    offset: Array
    noise_precision: Array
    noise_covariance: Array


class VectorForward(NamedTuple):
    """Predictives, filtered marginals and their roots ``F``, and the log normaliser of every time."""

    predictive_mean: Array
    predictive_covariance: Array
    mean: Array
    root: Array
    log_normaliser: Array
    log_det: Array

    @property
    def covariance(self) -> Array:
        """Filtered covariances."""
        return self.root @ _transpose(self.root)


class VectorBackward(NamedTuple):
    """Marginals, lag-one covariances, and log determinants of the covariances of ``x_t`` given ``x_{t+1}``."""

    mean: Array
    covariance: Array
    cross: Array
    log_det: Array


def inverse(matrix: Array, name: str) -> Array:
    """Symmetric inverse of positive definite matrices."""
    root = np.linalg.inv(cholesky(matrix, name))
    return _transpose(root) @ root


def cholesky(matrix: Array, name: str) -> Array:
    """Lower triangular factors; the error names what is not positive definite."""
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as error:
        raise ImproperMarginal(f"{name} is not positive definite: give a proper prior, noise and messages") from error


def forward_pass(inputs: VectorInputs, mean: Array, covariance: Array) -> VectorForward:
    """From the mean (..., d) and covariance (..., d, d) of ``x_0``."""
    steps = []
    for t, (linear, precision) in enumerate(zip(inputs.linear, inputs.precision, strict=True)):
        if t:
            moved = inputs.matrix[t - 1] @ root
            mean = _apply(inputs.matrix[t - 1], mean) + inputs.offset[t - 1]
            covariance = moved @ _transpose(moved) + inputs.noise_covariance[t - 1]
        lower = cholesky(covariance, f"the predictive covariance at time {t}")
        factor, root = _absorb(lower, precision, f"the precision of the marginal at time {t}")
        steps.append((mean, covariance, lower, factor, root))
        mean = mean + _apply(root, _apply(_transpose(root), linear - _apply(precision, mean)))
    predicted, covariances, lower, factor, root = (np.stack(each) for each in zip(*steps, strict=True))
    pull = inputs.linear - _apply(inputs.precision, predicted)
    half = _apply(_transpose(root), pull)
    exponent = 0.5 * (((inputs.linear + pull) * predicted).sum(-1) + (half * half).sum(-1))
    log_growth = _log_det(factor)
    return VectorForward(
        predicted,
        covariances,
        predicted + _apply(root, half),
        root,
        exponent - 0.5 * log_growth,
        _log_det(lower) - log_growth,
    )


def backward_pass(inputs: VectorInputs, forward: VectorForward) -> VectorBackward:
    """By the conditionals ``x_t`` given ``x_{t+1}``, which need no recursion: all times at once."""
    conditional, gain, log_det = _conditionals(inputs, forward)
    mean, covariance = forward.mean[-1], forward.root[-1] @ _transpose(forward.root[-1])
    means, covariances, crosses = [mean], [covariance], []
    for t in range(len(gain) - 1, -1, -1):
        crosses.append(gain[t] @ covariance)
        mean = forward.mean[t] + _apply(gain[t], mean - forward.predictive_mean[t + 1])
        covariance = conditional[t] + crosses[-1] @ _transpose(gain[t])
        covariance = 0.5 * (covariance + _transpose(covariance))
        means.append(mean)
        covariances.append(covariance)
    cross = np.stack(crosses[::-1]) if crosses else np.zeros_like(gain)
    return VectorBackward(np.stack(means[::-1]), np.stack(covariances[::-1]), cross, log_det)


def _conditionals(inputs: VectorInputs, forward: VectorForward) -> tuple[Array, Array, Array]:
    """Of ``x_t`` given ``x_{t+1}``: covariance, regression, and log determinants (with that of the last marginal)."""
    back = _transpose(inputs.matrix) @ inputs.noise_precision
    factor, root = _absorb(forward.root[:-1], back @ inputs.matrix, "a transition's precision")
    conditional = root @ _transpose(root)
    log_det = forward.log_det.copy()
    log_det[:-1] -= _log_det(factor)
    return conditional, conditional @ back, log_det


def _absorb(root: Array, precision: Array, name: str) -> tuple[Array, Array]:
    """The factor ``K K' = I + F' L F``, and the root ``F K'^-1`` of the covariance after the message."""
    factor = cholesky(np.eye(root.shape[-1]) + _transpose(root) @ precision @ root, name)
    return factor, _transpose(np.linalg.solve(factor, _transpose(root)))


def _log_det(factor: Array) -> Array:
    return 2.0 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)


def _transpose(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def _apply(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0]
