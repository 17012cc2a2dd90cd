"""Batched linear algebra inside the graph: a replicate that fails gives NaN and leaves its siblings alone."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def cholesky_or_nan(matrix: Float[Tensor, "*B H H"]) -> Float[Tensor, "*B H H"]:
    """Lower factors of symmetric matrices; a matrix that is not positive definite gives NaN.

    One replicate's failure must not stop its siblings, so nothing is raised and nothing is repaired: the NaN reaches
    that replicate's objective and the training loop stops it alone, with the status "not finite".
    """
    lower, info = torch.linalg.cholesky_ex(matrix)
    return torch.where((info == 0)[..., None, None], lower, torch.nan)


def triangular_inverse(lower: Float[Tensor, "*B H H"]) -> Float[Tensor, "*B H H"]:
    """``L⁻¹`` of lower factors: ``‖L⁻¹ψ_n‖²`` for all n is then one product, faster than N solves."""
    eye = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
    return torch.linalg.solve_triangular(lower, eye.expand_as(lower), upper=False)


class _RowSquares(torch.autograd.Function):
    """One pass over the rows forward and one backward; ``rows.square().sum(-1)`` takes five, and N H is what costs."""

    generate_vmap_rule = True

    @staticmethod
    def forward(rows: Tensor) -> Tensor:
        return torch.linalg.vector_norm(rows, dim=-1).square()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        (rows,) = ctx.saved_tensors
        return rows * (2.0 * grad_outputs[0])[..., None]


def row_squares(rows: Float[Tensor, "*B N H"]) -> Float[Tensor, "*B N"]:
    """``‖row_n‖²``, with a derivative that does not store a second copy of the rows."""
    squares: Tensor = _RowSquares.apply(rows)  # pyright: ignore[reportAssignmentType]
    return squares
