"""Dense covariances held by a factor, of Σ or of its inverse: the values of the families that are dense."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from corners.covariances._base import Covariance
from corners.covariances._linalg import cholesky_or_nan, row_squares, triangular_inverse

LOG_DIAGONAL, STRICT_LOWER = "covariance.log_diagonal", "covariance.strict_lower"


def lower_factor(log_diagonal: Float[Tensor, "*B H"], strict_lower: Float[Tensor, "*B H H"]) -> Float[Tensor, "*B H H"]:
    """``L`` with ``exp`` on its diagonal; what is not below the diagonal of ``strict_lower`` plays no part."""
    return strict_lower.tril(-1) + torch.diag_embed(log_diagonal.exp())


def _eye_like(matrix: Tensor) -> Tensor:
    return torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


@dataclass(frozen=True)
class FactorCovariance(Covariance):
    """``Σ = L Lᵀ + ε I`` held by its factor ``L``."""

    factor: Float[Tensor, "*B H H"]
    jitter: float = 0.0

    def quadratic(self, features: Float[Tensor, "*B N H"]) -> Float[Tensor, "*B N"]:
        """``‖Lᵀ ψ_n‖² + ε ‖ψ_n‖²``."""
        form = row_squares(features @ self.factor)
        return form + self.jitter * row_squares(features) if self.jitter else form

    def overlap_terms(
        self, mean: Float[Tensor, "*B H"], shift: Float[Tensor, "*B"]
    ) -> tuple[Float[Tensor, "*B"], Float[Tensor, "*B"]]:
        """From the Cholesky factor of ``Σ + shift I``."""
        lower = cholesky_or_nan(self.matrix() + shift[..., None, None] * _eye_like(self.factor))
        whitened = torch.linalg.solve_triangular(lower, mean[..., None], upper=False)[..., 0]
        return 2.0 * lower.diagonal(dim1=-2, dim2=-1).log().sum(-1), whitened.square().sum(-1)

    def matrix(self) -> Float[Tensor, "*B H H"]:
        """``L Lᵀ + ε I``."""
        product = self.factor @ self.factor.mT
        return product + self.jitter * _eye_like(product) if self.jitter else product

    def detach(self) -> "FactorCovariance":
        """The same value outside the graph."""
        return FactorCovariance(self.factor.detach(), self.jitter)

    def select(self, index: Tensor) -> "FactorCovariance":
        """The replicates ``index``."""
        return FactorCovariance(self.factor[index], self.jitter)


@dataclass(frozen=True)
class PrecisionCovariance(Covariance):
    """``Σ = A⁻¹ + ε I`` held by the Cholesky factor ``L`` of the precision ``A``; A⁻¹ is never formed to score."""

    precision_factor: Float[Tensor, "*B H H"]
    jitter: float = 0.0

    def quadratic(self, features: Float[Tensor, "*B N H"]) -> Float[Tensor, "*B N"]:
        """``‖L⁻¹ ψ_n‖² + ε ‖ψ_n‖²``."""
        form = row_squares(features @ triangular_inverse(self.precision_factor).mT)
        return form + self.jitter * row_squares(features) if self.jitter else form

    def overlap_terms(
        self, mean: Float[Tensor, "*B H"], shift: Float[Tensor, "*B"]
    ) -> tuple[Float[Tensor, "*B"], Float[Tensor, "*B"]]:
        """With ``c = shift + ε``: ``log|I + cA| - log|A|`` and ``(Aμ)ᵀ (I + cA)⁻¹ μ``."""
        lower, total = self.precision_factor, (shift + self.jitter)[..., None, None]
        outer = cholesky_or_nan(_eye_like(lower) + total * (lower @ lower.mT))
        log_det = 2.0 * (outer.diagonal(dim1=-2, dim2=-1).log() - lower.diagonal(dim1=-2, dim2=-1).log()).sum(-1)
        whitened = torch.linalg.solve_triangular(outer, lower @ (lower.mT @ mean[..., None]), upper=False)
        other = torch.linalg.solve_triangular(outer, mean[..., None], upper=False)
        return log_det, (whitened * other).sum((-2, -1))

    def matrix(self) -> Float[Tensor, "*B H H"]:
        """``A⁻¹ + ε I`` written out."""
        inverse = torch.cholesky_inverse(self.precision_factor)
        return inverse + self.jitter * _eye_like(inverse) if self.jitter else inverse

    def detach(self) -> "PrecisionCovariance":
        """The same value outside the graph."""
        return PrecisionCovariance(self.precision_factor.detach(), self.jitter)

    def select(self, index: Tensor) -> "PrecisionCovariance":
        """The replicates ``index``."""
        return PrecisionCovariance(self.precision_factor[index], self.jitter)
