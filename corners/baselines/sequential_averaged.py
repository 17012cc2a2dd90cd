"""The evidence corner averaged over its hyperparameters: exact given precision and noise, which NUTS samples."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float

from corners.backbones._base import Backbone
from corners.baselines import _sampling
from corners.baselines._hosted import replicate_by_replicate, require_host
from corners.beliefs import GammaPrior, InverseGammaPrior
from corners.errors import SpecError
from corners.exact import Evidence
from corners.method import METHODS, Fit, FitStatus, HyperpriorSpec, LastLayer, Method, Trace
from corners.optimise import Watcher
from corners.predictive.mixture import MixturePredictive
from corners.protocols import Protocol
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

KEPT = 400
"""Hyperparameter draws kept for predictions, evenly spaced over all chains."""


@dataclass(frozen=True, eq=False)
class AveragedLayer:
    """One last layer with draws of its hyperparameters from ``p(α, σ | y)``, in the units it was trained in."""

    layer: LastLayer
    prior_precisions: Float[Array, " S"]
    noise_scales: Float[Array, " S"]

    def predict(self, features: Float[Array, "M H"]) -> MixturePredictive:
        """``(1/S) Σ_s N(ψᵀμ*(α_s, σ_s), σ_s² + ψᵀΣ*(α_s, σ_s)ψ)``, in original units."""
        layer, evidence = self.layer, Evidence(self.layer.features, self.layer.targets)
        pairs = zip(self.prior_precisions, self.noise_scales, strict=True)
        moments = [evidence.predict(features, float(precision), float(scale)) for precision, scale in pairs]
        means = np.stack([each.means for each in moments])
        variances = np.stack([each.variances for each in moments])
        return MixturePredictive(layer.target_mean + layer.target_scale * means, layer.target_scale**2 * variances)


@dataclass(frozen=True)
class SequentialAveragedFit(Fit):
    """Hyperparameter draws of every replicate that passed the gate; features and units are the host's."""

    method: str
    host: Fit
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    averaged: Mapping[int, AveragedLayer]
    trace: Trace
    seconds: float

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> MixturePredictive:
        """The exact predictives averaged over the draws, in original units."""
        features = self.host.features(inputs, replicate=replicate)
        return self._usable(replicate).predict(np.asarray(features))

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"] | None:
        """The host's features."""
        return self.host.features(inputs, replicate=replicate)

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """None: a mixture of Gaussian beliefs is none."""
        return None

    def learned(self, replicate: int) -> dict[str, float]:
        """Geometric means of the draws: the noise scale in original units."""
        found = self._usable(replicate)
        precision, scale = (float(np.exp(np.log(each).mean())) for each in (found.prior_precisions, found.noise_scales))
        return {"prior_precision": precision, "noise_scale": scale * found.layer.target_scale}

    def _usable(self, replicate: int) -> AveragedLayer:
        if not self.statuses[replicate].usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {self.statuses[replicate].sentence}")
        return self.averaged[replicate]


@METHODS.register("sequential_averaged")
@dataclass(frozen=True)
class SequentialAveraged(Method):
    """The evidence corner averaged over precision and noise instead of plugging in their best values.

    ``p(y* | y) = ∫ p(y* | y, α, σ²) p(α, σ² | y) dα dσ²`` at the features that ``sequential`` trained: the integrand is
    the exact conjugate predictive (theory 3.1), and NUTS samples the hyperparameters with the weights integrated out
    (theory 10.1 ii). Its hyperpriors are those of the free cells (theory 7.4): Gamma on the precision, inverse-gamma on
    the noise variance.

    The features are held, and they were trained on the same targets: with many of them the noise that is left for
    ``p(α, σ² | y)`` is too small, where early stopping had kept the plug-in noise larger. On features that owe nothing
    to the targets (:class:`~corners.backbones.identity.Identity`, frozen modules) the average is the exact Bayesian
    answer.

    Example
    -------
    >>> SequentialAveraged().precision_prior.rate_for(50)
    0.26
    """

    draws: int = 1000
    chains: int = 4
    precision_prior: GammaPrior = field(default_factory=GammaPrior)
    noise_prior: InverseGammaPrior = field(default_factory=InverseGammaPrior)
    name: str = "sequential_averaged"
    host: ClassVar[str | None] = "sequential"
    conjugate: ClassVar[bool] = True

    @classmethod
    def example(cls) -> "SequentialAveraged":
        """A small member for the law suite."""
        return cls(draws=500)

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "SequentialAveraged":
        """The hyperpriors of the protocol's free cells; where it has none, those of theory 7.4."""
        made = cls()
        if protocol.precision_shape is not None:
            made = replace(made, precision_prior=GammaPrior(protocol.precision_shape, cap=protocol.precision_cap))
        if protocol.noise_shape is not None:
            noise = InverseGammaPrior(protocol.noise_shape, relative_scale=protocol.noise_relative_scale)
            made = replace(made, noise_prior=noise)
        return made

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> SequentialAveragedFit:
        """Sample the hyperparameters of one layer a (split, seed) pair; a run that fails its gate is a failed one."""
        host, started = require_host(self, host, splits, seeds), time.perf_counter()
        averaged: dict[int, AveragedLayer] = {}

        def fit_one(replicate: int) -> FitStatus:
            averaged[replicate] = self._sample(host, replicate, splits[replicate], seeds[replicate])
            return FitStatus("sampled")

        statuses = replicate_by_replicate(len(splits), fit_one, progress)
        seconds, trace = time.perf_counter() - started, Trace(np.zeros(0))
        return SequentialAveragedFit(self.name, host, tuple(seeds), statuses, averaged, trace, seconds)

    def _sample(self, host: Fit, replicate: int, split: "Split", seed: int) -> AveragedLayer:
        layer = host.last_layer(replicate, split)
        if layer is None:
            raise SpecError(f"{host.method} has no last layer with Gaussian noise")
        layer = replace(layer, precision_prior=self._gamma(layer), noise_prior=self._inverse_gamma(layer))
        reference = _sampling.sample_layer(layer, hierarchical=True, draws=self.draws, chains=self.chains, seed=seed)
        precisions, scales = reference.prior_precision(), reference.noise_scale()
        kept = slice(None, None, max(1, len(scales) // KEPT))
        return AveragedLayer(layer, precisions[kept], scales[kept])

    def _gamma(self, layer: LastLayer) -> HyperpriorSpec:
        return HyperpriorSpec(
            "gamma", self.precision_prior.shape, self.precision_prior.rate_for(layer.features.shape[1])
        )

    def _inverse_gamma(self, layer: LastLayer) -> HyperpriorSpec:
        prior = self.noise_prior
        scale = prior.relative_scale * float(layer.targets.var()) if prior.scale is None else prior.scale
        return HyperpriorSpec("inverse_gamma", prior.shape, scale)
