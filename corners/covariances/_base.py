"""The contract of a covariance: the value Σ (its quadratic forms) and the family (how Σ is parameterised and bound)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.errors import SpecError

Params = dict[str, Tensor]
Bounds = dict[str, tuple[float, float]]

LOG_VAR_BOUNDS = (-18.0, 6.0)
"""Bounds of ``log s_d`` (theory 5.7); the parameter is clamped after a step, never inside the graph."""


@dataclass(frozen=True)
class Coupling:
    """How the K latent values of a data point vary together: their covariance is ``scale_n outputs + own_n I``."""

    outputs: Float[Tensor, "*B K K"]
    scale: Float[Tensor, "*B N"]
    own: Float[Tensor, "*B N"]

    def covariance(self) -> Float[Tensor, "*B N K K"]:
        """Written out, one matrix a data point."""
        eye = torch.eye(self.outputs.shape[-1], dtype=self.outputs.dtype, device=self.outputs.device)
        return self.scale[..., None, None] * self.outputs[..., None, :, :] + self.own[..., None, None] * eye


class Covariance(ABC):
    """A positive semi-definite matrix ``Σ`` known through quadratic forms; replicate dimensions lead."""

    @abstractmethod
    def quadratic(self, features: Float[Tensor, "*B N H"]) -> Float[Tensor, "*B N"]:
        """``ψ_nᵀ Σ ψ_n`` a data point."""

    @abstractmethod
    def overlap_terms(
        self, mean: Float[Tensor, "*B H"], shift: Float[Tensor, "*B"]
    ) -> tuple[Float[Tensor, "*B"], Float[Tensor, "*B"]]:
        """``log|Σ + shift I|`` and ``meanᵀ (Σ + shift I)⁻¹ mean``: the two parts of the prior overlap."""

    @abstractmethod
    def matrix(self) -> Float[Tensor, "*B H H"]:
        """``Σ`` written out; of several latent functions the block of each."""

    def coupling(self, features: Float[Tensor, "*B N H"]) -> Coupling | None:
        """How the latent values of a data point vary together; None where each has a belief of its own."""
        return None

    @abstractmethod
    def detach(self) -> "Covariance":
        """The same value outside the graph."""

    @abstractmethod
    def select(self, index: Tensor) -> "Covariance":
        """The replicates ``index`` along the leading dimension."""


class CovarianceFamily(ABC):
    """How ``Σ`` is parameterised when it is free, and what it is when it is bound to the conjugate posterior.

    ``jitter`` is ``ε`` of theory 5.6: ``Σ`` includes ``ε I`` in every quadratic form (except for family "none").
    """

    name: ClassVar[str]

    @property
    def joint(self) -> frozenset[str]:
        """Parameters that several latent functions have in common; of all others each has its own."""
        return frozenset()

    def across(self, latents: int) -> "CovarianceFamily":
        """The family for a belief about ``latents`` functions: itself, unless they share one covariance."""
        return self

    @abstractmethod
    def init(self, size: int, generators: list[torch.Generator], dtype: torch.dtype) -> Params:
        """Leaf parameters at their start (theory 5.8), one replicate a generator."""

    @abstractmethod
    def bounds(self) -> Bounds:
        """Element-wise bounds of the leaf parameters (theory 5.7)."""

    @abstractmethod
    def build(self, params: Params, mean: Float[Tensor, "*B H"], jitter: float) -> Covariance:
        """``Σ`` from leaf parameters; ``mean`` gives shape, dtype and device."""

    @abstractmethod
    def bind(self, precision_factor: Float[Tensor, "*B H H"], jitter: float) -> Covariance:
        """The family's ELBO optimum when the posterior precision is ``A = L Lᵀ`` (theory 3.4)."""


def require_start(name: str, value: float) -> None:
    """Refuse a start of a covariance parameter that is not positive and finite: its logarithm is what is trained."""
    if not 0.0 < value < float("inf"):
        raise SpecError(f"{name} must be positive and finite; got {value}")


def require_jitter(jitter: float) -> None:
    """Refuse a negative or non-finite jitter."""
    if not 0.0 <= jitter < float("inf"):
        raise SpecError(f"jitter is a variance added to Σ and must be at least 0 and finite; got {jitter}")
