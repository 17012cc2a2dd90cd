"""Laplace approximation of the last layer by laplace-torch, on the cross-entropy network that ``softmax`` trains."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones._base import Backbone
from corners.baselines._classifiers import ClassifierFit, finished
from corners.baselines._gaussian_head import backbone_params
from corners.baselines._head_fit import HeadFit
from corners.baselines._laplace_layer import (
    REMEDY,
    STRUCTURES,
    Features,
    LaplaceMethod,
    finite_covariance,
    fitted_posterior,
)
from corners.baselines._network_fit import NetworkFit, derived_seed
from corners.baselines._network_problem import WEIGHTS
from corners.baselines._peers import import_peer, peer_version
from corners.baselines._softmax_networks import SoftmaxNetworkMethod, log_softmax
from corners.baselines._tasks import require_task
from corners.baselines._temperature import Temperature
from corners.covariances._base import Params
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.method import METHODS, Fit, FitStatus, Trace
from corners.optimise import Watcher
from corners.predictive.categorical import CategoricalPredictive
from corners.protocols import Protocol
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

LINKS = ("samples", "probit")
DRAWS = (2, 0)
"""What the draws of a seed's last layer are derived by; members and masks of networks have other keys."""


@dataclass(frozen=True)
class SoftmaxHead:
    """One replicate's belief over ``W`` as plain numbers: its draws, or what the probit approximation needs."""

    backbone_params: Params
    standardiser: Standardiser
    mean: Float[Tensor, "K H"]
    draws: Float[Tensor, "S K H"] | None
    blocks: Float[Tensor, "K H H"] | None
    learned: Mapping[str, float]

    def predictive(self, features: Float[Tensor, "N H"]) -> CategoricalPredictive:
        """Average of the draws' softmaxes, or ``softmax(m / √(1 + π v/8))`` with each function's own variance."""
        if self.draws is not None:
            return CategoricalPredictive.from_draws(log_softmax(self.draws @ features.mT))
        assert self.blocks is not None
        variance = ((features @ self.blocks) * features).sum(-1)
        latent = (self.mean @ features.mT) * (1.0 + math.pi / 8.0 * variance).rsqrt()
        return CategoricalPredictive.from_logarithms(log_softmax(latent))


@dataclass(frozen=True)
class SoftmaxLaplaceFit(HeadFit[SoftmaxHead], ClassifierFit):
    """Replicates as plain numbers: the peer that made them is not needed to predict."""

    method: str
    backbone: Backbone
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    heads: tuple[SoftmaxHead | None, ...]
    trace: Trace
    seconds: float
    temperatures: tuple[Temperature | None, ...] = ()

    def untempered(self, inputs: Float[Array, "..."], replicate: int) -> CategoricalPredictive:
        """Class probabilities averaged over the belief."""
        head = self._usable(replicate)
        return head.predictive(self._features(inputs, head))

    def learned(self, replicate: int) -> dict[str, float]:
        """``prior_precision``, and what the network learned."""
        return super().learned(replicate) | self.tempering(replicate)


def _softmax_network() -> SoftmaxNetworkMethod:
    return METHODS.get("softmax")()


