"""The contract of a backbone: features of a batch of replicates in one call."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

Params = dict[str, Tensor]
PREFIX = "backbone."
"""All parameters of a backbone carry this prefix in the flat dict an optimiser moves."""


class Backbone(ABC):
    """``ψ_θ``: a frozen specification; its parameters come in from outside with replicates leading."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def frozen(self) -> frozenset[str]:
        """Parameters that no gradient step moves."""

    @abstractmethod
    def init(self, columns: int, generators: list[torch.Generator], dtype: torch.dtype) -> Params:
        """Parameters at their start for ``columns`` inputs, one replicate a generator."""

    @abstractmethod
    def features(self, params: Params, inputs: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N H"]:
        """``ψ_θ(x_n)`` for every replicate."""

    @abstractmethod
    def penalty(self, params: Params) -> Float[Tensor, "*B"] | float:
        """Squared norm of the hidden weights (not of biases), a replicate; 0.0 where there are none."""
