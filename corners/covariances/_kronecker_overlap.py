"""The prior overlap of a matrix-normal belief and its derivatives, from two small eigendecompositions (theory 5.5)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable


def kronecker_overlap(
    outputs: Float[Tensor, "*B K K"],
    inputs: Float[Tensor, "*B H H"],
    mean: Float[Tensor, "*B K H"],
    shift: Float[Tensor, "*B K"],
) -> tuple[Float[Tensor, "*B"], Float[Tensor, "*B"]]:
    """``log|M|`` and ``μᵀ M⁻¹ μ`` for ``M = Σ_o ⊗ Σ_i + D ⊗ I``, ``D = diag(shift)``, ``μ`` stacked by rows.

    With ``S = D^{-½} Σ_o D^{-½} = U κ Uᵀ``, ``Σ_i = V λ Vᵀ`` and ``T = Uᵀ D^{-½} μ V``:
    ``log|M| = H Σ_k log D_k + Σ_kh log(1 + κ_k λ_h)`` and ``μᵀM⁻¹μ = Σ_kh T²_kh / (1 + κ_k λ_h)``. Equal shifts
    ``D = I/α`` give theory 5.5.
    """
    root = shift.sqrt()
    whitened = outputs / (root[..., :, None] * root[..., None, :])
    log_det, quadratic = _Spectral.apply(whitened, inputs, mean / root[..., None])  # pyright: ignore[reportGeneralTypeIssues]
    return log_det + mean.shape[-1] * shift.log().sum(-1), quadratic


class _Spectral(torch.autograd.Function):
    """``log|S ⊗ Σ_i + I|`` and ``mᵀ(S ⊗ Σ_i + I)⁻¹m``.

    The derivative of an eigenvector divides by differences of eigenvalues, and at the start all are equal. Those of the
    two values do not: with ``W = 1/(1 + κλᵀ)`` and ``R = W ∘ T``, ``∂_S log|.| = U diag(Wλ) Uᵀ`` and
    ``∂_S quadratic = -U R diag(λ) Rᵀ Uᵀ``; the same of ``Σ_i`` with the two sides exchanged.
    """

    @staticmethod
    def forward(ctx: Any, outputs: Tensor, inputs: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
        healthy = outputs.isfinite().all(-1).all(-1) & inputs.isfinite().all(-1).all(-1)
        # ``eigh`` refuses a whole batch for one NaN: a failed replicate stays NaN and its siblings go on.
        outer, outer_basis = torch.linalg.eigh(torch.where(healthy[..., None, None], outputs, 0.0))
        inner, inner_basis = torch.linalg.eigh(torch.where(healthy[..., None, None], inputs, 0.0))
        outer, inner = outer.clamp(min=0.0), inner.clamp(min=0.0)
        spread = 1.0 + outer[..., :, None] * inner[..., None, :]
        rotated = outer_basis.mT @ mean @ inner_basis
        log_det, quadratic = spread.log().sum((-2, -1)), (rotated.square() / spread).sum((-2, -1))
        ctx.save_for_backward(outer, outer_basis, inner, inner_basis, 1.0 / spread, rotated / spread)
        return torch.where(healthy, log_det, torch.nan), torch.where(healthy, quadratic, torch.nan)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        outer, outer_basis, inner, inner_basis, weight, scaled = ctx.saved_tensors
        by_log_det, by_quadratic = (each[..., None, None] for each in grad_outputs)
        of_outer = by_log_det * torch.diag_embed((weight * inner[..., None, :]).sum(-1))
        of_outer = of_outer - by_quadratic * ((scaled * inner[..., None, :]) @ scaled.mT)
        of_inner = by_log_det * torch.diag_embed((weight * outer[..., :, None]).sum(-2))
        of_inner = of_inner - by_quadratic * (scaled.mT @ (scaled * outer[..., :, None]))
        return (
            outer_basis @ of_outer @ outer_basis.mT,
            inner_basis @ of_inner @ inner_basis.mT,
            2.0 * by_quadratic * (outer_basis @ scaled @ inner_basis.mT),
        )
