"""Maximum a posteriori network with learned noise; its penalty is chosen by validation NLL."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones._base import Backbone
from corners.backbones.mlp import MLP
from corners.beliefs import Marginals
from corners.covariances._base import Params
from corners.data.batch import DTYPES, SplitBatch, stack_splits
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.method import METHODS, Fit, FitStatus, LastLayer, Method, Trace
from corners.optimise import Outcome, Schedule, Watcher, fit_in_groups, train
from corners.predictive._base import Predictive
from corners.protocols import Protocol, require_penalty_grid
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

WEIGHTS = "weights"


@dataclass(frozen=True)
class MapProblem:
    """``Σ_n -log p(y_n | wᵀψ_n) + ½ λ ‖w‖² + λ_bb ‖W_hidden‖²`` for every pair of replicate and penalty λ."""

    backbone: Backbone
    likelihood: Gaussian
    data: SplitBatch
    penalties: Float[Tensor, " B"]
    backbone_penalty: float

    @property
    def count(self) -> int:
        """Number of pairs of replicate and penalty."""
        return self.data.count

    def objective(self, params: Params, step: int) -> tuple[Float[Tensor, " B"], None]:
        """The penalised negative log likelihood, a total in nats."""
        latent = self._latent(params, self.data.train.inputs)
        data = -self.likelihood.log_prob(params, self.data.train.targets, latent).sum(-1)
        penalty = 0.5 * self.penalties * params[WEIGHTS].square().sum(-1)
        return data + penalty + self.backbone_penalty * self.backbone.penalty(params), None

    def validation(self, params: Params, state: None) -> Float[Tensor, " B"]:
        """Mean NLL of the validation part."""
        return self._nll(params, self.data.validation.inputs, self.data.validation.targets)

    def watched(self, params: Params, state: None) -> dict[str, Float[Tensor, " B"]]:
        """Test NLL and noise scale for the trace."""
        noise_scale = (0.5 * params["log_noise_var"].detach()).exp() * self.data.log_scale.exp()
        return {
            "test_nll": self._nll(params, self.data.test.inputs, self.data.test.targets),
            "noise_scale": noise_scale,
        }

    def adjust(self, params: Params, step: int, state: None) -> None:
        """Clamp the noise."""
        for name, (low, high) in self.likelihood.bounds().items():
            params[name].clamp_(low, high)
        for name, bound in self.likelihood.ceiling(params).items():
            params[name].copy_(torch.minimum(params[name], bound))

    def select(self, index: Tensor) -> "MapProblem":
        """The pairs ``index`` alone."""
        chosen = self.data.select(index)
        return MapProblem(self.backbone, self.likelihood, chosen, self.penalties[index], self.backbone_penalty)

    def _latent(self, params: Params, inputs: Tensor) -> Tensor:
        return (self.backbone.features(params, inputs) @ params[WEIGHTS][..., None])[..., 0]

    def _nll(self, params: Params, inputs: Tensor, targets: Tensor) -> Tensor:
        return -self.likelihood.log_prob(params, targets, self._latent(params, inputs)).mean(-1) + self.data.log_scale


@dataclass(frozen=True)
class MapReplicate:
    """One trained network with the penalty that validation chose."""

    params: Params
    penalty: float
    best_step: int
    standardiser: Standardiser


@dataclass(frozen=True)
class MapFit(Fit):
    """Fit of :class:`Map`: a point, hence no belief to compare with a posterior."""

    method: str
    backbone: Backbone
    likelihood: Gaussian
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    replicates: tuple[MapReplicate | None, ...]
    trace: Trace
    seconds: float
    dtype: str = "float64"

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"]:
        """Features of inputs in original units."""
        return self._features(inputs, replicate).double().numpy()

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Predictive:
        """``N(wᵀψ, σ²)`` in original units."""
        chosen = self._usable(replicate)
        mean = self._features(inputs, replicate) @ chosen.params[WEIGHTS]
        marginals = Marginals(mean, torch.zeros_like(mean))
        scale = chosen.standardiser
        return self.likelihood.predictive(chosen.params, marginals, scale.target_mean, scale.target_scale)

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """None: a point estimate is no belief."""
        return None

    def learned(self, replicate: int) -> dict[str, float]:
        """``noise_scale`` (original units), the chosen ``penalty`` and ``steps``."""
        chosen = self.replicates[replicate]
        if chosen is None:
            return {}
        noise_scale = float(self.likelihood.noise_var(chosen.params).sqrt()) * chosen.standardiser.target_scale
        return {"noise_scale": noise_scale, "penalty": chosen.penalty, "steps": float(chosen.best_step)}

    def _features(self, inputs: Array, replicate: int) -> Tensor:
        chosen = self._usable(replicate)
        scaled = torch.tensor(chosen.standardiser.inputs(inputs), dtype=DTYPES[self.dtype])
        with torch.no_grad():
            return self.backbone.features(chosen.params, scaled)

    def _usable(self, replicate: int) -> MapReplicate:
        chosen, status = self.replicates[replicate], self.statuses[replicate]
        if chosen is None or not status.usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {status.sentence}")
        return chosen


@METHODS.register("map")
@dataclass(frozen=True)
class Map(Method):
    """MAP network; every penalty of the grid is trained at once and validation NLL chooses, a replicate at a time.

    Example
    -------
    >>> Map.example().name
    'map'
    """

    backbone: Backbone = field(default_factory=MLP)
    likelihood: Gaussian = field(default_factory=Gaussian)
    penalty_grid: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    backbone_penalty: float = 0.01
    schedule: Schedule = field(default_factory=lambda: Schedule(0.01, 5000, 100, 1e-6))
    scale_targets: bool = True
    dtype: str = "float64"
    name: str = "map"

    def __post_init__(self) -> None:
        require_penalty_grid(self.penalty_grid)

    @classmethod
    def example(cls) -> "Map":
        """A small member for the law suite."""
        return cls(backbone=MLP(4), schedule=Schedule(0.01, 200, 20, 1e-6))

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "Map":
        """As the protocol says."""
        schedule = Schedule(protocol.learning_rate, protocol.max_steps, protocol.patience, protocol.threshold)
        return cls(
            backbone,
            penalty_grid=protocol.penalty_grid,
            backbone_penalty=protocol.backbone_penalty,
            schedule=schedule,
            scale_targets=protocol.scale_targets,
            dtype=protocol.dtype,
        )

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> MapFit:
        """Train one network a (split, seed) pair and penalty."""
        fitted = fit_in_groups(splits, seeds, lambda some, own: self._fit_group(some, own, progress))
        return MapFit(
            method=self.name,
            backbone=self.backbone,
            likelihood=self.likelihood,
            seeds=tuple(seeds),
            statuses=fitted.statuses,
            replicates=fitted.replicates,
            trace=fitted.trace,
            seconds=fitted.seconds,
            dtype=self.dtype,
        )

    def _fit_group(
        self, splits: "list[Split]", seeds: list[int], progress: Watcher | None
    ) -> tuple[list[tuple[MapReplicate, FitStatus]], Trace]:
        data, standardisers = stack_splits(splits, scale_targets=self.scale_targets, dtype=self.dtype)
        # One block of replicates a penalty; replicate k starts from the same network in every block.
        count, grid = len(splits), len(self.penalty_grid)
        tiled = data.select(torch.arange(count).repeat(grid))
        generators = [torch.Generator().manual_seed(seed) for _ in range(grid) for seed in seeds]
        params = self._init(tiled, generators)
        penalties = torch.tensor(self.penalty_grid, dtype=DTYPES[self.dtype]).repeat_interleave(count)
        problem = MapProblem(self.backbone, self.likelihood, tiled, penalties, self.backbone_penalty)
        frozen = self.likelihood.frozen | self.backbone.frozen
        outcome = train(problem, params, frozen, self.schedule, progress)
        return self._choose(outcome, standardisers)

    def _init(self, data: SplitBatch, generators: list[torch.Generator]) -> Params:
        params = self.likelihood.init(data.train.targets)
        params |= self.backbone.init(data.train.inputs.shape[-1], generators, data.train.inputs.dtype)
        with torch.no_grad():
            size = self.backbone.features(params, data.train.inputs[:, :1]).shape[-1]
        draws = [torch.randn(size, generator=each, dtype=data.train.inputs.dtype) for each in generators]
        return params | {WEIGHTS: (0.01 / size) ** 0.5 * torch.stack(draws)}

    def _choose(
        self, outcome: Outcome, standardisers: list[Standardiser]
    ) -> tuple[list[tuple[MapReplicate, FitStatus]], Trace]:
        count, grid = len(standardisers), len(self.penalty_grid)
        found, rows = [], []
        for k, standardiser in enumerate(standardisers):
            row = min((block * count + k for block in range(grid)), key=lambda r: outcome.best_validation[r])
            penalty, status = self.penalty_grid[row // count], outcome.statuses[row]
            if outcome.interrupted and status.usable:
                status = FitStatus("interrupted", status.detail)  # the grid is not finished, whichever row leads
            params = {name: value[row] for name, value in outcome.params.items()}
            remark = self._edge_remark(penalty)
            found.append(
                (
                    MapReplicate(params, penalty, outcome.best_steps[row], standardiser),
                    FitStatus(status.code, status.detail, remark if status.usable else ()),
                )
            )
            rows.append(row)
        values = {name: value[rows] for name, value in outcome.trace.values.items()}
        return found, Trace(outcome.trace.steps, values)

    def _edge_remark(self, penalty: float) -> tuple[str, ...]:
        if len(self.penalty_grid) > 1 and penalty in (min(self.penalty_grid), max(self.penalty_grid)):
            return (f"penalty {penalty:g} is at the edge of its grid",)
        return ()
