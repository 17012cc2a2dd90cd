"""The fit and the training that the baselines made of networks share: a grid at once, chosen by validation NLL."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones._base import Backbone
from corners.backbones.mlp import MLP
from corners.baselines._network_problem import WEIGHTS, MapProblem
from corners.covariances._base import Params
from corners.data.batch import DTYPES, SplitBatch, stack_splits
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.method import Fit, FitStatus, LastLayer, Method, Trace
from corners.optimise import Outcome, Schedule, Watcher, fit_in_groups, train
from corners.predictive.mixture import MixturePredictive
from corners.protocols import Protocol, require_penalty_grid
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

BEST_TO_WORST = (
    "exact",
    "sampled",
    "converged",
    "stopped_early",
    "step_limit",
    "unfinished",
    "not_finite",
    "interrupted",
    "failed",
    "not_started",
)
"""Codes from the one that asks for no care to those after which nothing can be predicted."""

M = TypeVar("M", bound="NetworkMethod")
Candidate = Mapping[str, float]
"""One point of the grid: hyperparameters by name, ``penalty`` among them."""


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
    likelihood: Gaussian
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
        """``noise_scale`` (original units), the chosen ``penalty``, ``steps`` and what the method adds."""
        own = self.replicates[replicate]
        if own is None:
            return {}
        noise_scale = float(self.likelihood.noise_var(own.params).sqrt()) * own.standardiser.target_scale
        found = self.found[replicate] if self.found else {}
        return {"noise_scale": noise_scale, **own.chosen, "steps": float(own.best_step), **found}

    def _features(self, inputs: Array, replicate: int, member: int = 0) -> Tensor:
        own = self._usable(replicate)
        scaled = torch.tensor(own.standardiser.inputs(inputs), dtype=DTYPES[self.dtype])
        with torch.no_grad():
            return self.backbone.features(own.members[member], scaled)

    def _usable(self, replicate: int) -> NetworkReplicate:
        own, status = self.replicates[replicate], self.statuses[replicate]
        if own is None or not status.usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {status.sentence}")
        return own


@dataclass(frozen=True)
class NetworkMethod(Method):
    """Every candidate of the grid is trained at once and validation NLL chooses, a replicate at a time.

    A subclass says which fit it returns; it may add hyperparameters to the grid, members, and a problem of its own.
    """

    backbone: Backbone = field(default_factory=MLP)
    likelihood: Gaussian = field(default_factory=Gaussian)
    penalty_grid: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    backbone_penalty: float = 0.01
    schedule: Schedule = field(default_factory=lambda: Schedule(0.01, 5000, 100, 1e-6))
    scale_targets: bool = True
    dtype: str = "float64"
    name: str = ""

    def __post_init__(self) -> None:
        require_penalty_grid(self.penalty_grid)

    @classmethod
    def example(cls: type[M]) -> M:
        """A small member for the law suite."""
        return cls(backbone=MLP(4), schedule=Schedule(0.01, 200, 20, 1e-6))

    @classmethod
    def from_protocol(cls: type[M], protocol: Protocol, backbone: Backbone) -> M:
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

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The grid."""
        return tuple({"penalty": penalty} for penalty in self.penalty_grid)

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> NetworkFit:
        """Train one network a (split, seed) pair, candidate and member."""
        fitted = fit_in_groups(splits, seeds, lambda some, own: self._fit_group(some, own, progress))
        made = self._made(
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
        found = [self._found(made, k, split) if made.statuses[k].usable else {} for k, split in enumerate(splits)]
        return replace(made, found=tuple(found))

    @abstractmethod
    def _made(self, **fields: Any) -> NetworkFit:
        """The fit of these fields."""

    def _found(self, fit: Any, replicate: int, split: "Split") -> Mapping[str, float]:
        """What ``learned`` is to say beyond noise, candidate and steps."""
        return {}

    def _member_seeds(self, seed: int) -> list[int]:
        """What the initial weights of every member are drawn with; the first draws with the replicate's own."""
        return [seed]

    def _problem(self, data: SplitBatch, seeds: list[int], size: int) -> MapProblem:
        """The problem of all rows, of ``size`` features; ``seeds`` are the replicates', one a row."""
        return MapProblem(self.backbone, self.likelihood, data, self._column("penalty", seeds), self.backbone_penalty)

    def _column(self, name: str, seeds: list[int]) -> Float[Tensor, " B"]:
        """One hyperparameter of every row."""
        values = torch.tensor([each[name] for each in self.candidates], dtype=DTYPES[self.dtype])
        return values.repeat_interleave(len(seeds) // len(self.candidates))

    def _fit_group(
        self, splits: "list[Split]", seeds: list[int], progress: Watcher | None
    ) -> tuple[list[tuple[NetworkReplicate, FitStatus]], Trace]:
        data, standardisers = stack_splits(splits, scale_targets=self.scale_targets, dtype=self.dtype)
        # Rows run over candidates, then members, then replicates; a member starts alike under every candidate.
        starts = [seed for members in zip(*map(self._member_seeds, seeds), strict=True) for seed in members]
        blocks = len(self.candidates) * len(starts) // len(seeds)
        tiled = data.select(torch.arange(len(seeds)).repeat(blocks))
        params = self._init(tiled, [torch.Generator().manual_seed(seed) for seed in starts * len(self.candidates)])
        problem = self._problem(tiled, seeds * blocks, params[WEIGHTS].shape[-1])
        frozen = self.likelihood.frozen | self.backbone.frozen
        outcome = train(problem, params, frozen, self.schedule, progress)
        return self._choose(problem, outcome, standardisers)

    def _init(self, data: SplitBatch, generators: list[torch.Generator]) -> Params:
        params = self.likelihood.init(data.train.targets)
        params |= self.backbone.init(data.train.inputs.shape[-1], generators, data.train.inputs.dtype)
        with torch.no_grad():
            size = self.backbone.features(params, data.train.inputs[:, :1]).shape[-1]
        draws = [torch.randn(size, generator=each, dtype=data.train.inputs.dtype) for each in generators]
        return params | {WEIGHTS: (0.01 / size) ** 0.5 * torch.stack(draws)}

    def _scores(self, problem: MapProblem, outcome: Outcome, count: int) -> Float[Array, "C K"]:
        """Validation NLL of every candidate and replicate, what is chosen by."""
        return np.array(outcome.best_validation).reshape(len(self.candidates), count)

    def _choose(
        self, problem: MapProblem, outcome: Outcome, standardisers: list[Standardiser]
    ) -> tuple[list[tuple[NetworkReplicate, FitStatus]], Trace]:
        count, grid = len(standardisers), len(self.candidates)
        best = self._scores(problem, outcome, count).argmin(axis=0)
        rows = np.arange(len(outcome.statuses)).reshape(grid, -1, count)[best, :, np.arange(count)]
        found = []
        for k, standardiser in enumerate(standardisers):
            candidate, own = self.candidates[int(best[k])], rows[k].tolist()
            members = tuple({name: value[row] for name, value in outcome.params.items()} for row in own)
            best_step = max(outcome.best_steps[row] for row in own)
            status = self._status([outcome.statuses[row] for row in own], candidate, outcome.interrupted)
            found.append((NetworkReplicate(members, candidate, best_step, standardiser), status))
        # A mean over members; NaN once the first of them has stopped.
        values = {name: value[rows].mean(axis=1) for name, value in outcome.trace.values.items()}
        return found, Trace(outcome.trace.steps, values)

    def _status(self, members: list[FitStatus], candidate: Candidate, interrupted: bool) -> FitStatus:
        """The worst of the members', with remarks on the choice."""
        worst = max(members, key=lambda status: BEST_TO_WORST.index(status.code))
        code, detail = worst.code, worst.detail
        if len(members) > 1:
            detail = f"the worst of {len(members)} members: {detail}"
        if not worst.usable:
            return FitStatus(code, detail)
        if interrupted:
            code = "interrupted"  # the grid is not finished, whichever candidate leads
        return FitStatus(code, detail, self._edge_remarks(candidate))

    def _edge_remarks(self, candidate: Candidate) -> tuple[str, ...]:
        said = []
        for name, value in candidate.items():
            grid = {each[name] for each in self.candidates}
            if len(grid) > 1 and value in (min(grid), max(grid)):
                said.append(f"{name} {value:g} is at the edge of its grid")
        return tuple(said)
