"""What training networks leaves behind: one replicate's parameters, and the fit that predicts with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones._base import Backbone
from corners.baselines._heads import Head
from corners.baselines._network_problem import WEIGHTS, latent_values, shifted
from corners.covariances._base import Params
from corners.data.batch import DTYPES
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.method import Fit, FitStatus, LastLayer, Trace
from corners.predictive.mixture import MixturePredictive
from corners.selection import Candidate
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split


def derived_seed(seed: int, *key: int) -> int:
    """A seed for one use of ``seed``: other keys give streams that have nothing to do with one another.

    Example
    -------
    >>> derived_seed(5, 1) == derived_seed(5, 1), derived_seed(5, 1) == derived_seed(5, 2)
    (True, False)
    """
    return int(np.random.SeedSequence(seed % 2**64, spawn_key=key).generate_state(1, np.uint64)[0])


def validation_scores(predictive: MixturePredictive, split: "Split") -> dict[str, float]:
    """NLL of a mixture, and of the Gaussian with its moments, on the validation part (nats a point, original units)."""
    targets = split.validation.targets
    return {
        "validation_nll": -float(predictive.log_prob(targets).mean()),
        "moment_matched_validation_nll": -float(predictive.moment_matched.log_prob(targets).mean()),
    }


@dataclass(frozen=True)
class NetworkReplicate:
    """The trained networks of one replicate (one, or the members of an ensemble) and the candidate validation chose."""

    members: tuple[Params, ...]
    chosen: Candidate
    best_step: int
    standardiser: Standardiser

    @property
    def params(self) -> Params:
        """Parameters of the network, or of the first."""
        return self.members[0]


@dataclass(frozen=True)
class NetworkFit(Fit):
    """Fit of networks: points, hence no belief to compare with a posterior."""

    method: str
    backbone: Backbone
    likelihood: Head
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    replicates: tuple[NetworkReplicate | None, ...]
    trace: Trace
    seconds: float
    dtype: str = "float64"
    found: tuple[Mapping[str, float], ...] = ()
    """What a method adds to ``learned``, a replicate."""

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"] | None:
        """Features of inputs in original units."""
        return self._features(inputs, replicate).double().numpy()

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """None: a point estimate is no belief."""
        return None

    def learned(self, replicate: int) -> dict[str, float]:
        """``noise_scale`` (original units) if any, the chosen ``penalty``, ``steps`` and what the method adds."""
        own = self.replicates[replicate]
        if own is None:
            return {}
        noise_var = self.likelihood.noise_var(own.params)
        noise = {} if noise_var is None else {"noise_scale": float(noise_var.sqrt()) * own.standardiser.target_scale}
        found = self.found[replicate] if self.found else {}
        return {**noise, **own.chosen, "steps": float(own.best_step), **found}

    def _features(self, inputs: Array, replicate: int, member: int = 0) -> Tensor:
        own = self._usable(replicate)
        scaled = torch.tensor(own.standardiser.inputs(inputs), dtype=DTYPES[self.dtype])
        with torch.no_grad():
            return self.backbone.features(own.members[member], scaled)

    def _latent(self, inputs: Array, replicate: int, member: int = 0) -> Float[Tensor, "*K N"]:
        """``Wψ(x)`` of one member, in the units trained in."""
        params = self._usable(replicate).members[member]
        return shifted(params, latent_values(params[WEIGHTS], self._features(inputs, replicate, member)))

    def _usable(self, replicate: int) -> NetworkReplicate:
        own, status = self.replicates[replicate], self.statuses[replicate]
        if own is None or not status.usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {status.sentence}")
        return own


@dataclass(frozen=True)
class GaussianNetworkFit(NetworkFit):
    """Fit of networks with Gaussian noise."""

    likelihood: Gaussian