@METHODS.register("softmax_laplace")
@dataclass(frozen=True)
class SoftmaxLaplace(LaplaceMethod):
    """``N(W_MAP, (Σ_n (diag p_n - p_n p_nᵀ) ⊗ ψ_nψ_nᵀ + λI)⁻¹)`` of laplace-torch, last layer only, averaged by draws.

    Parameters
    ----------
    network : the penalised network; by default method ``"softmax"`` (its penalties chosen by validation NLL).
    structure : "full", or "diagonal": the diagonal of the precision inverted.
    prior_precision : λ as a number; or "validation": from ``precision_grid`` by validation NLL of the predictive; or
        "marginal_likelihood": where the library's evidence is maximal, which keeps ``W_MAP`` fixed.
    precision_grid : the λ that validation chooses from.
    link : "samples": the average of the softmax over ``samples`` draws of ``W``, derived from the seed and the same at
        every input; or "probit": the library's closed approximation ``softmax(m / √(1 + π v/8))``.
    temperature : fit one temperature of the predictive on the validation part.

    Raises
    ------
    UnavailableError : laplace-torch is missing or broken (from ``fit``).

    Reference: Daxberger et al. (2021), Laplace redux, sections 2 and 3.

    Example
    -------
    >>> SoftmaxLaplace.example().samples
    100
    """

    network: SoftmaxNetworkMethod = field(default_factory=_softmax_network)
    link: str = "samples"
    samples: int = 100
    temperature: bool = False
    name: str = "softmax_laplace"
    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.link not in LINKS:
            raise SpecError(f"link must be one of {', '.join(LINKS)}; got {self.link!r}")
        if self.samples < 1:
            raise SpecError(f"at least 1 draw is needed to predict; got samples={self.samples}")

    @classmethod
    def example(cls) -> "SoftmaxLaplace":
        """A small member for the law suite."""
        return cls(METHODS.get("softmax").example())

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "SoftmaxLaplace":
        """``softmax`` under the protocol; λ from the protocol's penalties by validation NLL, which may be one alone."""
        network = METHODS.get("softmax").from_protocol(protocol, backbone)
        return cls(network, precision_grid=protocol.penalty_grid)

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> SoftmaxLaplaceFit:
        """Train the networks together, then approximate one posterior a (split, seed) pair."""
        require_task(self, splits)
        library = import_peer("laplace", REMEDY)  # before anything is trained
        started = time.perf_counter()
        networks = replace(self.network, temperature=False).fit(splits, seeds, progress=progress)
        found = [self._approximate(library, networks, k, split) for k, split in enumerate(splits)]
        made = SoftmaxLaplaceFit(
            method=self.name,
            backbone=networks.backbone,
            seeds=tuple(seeds),
            statuses=tuple(status for _, status in found),
            heads=tuple(head for head, _ in found),
            trace=networks.trace,
            seconds=time.perf_counter() - started,
        )
        return finished(made, splits, temperature=self.temperature, classes_said=True)

    def _approximate(
        self, library: ModuleType, networks: NetworkFit, k: int, split: "Split"
    ) -> tuple[SoftmaxHead | None, FitStatus]:
        status, trained = networks.statuses[k], networks.replicates[k]
        if trained is None or not status.usable:
            return None, status
        scale, params = trained.standardiser, backbone_params(trained.params)
        weights, features = trained.params[WEIGHTS].detach().double(), Features(networks.backbone, params)
        posterior = fitted_posterior(
            library,
            features,
            weights,
            (torch.tensor(scale.inputs(split.train.inputs)), torch.tensor(split.train.targets).long()),
            likelihood="classification",
            hessian_structure=STRUCTURES[self.structure],
        )
        part, bare = split.validation, SoftmaxHead(params, scale, weights, None, None, {})
        inputs = features(torch.tensor(scale.inputs(part.inputs)))

        def nll(each: Any) -> float:
            belief = self._belief(each, bare, networks.seeds[k])
            return -float(belief.predictive(inputs).log_prob(part.targets).mean())

        try:
            remarks = self._set_precision(posterior, nll)
            head = self._belief(posterior, bare, networks.seeds[k])
        except ArithmeticError as error:
            return None, FitStatus("failed", str(error), status.remarks)
        said = f"laplace-torch {peer_version('laplace-torch')} with {self.structure} structure"
        learned = networks.learned(k) | {
            "prior_precision": float(posterior.prior_precision),
            "validation_nll": nll(posterior),
        }
        statuses = FitStatus(status.code, status.detail, (*status.remarks, said, *remarks))
        return replace(head, learned=learned), statuses

    def _belief(self, posterior: Any, bare: SoftmaxHead, seed: int) -> SoftmaxHead:
        """The library's posterior as plain numbers: its own draws, or the blocks of its covariance."""
        covariance, (classes, size) = finite_covariance(posterior), bare.mean.shape
        if self.link == "probit":
            blocks = covariance.reshape(classes, size, classes, size).diagonal(dim1=0, dim2=2).movedim(-1, 0)
            return replace(bare, blocks=blocks.clone())
        generator = torch.Generator().manual_seed(derived_seed(seed, *DRAWS))
        draws = posterior.sample(self.samples, generator)
        return replace(bare, draws=draws.detach().reshape(self.samples, classes, size))
