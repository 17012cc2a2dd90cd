"""Maximum a posteriori network with learned noise; its penalty is chosen by validation NLL."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float

from corners.baselines._gaussian_networks import GaussianNetworkMethod
from corners.baselines._network_fit import GaussianNetworkFit
from corners.baselines._network_problem import MapProblem
from corners.beliefs import Marginals
from corners.method import METHODS
from corners.predictive._base import Predictive
from corners.types import Array

__all__ = ["Map", "MapFit", "MapProblem"]


@dataclass(frozen=True)
class MapFit(GaussianNetworkFit):
    """Fit of :class:`Map`: a point, hence no belief to compare with a posterior."""

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Predictive:
        """``N(wᵀψ, σ²)`` in original units."""
        own = self._usable(replicate)
        mean = self._latent(inputs, replicate)
        marginals = Marginals(mean, torch.zeros_like(mean))
        scale = own.standardiser
        return self.likelihood.predictive(own.params, marginals, scale.target_mean, scale.target_scale)


@METHODS.register("map")
@dataclass(frozen=True)
class Map(GaussianNetworkMethod):
    """MAP network; every penalty of the grid is trained at once and validation NLL chooses, a replicate at a time.

    A penalty λ adds ``½ λ ‖w‖²`` to the negative log likelihood. A penalty published without the half may mean
    ``λ ‖w‖²``; to have it, give twice the number.

    Parameters
    ----------
    noise : "learned" with the network; or the mean square of its "validation" residuals, the variance being 1 while
        the network trains.
    reduction : "sum" of the data term over the training points, or "mean"; penalties are the same beside either.

    Example
    -------
    >>> Map.example().name
    'map'
    """

    name: str = "map"

    def _made(self, **fields: Any) -> MapFit:
        return MapFit(**fields)
