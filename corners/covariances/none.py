"""No covariance: Σ = 0, a point at the mean (theory 5.1)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.covariances import COVARIANCES
from corners.covariances._base import Bounds, Covariance, CovarianceFamily, Params


@dataclass(frozen=True)
class ZeroCovariance(Covariance):
    """``Σ = 0``; ``like`` lends shape and dtype."""

    like: Float[Tensor, "*B H"]

    def quadratic(self, features: Float[Tensor, "*B N H"]) -> Float[Tensor, "*B N"]:
        """Zero at every data point."""
        return torch.zeros_like(features[..., 0])

    def overlap_terms(
        self, mean: Float[Tensor, "*B H"], shift: Float[Tensor, "*B"]
    ) -> tuple[Float[Tensor, "*B"], Float[Tensor, "*B"]]:
        """``H log shift`` and ``‖mean‖² / shift``."""
        return mean.shape[-1] * shift.log(), mean.square().sum(-1) / shift

    def matrix(self) -> Float[Tensor, "*B H H"]:
        """Zeros."""
        return torch.zeros_like(torch.diag_embed(self.like))

    def detach(self) -> "ZeroCovariance":
        """The same value outside the graph."""
        return ZeroCovariance(self.like.detach())

    def select(self, index: Tensor) -> "ZeroCovariance":
        """The replicates ``index``."""
        return ZeroCovariance(self.like[index])


@COVARIANCES.register("none")
@dataclass(frozen=True)
class NoCovariance(CovarianceFamily):
    """The family with one member, ``Σ = 0``; jitter does not touch it.

    Example
    -------
    >>> NoCovariance.example().name
    'none'
    """

    name: ClassVar[str] = "none"

    @classmethod
    def example(cls) -> "NoCovariance":
        """A member for the law suite."""
        return cls()

    def init(self, size: int, generators: list[torch.Generator], dtype: torch.dtype) -> Params:
        """Nothing to learn."""
        return {}

    def bounds(self) -> Bounds:
        """Nothing to bound."""
        return {}

    def build(self, params: Params, mean: Float[Tensor, "*B H"], jitter: float) -> ZeroCovariance:
        """``Σ = 0``."""
        return ZeroCovariance(mean)

    def bind(self, precision_factor: Float[Tensor, "*B H H"], jitter: float) -> ZeroCovariance:
        """``Σ = 0``: the point limit at the conjugate mean."""
        return ZeroCovariance(precision_factor.diagonal(dim1=-2, dim2=-1))
