"""Diagonal covariance: Σ = diag(s) + ε I with s = exp(ρ) (theory 5.2)."""

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

LOG_VAR = "covariance.log_var"


@dataclass(frozen=True)
class DiagonalCovariance(Covariance):
    """``Σ = diag(variances)``, jitter already inside."""

    variances: Float[Tensor, "*B H"]

    def quadratic(self, features: Float[Tensor, "*B N H"]) -> Float[Tensor, "*B N"]:
        """``Σ_d ψ_nd² s_d``."""
        return (features.square() @ self.variances[..., None])[..., 0]

    def overlap_terms(
        self, mean: Float[Tensor, "*B H"], shift: Float[Tensor, "*B"]
    ) -> tuple[Float[Tensor, "*B"], Float[Tensor, "*B"]]:
        """``Σ_d log(s_d + shift)`` and ``Σ_d mean_d² / (s_d + shift)``."""
        total = self.variances + shift[..., None]
        return total.log().sum(-1), (mean.square() / total).sum(-1)

    def matrix(self) -> Float[Tensor, "*B H H"]:
        """``diag(variances)``."""
        return torch.diag_embed(self.variances)

    def detach(self) -> "DiagonalCovariance":
        """The same value outside the graph."""
        return DiagonalCovariance(self.variances.detach())

    def select(self, index: Tensor) -> "DiagonalCovariance":
        """The replicates ``index``."""
        return DiagonalCovariance(self.variances[index])


@COVARIANCES.register("diagonal")
@dataclass(frozen=True)
class Diagonal(CovarianceFamily):
    """Independent weights; ``initial_var`` is the start of every ``s_d`` (theory 5.8: 0.01).

    Example
    -------
    >>> Diagonal.example().name
    'diagonal'
    """

    initial_var: float = 1e-2
    name: ClassVar[str] = "diagonal"

    def __post_init__(self) -> None:
        require_start("initial_var", self.initial_var)

    @classmethod
    def example(cls) -> "Diagonal":
        """A member for the law suite."""
        return cls()

    def init(self, size: int, generators: list[torch.Generator], dtype: torch.dtype) -> Params:
        """``ρ_d = log initial_var``."""
        start = torch.tensor(self.initial_var, dtype=dtype).log()
        return {LOG_VAR: start.expand(len(generators), size).clone()}

    def bounds(self) -> Bounds:
        """``ρ_d`` within theory 5.7."""
        return {LOG_VAR: LOG_VAR_BOUNDS}

    def build(self, params: Params, mean: Float[Tensor, "*B H"], jitter: float) -> DiagonalCovariance:
        """``diag(exp ρ) + ε I``."""
        require_jitter(jitter)
        return DiagonalCovariance(params[LOG_VAR].exp() + jitter)

    def bind(self, precision_factor: Float[Tensor, "*B H H"], jitter: float) -> DiagonalCovariance:
        """``s_d = 1 / A_dd``: the diagonal ELBO optimum (theory 3.6)."""
        require_jitter(jitter)
        return DiagonalCovariance(1.0 / precision_factor.square().sum(-1) + jitter)
