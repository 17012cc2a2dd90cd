"""Identity backbone: the inputs are the features, so the last layer is a linear model (theory 8)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones import BACKBONES
from corners.backbones._base import Backbone, Params


@BACKBONES.register("identity")
@dataclass(frozen=True)
class Identity(Backbone):
    """``ψ(x) = x``.

    Example
    -------
    >>> import torch
    >>> Identity().features({}, torch.ones(1, 2, 3)).shape
    torch.Size([1, 2, 3])
    """

    name: ClassVar[str] = "identity"

    @classmethod
    def example(cls) -> "Identity":
        """A member for the law suite."""
        return cls()

    @property
    def frozen(self) -> frozenset[str]:
        """Nothing."""
        return frozenset()

    def init(self, columns: int, generators: list[torch.Generator], dtype: torch.dtype) -> Params:
        """No parameters."""
        return {}

    def features(self, params: Params, inputs: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N H"]:
        """The inputs."""
        return inputs

    def penalty(self, params: Params) -> float:
        """Zero."""
        return 0.0
