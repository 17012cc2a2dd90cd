"""Laplace approximation of the last layer by laplace-torch, on the penalised network that MAP trains."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from corners.backbones._base import Backbone
from corners.baselines._gaussian_head import GaussianHead, GaussianHeadFit, backbone_params
from corners.baselines._network_fit import NetworkFit
from corners.baselines._network_problem import WEIGHTS
from corners.baselines._networks import NetworkMethod
from corners.baselines._peers import import_peer, peer_version
from corners.covariances._base import Params
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.likelihoods.gaussian import LOG_NOISE_VAR_FLOOR
from corners.method import METHODS, Fit, FitStatus, Method
from corners.numerics import LOG_2PI
from corners.optimise import Schedule, Watcher
from corners.protocols import Protocol, require_penalty_grid
from corners.selection import best_candidate, choice_remarks

if TYPE_CHECKING:
    from corners.data.split import Split

STRUCTURES = {"full": "full", "diagonal": "diag"}
NOISES = ("learned", "validation")
SELECTIONS = ("validation", "marginal_likelihood")
EVIDENCE_STEPS = 500
STILL_RISING = 1e-2
"""Nats a unit of log precision beyond which the evidence is not called maximal."""
UNINFORMED = 0.99
"""Share of the prior variance left in the posterior beyond which the prior precision ran away."""
LAYER = "1"
"""Name of the last layer inside the sequential model handed over."""
REMEDY = (
    "pip install 'bethe-corners[baselines]', then "
    "pip install --no-deps laplace-torch==0.3 curvlinops-for-pytorch==3.0.1 backpack-for-pytorch==1.7.1 "
    "(with their dependencies they would bring a torchvision that breaks torch's CPU build)"
)


class Features(nn.Module):
    """A trained backbone as a torch module without parameters of its own."""

    def __init__(self, backbone: Backbone, params: Params) -> None:
        super().__init__()
        self.backbone, self.trained = backbone, params

    def forward(self, inputs: Float[Tensor, "N D"]) -> Float[Tensor, "N H"]:
        """``ψ(x)``."""
        return self.backbone.features(self.trained, inputs)


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
        learned = float(networks.likelihood.noise_var(trained.params))
        made = cls(networks.backbone, params, weights, scale, train, validation, learned)
        return made if noise == "learned" else replace(made, noise_var=made.residual_var())

    def residual_var(self) -> float:
        """Mean square of the validation residuals, not below the floor of the learned noise."""
        inputs, targets = self.validation
        residuals = targets - self.backbone.features(self.params, inputs) @ self.weights
        return max(float(residuals.square().mean()), math.exp(LOG_NOISE_VAR_FLOOR))

    def posterior(self, library: ModuleType, structure: str) -> Any:
        """The library's posterior, curvature computed, at prior precision 1."""
        last = nn.Linear(len(self.weights), 1, bias=False, dtype=torch.float64)
        with torch.no_grad():
            last.weight.copy_(self.weights[None])
        made = library.Laplace(
            nn.Sequential(Features(self.backbone, self.params), last),
            "regression",
            subset_of_weights="last_layer",
            hessian_structure=structure,
            sigma_noise=self.noise_var**0.5,
            last_layer_name=LAYER,
            backend=library.curvature.GGNInterface,  # the default one multiplies in single precision
        )
        inputs, targets = self.train
        rows = torch.utils.data.TensorDataset(inputs, targets[:, None])
        made.fit(torch.utils.data.DataLoader(rows, batch_size=len(rows)))
        return made

    def validation_nll(self, head: GaussianHead) -> float:
        """Mean validation NLL in the units trained in; infinite where a variance is none."""
        inputs, targets = self.validation
        mean, variance = head.moments(self.backbone.features(self.params, inputs))
        value = 0.5 * (LOG_2PI + variance.log() + (targets - mean).square() / variance).mean()
        return float(value) if bool(value.isfinite()) else math.inf


def _map_network() -> NetworkMethod:
    return METHODS.get("map")()


