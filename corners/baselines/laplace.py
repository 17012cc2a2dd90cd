"""Laplace approximation of the last layer by laplace-torch, on the penalised network that MAP trains."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones._base import Backbone
from corners.baselines._gaussian_head import GaussianHead, GaussianHeadFit, backbone_params
from corners.baselines._gaussian_networks import GaussianNetworkMethod
from corners.baselines._laplace_layer import (
    REMEDY,
    STRUCTURES,
    Features,
    LaplaceMethod,
    finite_covariance,
    fitted_posterior,
)
from corners.baselines._network_fit import NetworkFit
from corners.baselines._network_problem import WEIGHTS
from corners.baselines._peers import import_peer, peer_version
from corners.baselines._tasks import require_task
from corners.covariances._base import Params
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.likelihoods.gaussian import LOG_NOISE_VAR_FLOOR
from corners.method import METHODS, Fit, FitStatus
from corners.numerics import LOG_2PI
from corners.optimise import Watcher
from corners.protocols import Protocol

if TYPE_CHECKING:
    from corners.data.split import Split

NOISES = ("learned", "validation")


@dataclass(frozen=True)
class TrainedLayer:
    """One replicate's trained network and data in the units trained in, double precision whatever it was trained in."""

    backbone: Backbone
    params: Params
    weights: Float[Tensor, " H"]
    standardiser: Standardiser
    train: tuple[Float[Tensor, "N D"], Float[Tensor, " N"]]
    validation: tuple[Float[Tensor, "M D"], Float[Tensor, " M"]]
    noise_var: float

    @classmethod
    def of(cls, networks: NetworkFit, replicate: int, split: "Split", noise: str) -> "TrainedLayer":
        """Replicate ``replicate`` of the networks with the noise called for."""
        trained = networks.replicates[replicate]
        assert trained is not None
        scale, params = trained.standardiser, backbone_params(trained.params)
        train, validation = (
            (torch.tensor(scale.inputs(part.inputs)), torch.tensor(scale.targets(part.targets)))
            for part in (split.train, split.validation)
        )
        weights = trained.params[WEIGHTS].detach().double()
        learned = networks.likelihood.noise_var(trained.params)
        assert learned is not None
        made = cls(networks.backbone, params, weights, scale, train, validation, float(learned))
        return made if noise == "learned" else replace(made, noise_var=made.residual_var())

    def residual_var(self) -> float:
        """Mean square of the validation residuals, not below the floor of the learned noise."""
        inputs, targets = self.validation
        residuals = targets - self.backbone.features(self.params, inputs) @ self.weights
        return max(float(residuals.square().mean()), math.exp(LOG_NOISE_VAR_FLOOR))

    def posterior(self, library: ModuleType, structure: str) -> Any:
        """The library's posterior, curvature computed, at prior precision 1."""
        inputs, targets = self.train
        return fitted_posterior(
            library,
            Features(self.backbone, self.params),
            self.weights[None],
            (inputs, targets[:, None]),
            likelihood="regression",
            hessian_structure=structure,
            sigma_noise=self.noise_var**0.5,
        )

    def validation_nll(self, head: GaussianHead) -> float:
        """Mean validation NLL in the units trained in; infinite where a variance is none."""
        inputs, targets = self.validation
        mean, variance = head.moments(self.backbone.features(self.params, inputs))
        value = 0.5 * (LOG_2PI + variance.log() + (targets - mean).square() / variance).mean()
        return float(value) if bool(value.isfinite()) else math.inf


def _map_network() -> GaussianNetworkMethod:
    return METHODS.get("map")()


@METHODS.register("laplace")
@dataclass(frozen=True)
class Laplace(LaplaceMethod):
    """``N(w_MAP, (ΨᵀΨ/σ² + λI)⁻¹)`` of laplace-torch (Daxberger et al. 2021), last layer only.

    Parameters
    ----------
    network : the penalised network; by default method ``"map"`` (its penalties chosen by validation NLL).
    structure : "full", or "diagonal": the diagonal of the precision inverted.
    prior_precision : λ as a number; or "validation": from ``precision_grid`` by validation NLL; or
        "marginal_likelihood": where the library's evidence is maximal, which keeps ``w_MAP`` fixed (it is the evidence
        of theory 3 where ``w_MAP`` is the optimum at that λ and σ, and lower elsewhere).
    precision_grid : the λ that validation chooses from.
    noise : σ as the network "learned" it, or the root mean square of its "validation" residuals, which a network that
        takes its own noise from there demands.

    Raises
    ------
    UnavailableError : laplace-torch is missing or broken (from ``fit``).

    Example
    -------
    >>> Laplace.example().structure
    'full'
    """

    network: GaussianNetworkMethod = field(default_factory=_map_network)
    noise: str = "learned"
    name: str = "laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise not in NOISES:
            raise SpecError(f"noise must be one of {', '.join(NOISES)}; got {self.noise!r}")
        if self.noise == "learned" and self.network.noise == "validation":
            raise SpecError("the network takes its noise from validation and learns none; give noise='validation'")

    @classmethod
    def example(cls) -> "Laplace":
        """A small member for the law suite."""
        return cls(METHODS.get("map").example())

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "Laplace":
        """MAP under the protocol; λ from the protocol's penalties by validation NLL, which may be one alone."""
        network = METHODS.get("map").from_protocol(protocol, backbone)
        return cls(network, precision_grid=protocol.penalty_grid, noise=protocol.noise)

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> GaussianHeadFit:
        """Train the networks together, then approximate one posterior a (split, seed) pair."""
        require_task(self, splits)
        library = import_peer("laplace", REMEDY)  # before anything is trained
        started = time.perf_counter()
        networks = self.network.fit(splits, seeds, progress=progress)
        found = [self._approximate(library, networks, k, split) for k, split in enumerate(splits)]
        return GaussianHeadFit(
            method=self.name,
            backbone=networks.backbone,
            seeds=tuple(seeds),
            statuses=tuple(status for _, status in found),
            heads=tuple(head for head, _ in found),
            trace=networks.trace,
            seconds=time.perf_counter() - started,
        )

    def _approximate(
        self, library: ModuleType, networks: NetworkFit, k: int, split: "Split"
    ) -> tuple[GaussianHead | None, FitStatus]:
        status = networks.statuses[k]
        if not status.usable:
            return None, status
        layer = TrainedLayer.of(networks, k, split, self.noise)
        posterior = layer.posterior(library, STRUCTURES[self.structure])
        try:
            remarks = self._set_precision(posterior, lambda each: layer.validation_nll(_head(each, layer)))
            head = _head(posterior, layer)
        except ArithmeticError as error:
            return None, FitStatus("failed", str(error), status.remarks)
        said = f"laplace-torch {peer_version('laplace-torch')} with {self.structure} structure"
        learned = networks.learned(k) | dict(head.learned)
        return replace(head, learned=learned), FitStatus(status.code, status.detail, (*status.remarks, said, *remarks))


def _head(posterior: Any, layer: TrainedLayer) -> GaussianHead:
    """The library's posterior as plain numbers."""
    covariance = finite_covariance(posterior)
    noise_scale = layer.noise_var**0.5 * layer.standardiser.target_scale
    learned = {"prior_precision": float(posterior.prior_precision), "noise_scale": noise_scale}
    return GaussianHead(layer.params, layer.standardiser, layer.weights, covariance, layer.noise_var, learned)
