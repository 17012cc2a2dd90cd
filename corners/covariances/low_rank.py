"""Low-rank plus diagonal covariance: Σ = diag(D) + B Bᵀ + ε I (theory 5.4)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.covariances import COVARIANCES
from corners.covariances._base import (
    LOG_VAR_BOUNDS,
    Bounds,
    Covariance,
    CovarianceFamily,
    Params,
    require_jitter,
    require_start,
)
from corners.covariances._linalg import cholesky_or_nan, row_squares
from corners.errors import ImpossibleCellError, SpecError

LOG_VAR, FACTOR = "covariance.log_var", "covariance.factor"


@dataclass(frozen=True)
class LowRankCovariance(Covariance):
    """``Σ = diag(variances) + B Bᵀ``, jitter already inside the diagonal."""

    variances: Float[Tensor, "*B H"]
    factor: Float[Tensor, "*B H R"]

    def quadratic(self, features: Float[Tensor, "*B N H"]) -> Float[Tensor, "*B N"]:
        """``Σ_d ψ_nd² D_d + ‖Bᵀ ψ_n‖²``."""
        diagonal = (features.square() @ self.variances[..., None])[..., 0]
        return diagonal + row_squares(features @ self.factor)

    def overlap_terms(
        self, mean: Float[Tensor, "*B H"], shift: Float[Tensor, "*B"]
    ) -> tuple[Float[Tensor, "*B"], Float[Tensor, "*B"]]:
        """By the matrix determinant lemma and the Woodbury identity with ``K = I + Bᵀ D'⁻¹ B``."""
        total = self.variances + shift[..., None]
        scaled = self.factor / total[..., None]
        rank = self.factor.shape[-1]
        inner = torch.eye(rank, dtype=mean.dtype, device=mean.device) + self.factor.mT @ scaled
        lower = cholesky_or_nan(inner)
        log_det = total.log().sum(-1) + 2.0 * lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        projected = torch.linalg.solve_triangular(lower, scaled.mT @ mean[..., None], upper=False)
        return log_det, (mean.square() / total).sum(-1) - projected.square().sum((-2, -1))

    def matrix(self) -> Float[Tensor, "*B H H"]:
        """``diag(D) + B Bᵀ``."""
        return torch.diag_embed(self.variances) + self.factor @ self.factor.mT

    def detach(self) -> "LowRankCovariance":
        """The same value outside the graph."""
        return LowRankCovariance(self.variances.detach(), self.factor.detach())

    def select(self, index: Tensor) -> "LowRankCovariance":
        """The replicates ``index``."""
        return LowRankCovariance(self.variances[index], self.factor[index])


@COVARIANCES.register("low_rank")
@dataclass(frozen=True)
class LowRank(CovarianceFamily):
    """A diagonal plus ``rank`` directions; a rank above the number of features is cut to it when built.

    ``initial_var`` starts every ``D_d``; the factor starts at ``N(0, initial_var / rank)``, since at ``B = 0`` its
    gradient is zero.

    Example
    -------
    >>> LowRank.example().rank
    2
    """

    rank: int = 5
    initial_var: float = 1e-2
    name: ClassVar[str] = "low_rank"

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise SpecError(f"rank must be at least 1; got {self.rank}. Use covariance 'diagonal' for rank 0")
        require_start("initial_var", self.initial_var)

    @classmethod
    def example(cls) -> "LowRank":
        """A member for the law suite."""
        return cls(rank=2)

    def init(self, size: int, generators: list[torch.Generator], dtype: torch.dtype) -> Params:
        """Constant diagonal, small random factor."""
        rank = min(self.rank, size)
        start = torch.tensor(self.initial_var, dtype=dtype)
        factors = [torch.randn(size, rank, generator=generator, dtype=dtype) for generator in generators]
        return {
            LOG_VAR: start.log().expand(len(generators), size).clone(),
            FACTOR: (start / rank).sqrt() * torch.stack(factors),
        }

    def bounds(self) -> Bounds:
        """``log D_d`` within theory 5.7."""
        return {LOG_VAR: LOG_VAR_BOUNDS}

    def build(self, params: Params, mean: Float[Tensor, "*B H"], jitter: float) -> LowRankCovariance:
        """``diag(exp ρ + ε) + B Bᵀ``."""
        require_jitter(jitter)
        return LowRankCovariance(params[LOG_VAR].exp() + jitter, params[FACTOR])

    def bind(self, precision_factor: Float[Tensor, "*B H H"], jitter: float) -> LowRankCovariance:
        """Refused: the ELBO optimum of this family has no closed form."""
        raise ImpossibleCellError(
            "closed routing needs the ELBO optimum of the covariance family in closed form, and low_rank has none; "
            "use covariance 'dense' or 'diagonal' with closed routing, or routing 'free' with low_rank"
        )
