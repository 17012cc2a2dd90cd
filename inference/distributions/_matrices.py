"""Batched symmetric matrices: checking them, and the triangular factors that stand for them."""

from typing import Any

import numpy as np

from inference.distributions._checks import finite, frozen
from inference.errors import SpecError
from inference.types import Array

ASYMMETRY = 1e-8
"""Relative to the largest entry: what rounding leaves after long products, far below what a mistake leaves."""


def transposed(matrix: Array) -> Array:
    """The last two axes exchanged."""
    return np.swapaxes(matrix, -1, -2)


def symmetric(family: type, name: str, value: Any, size: int) -> Array:
    """Read-only ``(..., size, size)``, symmetric to rounding; that rounding is averaged out."""
    matrix = finite(family, name, value)
    if matrix.ndim < 2 or matrix.shape[-2:] != (size, size):
        raise SpecError(f"{family.__name__}: {name} must have shape (..., {size}, {size}) but got {matrix.shape}")
    gap = np.abs(matrix - transposed(matrix)).max(axis=(-2, -1), initial=0.0)
    bad = gap > ASYMMETRY * np.abs(matrix).max(axis=(-2, -1), initial=0.0)
    if bad.any():
        raise SpecError(f"{family.__name__}: {name} must be symmetric but is not{_entry(np.argwhere(bad)[0])}")
    return frozen(0.5 * (matrix + transposed(matrix)))


def cholesky(family: type, name: str, matrix: Array) -> Array:
    """Lower factor ``R`` with ``R R' = matrix``; ``SpecError`` with the first entry that is not positive definite."""
    try:
        return frozen(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        index = _first_failing(matrix)
        smallest = np.linalg.eigvalsh(matrix[index])[0]
        raise SpecError(
            f"{family.__name__}: {name} must be positive definite but is not{_entry(index)}: "
            f"its smallest eigenvalue is {smallest:.3g}"
        ) from None


def inverse_factor(factor: Array) -> Array:
    """``R^-1`` of a triangular factor."""
    return frozen(np.linalg.solve(factor, np.eye(factor.shape[-1])))


def log_determinant(factor: Array) -> Array:
    """``log det (R R')``."""
    return np.asarray(2.0 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(-1))


def applied(matrix: Array, vectors: Array) -> Array:
    """``matrix @ vector`` over the leading axes of both."""
    return np.matmul(matrix, vectors[..., None])[..., 0]


def diagonal_matrix(diagonal: Array) -> Array:
    """Dense ``(..., d, d)`` with that diagonal."""
    return frozen(diagonal[..., None] * np.eye(diagonal.shape[-1]))


def _first_failing(matrix: Array) -> tuple[int, ...]:
    for index in np.ndindex(matrix.shape[:-2]):
        try:
            np.linalg.cholesky(matrix[index])
        except np.linalg.LinAlgError:
            return index
    raise AssertionError("the batch failed but no entry of it does")


def _entry(index: Any) -> str:
    place = tuple(int(i) for i in index)
    return f" at batch index {place}" if place else ""
