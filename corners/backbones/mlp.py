"""Multilayer perceptron, all replicates in one tensor program."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones import BACKBONES
from corners.backbones._base import PREFIX, Backbone, Params
from corners.errors import SpecError

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
}


@BACKBONES.register("mlp")
@dataclass(frozen=True)
class MLP(Backbone):
    """``ψ(x) = a(… a(x W₁ + b₁) … W_L + b_L)``; the last width is H and carries no bias column.

    Parameters
    ----------
    widths : units of every hidden layer, last one H; a plain number means one layer.
    activation : "tanh", "relu", "silu" or "gelu".
    bias : hidden biases. Without them a tanh network is an odd function and cannot fit an even target.

    Weights start at ``N(0, 1/d_in)``, biases at zero (theory 5.8).

    Example
    -------
    >>> MLP(50).widths
    (50,)
    """

    widths: tuple[int, ...] | int = (50,)
    activation: str = "tanh"
    bias: bool = True
    name: ClassVar[str] = "mlp"

    def __post_init__(self) -> None:
        widths = (self.widths,) if isinstance(self.widths, int) else tuple(self.widths)
        if not widths or min(widths) < 1:
            raise SpecError(f"widths must be positive numbers of units, one a layer; got {self.widths!r}")
        if self.activation not in ACTIVATIONS:
            raise SpecError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {self.activation!r}")
        object.__setattr__(self, "widths", widths)

    @classmethod
    def example(cls) -> "MLP":
        """A member for the law suite."""
        return cls((4, 3))

    @property
    def frozen(self) -> frozenset[str]:
        """Nothing: every weight is trained."""
        return frozenset()

    def init(self, columns: int, generators: list[torch.Generator], dtype: torch.dtype) -> Params:
        """Weights ``(B, d_in, d_out)`` and biases ``(B, 1, d_out)``."""
        params: Params = {}
        fan_in = columns
        for layer, width in enumerate(self._layers()):
            # Drawn in float64 whatever the dtype, so that both precisions start from the same network.
            draws = [torch.randn(fan_in, width, generator=each, dtype=torch.float64) for each in generators]
            params[f"{PREFIX}weight_{layer}"] = (torch.stack(draws) / fan_in**0.5).to(dtype)
            if self.bias:
                params[f"{PREFIX}bias_{layer}"] = torch.zeros(len(generators), 1, width, dtype=dtype)
            fan_in = width
        return params

    def features(self, params: Params, inputs: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N H"]:
        """Forward pass of every replicate."""
        activation = ACTIVATIONS[self.activation]
        hidden = inputs
        for layer in range(len(self._layers())):
            hidden = hidden @ params[f"{PREFIX}weight_{layer}"]
            if self.bias:
                hidden = hidden + params[f"{PREFIX}bias_{layer}"]
            hidden = activation(hidden)
        return hidden

    def penalty(self, params: Params) -> Float[Tensor, "*B"]:
        """``Σ ‖W_l‖²``, biases apart."""
        weights = [params[f"{PREFIX}weight_{layer}"] for layer in range(len(self._layers()))]
        return torch.stack([weight.square().sum((-2, -1)) for weight in weights]).sum(0)

    def _layers(self) -> tuple[int, ...]:
        return self.widths if isinstance(self.widths, tuple) else (self.widths,)
