"""What a network's point needs of its likelihood, and the softmax, which is a likelihood of points alone."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from corners.covariances._base import Bounds, Params
from corners.errors import SpecError
from corners.predictive.categorical import require_labels

LABEL_COUNT = "label_count"


@runtime_checkable
class Head(Protocol):
    """The part of :class:`corners.likelihoods._base.Likelihood` that training a point uses."""

    @property
    def latents(self) -> int:
        """Latent functions a data point."""
        ...

    @property
    def frozen(self) -> frozenset[str]:
        """Parameters that no gradient step moves."""
        ...

    def init(self, targets: Float[Tensor, "B N"]) -> Params:
        """Parameters at their start, from the training targets, which are checked."""
        ...

    def bounds(self) -> Bounds:
        """Element-wise bounds of the parameters."""
        ...

    def ceiling(self, params: Params) -> dict[str, Float[Tensor, "*B"]]:
        """Upper bounds that differ between replicates, by parameter."""
        ...

    def noise_var(self, params: Params) -> Float[Tensor, "*B"] | None:
        """``σ²`` of Gaussian noise; None where there is none."""
        ...

    def log_prob(self, params: Params, targets: Tensor, latent: Tensor) -> Tensor:
        """``log p(y_n | f_n)``, shape ``(*B, N)``."""
        ...


@dataclass(frozen=True)
class SoftmaxHead:
    """``log p(y = k | f) = f_k - log Σ_j e^{f_j}``: K latent functions, no parameters, no closed ``log_partition``.

    Adding one function to all K changes nothing; a penalty on the weights makes them sum to zero.

    Example
    -------
    >>> import torch
    >>> SoftmaxHead(4).log_prob({}, torch.zeros(1), torch.zeros(4, 1)).exp().tolist()
    [0.25]
    """

    classes: int

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise SpecError(f"classes counts the classes and must be at least 2; got {self.classes}")

    @property
    def latents(self) -> int:
        """K."""
        return self.classes

    @property
    def frozen(self) -> frozenset[str]:
        """The number of training labels: there is nothing to learn."""
        return frozenset({LABEL_COUNT})

    def init(self, targets: Float[Tensor, "B N"]) -> Params:
        """The number of labels, after they have been checked."""
        require_labels(targets.detach().cpu().numpy(), self.classes)
        return {LABEL_COUNT: torch.full_like(targets[..., 0], targets.shape[-1])}

    def bounds(self) -> Bounds:
        """None."""
        return {}

    def ceiling(self, params: Params) -> dict[str, Float[Tensor, "*B"]]:
        """None."""
        return {}

    def noise_var(self, params: Params) -> None:
        """None."""

    def log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], latent: Float[Tensor, "*B K N"]
    ) -> Float[Tensor, "*B N"]:
        """``f_y - log Σ_j e^{f_j}``."""
        return latent.log_softmax(-2).gather(-2, targets.long()[..., None, :])[..., 0, :]
