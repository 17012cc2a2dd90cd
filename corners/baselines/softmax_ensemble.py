"""Deep ensemble of cross-entropy networks: members from different initial weights, mixed with equal weights."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from corners.baselines._ensemble import EnsembleMethod
from corners.baselines._softmax_networks import SoftmaxNetworkFit, SoftmaxNetworkMethod
from corners.method import METHODS
from corners.types import Array


@dataclass(frozen=True)
class SoftmaxEnsembleFit(SoftmaxNetworkFit):
    """Fit of :class:`SoftmaxEnsemble`; ``steps`` in ``learned`` are those of the longest member."""

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> None:
        """None: every member has features of its own."""
        return

    def _draws(self, inputs: Array, replicate: int) -> Float[Tensor, "S K N"]:
        members = range(len(self._usable(replicate).members))
        return torch.stack([self._latent(inputs, replicate, member) for member in members])


@METHODS.register("softmax_ensemble")
@dataclass(frozen=True)
class SoftmaxEnsemble(EnsembleMethod, SoftmaxNetworkMethod):
    """``(1/M) Σ_m softmax(W_mψ_m(x))``: ``members`` networks as ``softmax`` trains them; one penalty for all of them.

    The penalty is chosen by the validation NLL of the mixture. The first member starts from the seed's own network, so
    that one member is ``softmax``; the others start from seeds derived from it.

    Parameters
    ----------
    temperature : fit one temperature of the mixture on the validation part.

    Reference: Lakshminarayanan et al. (2017), Simple and scalable predictive uncertainty estimation using deep
    ensembles, section 2.4; without its adversarial training.

    Example
    -------
    >>> SoftmaxEnsemble().members
    5
    """

    name: str = "softmax_ensemble"

    def _made(self, **fields: Any) -> SoftmaxEnsembleFit:
        return SoftmaxEnsembleFit(**fields)
