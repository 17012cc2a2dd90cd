"""Deep ensemble: several MAP networks from different initial weights, mixed with equal weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from corners.baselines._ensemble import EnsembleMethod
from corners.baselines._gaussian_networks import GaussianNetworkMethod
from corners.baselines._network_fit import GaussianNetworkFit, validation_scores
from corners.method import METHODS
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.mixture import MixturePredictive
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split


@dataclass(frozen=True)
class DeepEnsembleFit(GaussianNetworkFit):
    """Fit of :class:`DeepEnsemble`; ``learned`` has the root mean noise variance and the longest member's steps."""

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> MixturePredictive:
        """``(1/M) Σ_m N(w_mᵀψ_m, σ_m²)`` in original units."""
        own = self._usable(replicate)
        latents = [self._latent(inputs, replicate, member) for member in range(len(own.members))]
        means = own.standardiser.original_mean(torch.stack(latents).double().numpy())
        return MixturePredictive(means, np.broadcast_to(self._noise_vars(replicate)[:, None], means.shape).copy())

    def moments(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> GaussianPredictive:
        """The Gaussian with the mixture's mean and variance, as Lakshminarayanan et al. (2017) report."""
        return self.predict(inputs, replicate=replicate).moment_matched

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> None:
        """None: every member has features of its own."""
        return

    def learned(self, replicate: int) -> dict[str, float]:
        """``noise_scale`` is the root mean of the members' noise variances."""
        values = super().learned(replicate)
        return values and values | {"noise_scale": float(np.sqrt(self._noise_vars(replicate).mean()))}

    def _noise_vars(self, replicate: int) -> Float[Array, " M"]:
        """Noise variance of every member, original units."""
        own = self.replicates[replicate]
        members = () if own is None else own.members
        values = np.array([float(self.likelihood.noise_var(params)) for params in members])
        return values if own is None else own.standardiser.original_var(values)


@METHODS.register("deep_ensemble")
@dataclass(frozen=True)
class DeepEnsemble(EnsembleMethod, GaussianNetworkMethod):
    """``members`` networks as ``map`` trains them, each stopped on its own; one penalty for all of them.

    The penalty is chosen by the validation NLL of the mixture; a noise from validation is each member's own. The first
    member starts from the seed's own network, so that one member is ``map``; the others start from seeds derived from
    it.

    Reference: Lakshminarayanan et al. (2017), Simple and scalable predictive uncertainty estimation using deep
    ensembles, section 2.4; without its adversarial training, and with one noise variance a member.

    Example
    -------
    >>> DeepEnsemble().members
    5
    """

    name: str = "deep_ensemble"

    def _made(self, **fields: Any) -> DeepEnsembleFit:
        return DeepEnsembleFit(**fields)

    def _found(self, fit: DeepEnsembleFit, replicate: int, split: "Split") -> Mapping[str, float]:
        return validation_scores(fit.predict(split.validation.inputs, replicate=replicate), split)
