"""A Gaussian Markov chain as one dense Gaussian: the full precision matrix, its inverse and its determinant."""

from typing import NamedTuple

import numpy as np

Array = np.ndarray

LOG_2PI = float(np.log(2.0 * np.pi))


class DenseChain(NamedTuple):
    """Mean (T, d), covariance blocks (T, T, d, d), log integral of all factors, entropy of the joint."""

    mean: Array
    blocks: Array
    log_normaliser: float
    entropy: float


def dense_chain(linear, precision, *, start_linear, start_precision, matrix, offset, noise_precision) -> DenseChain:
    """One series (T, d); transitions broadcast to T - 1 items."""
    length, d = linear.shape
    steps = length - 1
    matrices, noises = (np.broadcast_to(each, (steps, d, d)) for each in (matrix, noise_precision))
    offsets = np.broadcast_to(offset, (steps, d))
    whole, pull, constant = np.zeros((length, d, length, d)), np.zeros((length, d)), -0.5 * length * d * LOG_2PI
    for t in range(length):
        whole[t, :, t] += precision[t]
        pull[t] += linear[t]
    whole[0, :, 0] += start_precision
    pull[0] += start_linear
    constant += 0.5 * log_det(start_precision) - 0.5 * start_linear @ np.linalg.solve(start_precision, start_linear)
    for t, (A, b, W) in enumerate(zip(matrices, offsets, noises, strict=True)):
        residual = np.hstack([-A, np.eye(d)])  # x_{t+1} - A x_t - b
        pair = np.s_[t : t + 2]
        whole[pair, :, pair] += (residual.T @ W @ residual).reshape(2, d, 2, d)
        pull[pair] += (residual.T @ W @ b).reshape(2, d)
        constant += 0.5 * log_det(W) - 0.5 * b @ W @ b
    flat = whole.reshape(length * d, length * d)
    covariance = np.linalg.inv(flat)
    mean = np.linalg.solve(flat, pull.ravel())
    volume = 0.5 * length * d * LOG_2PI - 0.5 * log_det(flat)
    return DenseChain(
        mean.reshape(length, d),
        covariance.reshape(length, d, length, d).transpose(0, 2, 1, 3),
        constant + volume + 0.5 * float(pull.ravel() @ mean),
        volume + 0.5 * length * d,
    )


def log_det(matrix: Array) -> float:
    """Of a positive definite matrix."""
    sign, value = np.linalg.slogdet(matrix)
    assert sign > 0
    return float(value)


def random_chain(rng: np.random.Generator, length: int, d: int, *, batch: tuple[int, ...] = (), gaps: float = 0.3):
    """Arguments of ``smooth``: transitions that vary in time, semidefinite messages, and flat ones at random."""

    def definite(*shape: int) -> Array:
        factors = rng.normal(size=(*shape, d, d)) / np.sqrt(d)
        return 0.3 * np.eye(d) + factors @ np.swapaxes(factors, -1, -2)

    direction = rng.normal(size=(*batch, length, d, 1)) * (rng.random((*batch, length, 1, 1)) >= gaps)
    return {
        "linear": direction[..., 0] * rng.normal(size=(*batch, length, 1)),
        "precision": direction @ np.swapaxes(direction, -1, -2),
        "start_linear": rng.normal(size=(*batch, d)),
        "start_precision": definite(*batch),
        "matrix": rng.normal(size=(*batch, length - 1, d, d)) / np.sqrt(d),
        "offset": rng.normal(size=(*batch, length - 1, d)),
        "noise_precision": definite(*batch, length - 1),
    }
