"""Batched linear algebra: a replicate that fails is NaN, its siblings are untouched, value and gradient alike."""

import numpy as np
import torch

from corners.covariances._linalg import cholesky_or_nan, row_squares, triangular_inverse
from tests.support.problems import assert_close, normal


def definite(seed: int, count: int = 3, size: int = 4) -> torch.Tensor:
    root = normal(seed, count, size, size)
    return root @ root.mT + 0.5 * torch.eye(size, dtype=torch.float64)


def test_factors_multiply_to_the_matrix():
    matrix = definite(1)
    lower = cholesky_or_nan(matrix)
    assert_close(lower @ lower.mT, matrix)
    assert torch.equal(lower, lower.tril())


def test_an_indefinite_replicate_is_nan_and_alone():
    good = definite(1)
    for broken in (-torch.eye(4, dtype=torch.float64), torch.full((4, 4), torch.nan).double()):
        matrix = good.clone()
        matrix[1] = broken
        matrix.requires_grad_()
        lower = cholesky_or_nan(matrix)
        assert bool(lower[1].isnan().any()) and torch.equal(lower[[0, 2]], cholesky_or_nan(good[[0, 2]]))
        log_det = lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        (slope,) = torch.autograd.grad(log_det.sum(), matrix)
        assert_close(slope[[0, 2]], 0.5 * torch.linalg.inv(good[[0, 2]]))


def test_triangular_inverse():
    lower = cholesky_or_nan(definite(2))
    assert_close(triangular_inverse(lower), np.linalg.inv(lower.numpy()))


def test_row_squares_with_two_derivatives():
    rows = normal(3, 2, 3, 4)
    rows[0, 0] = 0.0
    assert_close(row_squares(rows), (rows.numpy() ** 2).sum(-1))
    assert torch.autograd.gradcheck(row_squares, rows.clone().requires_grad_())
    assert torch.autograd.gradgradcheck(row_squares, rows.clone().requires_grad_())


def test_row_squares_under_vmap():
    rows = normal(4, 5, 3, 4)
    assert_close(torch.vmap(row_squares)(rows), row_squares(rows))