@METHODS.register("laplace")
@dataclass(frozen=True)
class Laplace(Method):
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

    network: NetworkMethod = field(default_factory=_map_network)
    structure: str = "full"
    prior_precision: float | str = "validation"
    precision_grid: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    noise: str = "learned"
    name: str = "laplace"

    def __post_init__(self) -> None:
        if self.structure not in STRUCTURES:
            raise SpecError(f"structure must be one of {', '.join(STRUCTURES)}; got {self.structure!r}")
        if self.noise not in NOISES:
            raise SpecError(f"noise must be one of {', '.join(NOISES)}; got {self.noise!r}")
        if self.noise == "learned" and self.network.noise == "validation":
            raise SpecError("the network takes its noise from validation and learns none; give noise='validation'")
        require_penalty_grid(self.precision_grid)
        chosen = self.prior_precision
        if not (chosen in SELECTIONS if isinstance(chosen, str) else 0.0 < chosen < float("inf")):
            raise SpecError(f"prior_precision must be positive and finite or {' or '.join(SELECTIONS)}; got {chosen!r}")

    @classmethod
    def example(cls) -> "Laplace":
        """A small member for the law suite."""
        return cls(METHODS.get("map").example())

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "Laplace":
        """MAP under the protocol; λ from the protocol's penalties by validation NLL, which may be one alone."""
        network = METHODS.get("map").from_protocol(protocol, backbone)
        return cls(network, precision_grid=protocol.penalty_grid, noise=protocol.noise)

    @property
    def schedule(self) -> Schedule:
        """The network's."""
        return self.network.schedule

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> GaussianHeadFit:
        """Train the networks together, then approximate one posterior a (split, seed) pair."""
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
            remarks = self._set_precision(posterior, layer)
            head = _head(posterior, layer)
        except ArithmeticError as error:
            return None, FitStatus("failed", str(error), status.remarks)
        said = f"laplace-torch {peer_version('laplace-torch')} with {self.structure} structure"
        learned = networks.learned(k) | dict(head.learned)
        return replace(head, learned=learned), FitStatus(status.code, status.detail, (*status.remarks, said, *remarks))

    def _set_precision(self, posterior: Any, layer: TrainedLayer) -> tuple[str, ...]:
        """Give the posterior its prior precision; what is to be said of the choice."""
        if self.prior_precision == "validation":
            return self._choose_by_validation(posterior, layer)
        if self.prior_precision == "marginal_likelihood":
            return _maximise_evidence(posterior)
        posterior.prior_precision = float(self.prior_precision)
        return ()

    def _choose_by_validation(self, posterior: Any, layer: TrainedLayer) -> tuple[str, ...]:
        grid = self.precision_grid
        scores = np.array([_validation_nll(posterior, layer, precision) for precision in grid])
        best = best_candidate(scores)
        if best is None:
            raise ArithmeticError("the posterior is proper at no prior precision of the grid; give larger ones")
        posterior.prior_precision = grid[best]
        return choice_remarks([{"prior_precision": precision} for precision in grid], scores, best)


def _validation_nll(posterior: Any, layer: TrainedLayer, precision: float) -> float:
    """Validation NLL at a prior precision; infinite where the posterior is improper."""
    posterior.prior_precision = precision
    try:
        return layer.validation_nll(_head(posterior, layer))
    except ArithmeticError:
        return math.inf


def _head(posterior: Any, layer: TrainedLayer) -> GaussianHead:
    """The library's posterior as plain numbers."""
    precision = float(posterior.prior_precision)
    try:
        covariance = _covariance(posterior)
    except torch.linalg.LinAlgError as error:  # pyright: ignore[reportPrivateImportUsage]
        raise ArithmeticError(f"the posterior precision is singular at prior precision {precision:g}") from error
    if not bool(covariance.isfinite().all()):
        raise ArithmeticError(f"the posterior covariance is not finite at prior precision {precision:g}")
    noise_scale = layer.noise_var**0.5 * layer.standardiser.target_scale
    learned = {"prior_precision": precision, "noise_scale": noise_scale}
    return GaussianHead(layer.params, layer.standardiser, layer.weights, covariance, layer.noise_var, learned)


def _covariance(posterior: Any) -> Float[Tensor, "H H"]:
    if hasattr(type(posterior), "posterior_variance"):  # of the diagonal structure
        return posterior.posterior_variance.diag()
    return posterior.posterior_covariance


def _maximise_evidence(posterior: Any) -> tuple[str, ...]:
    """The library's own optimiser on one precision for all weights; says so where it has not arrived."""
    posterior.optimize_prior_precision(
        pred_type="glm", method="marglik", prior_structure="scalar", n_steps=EVIDENCE_STEPS, lr=0.1
    )
    log_precision = posterior.prior_precision.log().detach().requires_grad_()
    (slope,) = torch.autograd.grad(posterior.log_marginal_likelihood(log_precision.exp()), log_precision)
    posterior.prior_precision = log_precision.detach().exp()
    share = float(posterior.prior_precision) * float(_covariance(posterior).trace()) / posterior.n_params
    if share > UNINFORMED:
        return ("prior precision ran away: the evidence leaves the data no say in the weights",)
    if float(slope.abs()) > STILL_RISING:
        return (f"evidence is not maximal yet: {EVIDENCE_STEPS} steps in the log precision were not enough",)
    return ()
