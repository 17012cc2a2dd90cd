"""NUTS on the last layer of another fit: the ground truth as a method, scored like the others."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from corners.backbones._base import Backbone
from corners.baselines import _sampling
from corners.baselines._hosted import replicate_by_replicate, require_host
from corners.baselines._sampling import GAUSSIAN
from corners.errors import SpecError
from corners.method import METHODS, Fit, FitStatus, LastLayer, Method, Trace
from corners.optimise import Watcher
from corners.predictive._base import Predictive
from corners.predictive.categorical import CategoricalPredictive
from corners.predictive.count_mixture import CountMixturePredictive
from corners.predictive.mixture import MixturePredictive
from corners.predictive.student_t_mixture import StudentTMixturePredictive
from corners.protocols import Protocol
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split
    from inference.truth.reference import ReferencePosterior

THINNED, THINNED_MORE = 500, 200
"""Draws kept for predictions, evenly spaced over all chains: a mixture of 4000 components costs without gain.

Of Student-t and negative binomial components fewer: their distribution functions cost ten times a Gaussian's.
"""
CLOSED_HOST = "sequential"


@dataclass(frozen=True)
class NutsFit(Fit):
    """Draws of every replicate that passed the gate; features and units are the host's."""

    method: str
    host: Fit
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    references: Mapping[int, "ReferencePosterior"]
    layers: Mapping[int, LastLayer]
    trace: Trace
    seconds: float

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Predictive | CategoricalPredictive:
        """Equal-weight mixture of ``p(y | f_s = w_sᵀψ)`` over the draws, in original units."""
        if replicate not in self.references:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {self.statuses[replicate].sentence}")
        layer, features = self.layers[replicate], self.host.features(inputs, replicate=replicate)
        return _mixture(layer, self.references[replicate], np.asarray(features))

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"] | None:
        """The host's features."""
        return self.host.features(inputs, replicate=replicate)

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """None: the draws are the truth, not a Gaussian belief to be compared with it."""
        return None

    def learned(self, replicate: int) -> dict[str, float]:
        """The host's hyperparameters, at which the draws were made."""
        layer = self.layers.get(replicate)
        if layer is None:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {self.statuses[replicate].sentence}")
        if layer.likelihood != GAUSSIAN:
            unit = {"scale": layer.target_scale}  # the one parameter that has the unit of the targets
            found = {name: value * unit.get(name, 1.0) for name, value in layer.likelihood_params.items()}
            return {"prior_precision": layer.prior_precision, **found}
        return {"prior_precision": layer.prior_precision, "noise_scale": layer.noise_var**0.5 * layer.target_scale}


def _mixture(
    layer: LastLayer, reference: "ReferencePosterior", features: Float[Array, "M H"]
) -> Predictive | CategoricalPredictive:
    """The draws' predictive in original units: of Gaussians, Student-t's or counts, or averaged class probabilities."""
    if layer.likelihood == GAUSSIAN:
        location, scale = reference.predictive_draws(features)
        kept = _kept(len(location), THINNED)
        means = layer.target_mean + layer.target_scale * location[kept]
        noise_var = (layer.target_scale * scale[kept, None]) ** 2
        return MixturePredictive(means, np.broadcast_to(noise_var, means.shape).copy())
    latent, drawn = reference.latent_draws(features), reference.parameters()
    kept = _kept(len(latent), THINNED_MORE if layer.likelihood in ("student_t", "negative_binomial") else THINNED)
    latent, drawn = latent[kept], {name: values[kept] for name, values in drawn.items()}
    if layer.likelihood == "student_t":
        locations = layer.target_mean + layer.target_scale * latent
        scales = np.broadcast_to(layer.target_scale * drawn["scale"][:, None], latent.shape)
        return StudentTMixturePredictive(locations, scales.copy(), float(drawn["df"][0]))
    if layer.likelihood in ("poisson", "negative_binomial"):
        return CountMixturePredictive(latent, drawn.get("size"))
    classes = sum(name.startswith("gap_") for name in drawn) + 2
    labels = [np.full(latent.shape[1], float(k)) for k in range(classes)]
    return CategoricalPredictive.from_draws(np.stack([reference.log_prob(y, latent, drawn) for y in labels], -1))


def _kept(count: int, most: int) -> slice:
    return slice(None, None, max(1, count // most))


@METHODS.register("nuts")
@dataclass(frozen=True)
class Nuts(Method):
    """NUTS in PyMC on the last layer that ``host`` trained, hyperparameters fixed at the host's (theory 10.1 i).

    The likelihood is the host's. ``sequential`` is of Gaussian noise; of any other head name a free cell.

    Example
    -------
    >>> Nuts.host, Nuts(host="scroll_dense").tasks
    ('sequential', ('regression', 'classification', 'count'))
    """

    draws: int = 1000
    chains: int = 4
    name: str = "nuts"
    host: str = CLOSED_HOST  # type: ignore[misc]  # elsewhere a constant of the class; here an option

    def __post_init__(self) -> None:
        if self.host != CLOSED_HOST:  # a free cell may have been trained on any task; a fit's head is looked at later
            object.__setattr__(self, "tasks", ("regression", "classification", "count"))

    @classmethod
    def example(cls) -> "Nuts":
        """A small member for the law suite."""
        return cls(draws=500)

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "Nuts":
        """As theory 10.1 says; features come from the host."""
        return cls()

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> NutsFit:
        """Sample one last layer a (split, seed) pair; a run that fails its gate is a failed replicate."""
        host, started = require_host(self, host, splits, seeds), time.perf_counter()
        references: dict[int, ReferencePosterior] = {}
        layers: dict[int, LastLayer] = {}

        def fit_one(replicate: int) -> FitStatus:
            layer = host.sampled_layer(replicate, splits[replicate])
            if layer is None:
                raise SpecError(f"{host.method} has no last layer to sample, or one a latent function")
            layers[replicate] = layer
            references[replicate] = _sampling.sample_layer(
                layer, draws=self.draws, chains=self.chains, seed=seeds[replicate]
            )
            return FitStatus("sampled")

        statuses = replicate_by_replicate(len(splits), fit_one, progress)
        seconds, trace = time.perf_counter() - started, Trace(np.zeros(0))
        return NutsFit(self.name, host, tuple(seeds), statuses, references, layers, trace, seconds)
