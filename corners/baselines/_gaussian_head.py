"""A trained network whose last layer has a Gaussian belief: how it predicts, once a peer library made it."""

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from corners.backbones._base import PREFIX, Backbone
from corners.baselines._head_fit import HeadFit
from corners.covariances._base import Params
from corners.data.standardiser import Standardiser
from corners.method import FitStatus, Trace
from corners.predictive.gaussian import GaussianPredictive
from corners.types import Array


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
class GaussianHeadFit(HeadFit[GaussianHead]):
    """Replicates of one method as plain numbers: the peer that made them is not needed to predict."""

    method: str
    backbone: Backbone
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    heads: tuple[GaussianHead | None, ...]
    trace: Trace
    seconds: float

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> GaussianPredictive:
        """``N(mᵀψ, ψᵀΣψ + σ²)`` in original units."""
        head = self._usable(replicate)
        mean, variance = head.moments(self._features(inputs, head))
        scale = head.standardiser
        return GaussianPredictive(scale.original_mean(mean.numpy()), scale.original_var(variance.numpy()))


def backbone_params(params: Params) -> Params:
    """The backbone's own parameters in double precision."""
    return {name: value.detach().double() for name, value in params.items() if name.startswith(PREFIX)}
