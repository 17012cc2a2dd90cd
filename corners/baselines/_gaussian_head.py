"""A trained network whose last layer has a Gaussian belief: how it predicts, once a peer library made it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones._base import PREFIX, Backbone
from corners.covariances._base import Params
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.method import Fit, FitStatus, LastLayer, Trace
from corners.predictive.gaussian import GaussianPredictive
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split


@dataclass(frozen=True)
class GaussianHead:
    """``N(mean, covariance)`` over one replicate's last layer, in the units trained in and double precision."""

    backbone_params: Params
    standardiser: Standardiser
    mean: Float[Tensor, " H"]
    covariance: Float[Tensor, "H H"]
    noise_var: float
    learned: Mapping[str, float]

    def moments(self, features: Float[Tensor, "N H"]) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
        """``mᵀψ`` and ``ψᵀΣψ + σ²``."""
        spread = ((features @ self.covariance) * features).sum(-1)
        return features @ self.mean, spread + self.noise_var


@dataclass(frozen=True)
class GaussianHeadFit(Fit):
    """Replicates of one method as plain numbers: the peer that made them is not needed to predict."""

    method: str
    backbone: Backbone
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    heads: tuple[GaussianHead | None, ...]
    trace: Trace
    seconds: float

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"]:
        """Features of inputs in original units."""
        return self._features(inputs, self._usable(replicate)).numpy()

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> GaussianPredictive:
        """``N(mᵀψ, ψᵀΣψ + σ²)`` in original units."""
        head = self._usable(replicate)
        mean, variance = head.moments(self._features(inputs, head))
        scale = head.standardiser
        return GaussianPredictive(scale.original_mean(mean.numpy()), scale.original_var(variance.numpy()))

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """None: the belief belongs to no cell of the design space, whose conditions the comparison would check."""
        return None

    def learned(self, replicate: int) -> dict[str, float]:
        """Hyperparameters by name."""
        head = self.heads[replicate]
        return {} if head is None else dict(head.learned)

    def _features(self, inputs: Array, head: GaussianHead) -> Tensor:
        with torch.no_grad():
            return self.backbone.features(head.backbone_params, torch.tensor(head.standardiser.inputs(inputs)))

    def _usable(self, replicate: int) -> GaussianHead:
        head, status = self.heads[replicate], self.statuses[replicate]
        if head is None or not status.usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {status.sentence}")
        return head


def backbone_params(params: Params) -> Params:
    """The backbone's own parameters in double precision."""
    return {name: value.detach().double() for name, value in params.items() if name.startswith(PREFIX)}
