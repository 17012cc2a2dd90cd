"""The training that the baselines made of networks share: a grid at once, chosen by validation NLL."""

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
from corners.baselines._heads import Head
from corners.baselines._network_fit import NetworkFit, NetworkReplicate
from corners.baselines._network_problem import WEIGHTS, MapProblem
from corners.baselines._tasks import require_task
from corners.covariances._base import Params
from corners.data.batch import DTYPES, SplitBatch
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.method import Fit, FitStatus, Method, Trace
from corners.optimise import Outcome, Schedule, Watcher, fit_in_groups, train
from corners.protocols import CHOICES, Protocol, require_penalty_grid
from corners.selection import NOT_FINITE, Candidate, best_candidate, choice_remarks
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


def require_choice(name: str, value: str) -> None:
    """Refuse what is no choice of protocols by that name."""
    if value not in CHOICES[name]:
        raise SpecError(f"{name} must be one of {', '.join(CHOICES[name])}; got {value!r}")


@dataclass(frozen=True)
class NetworkMethod(Method):
    """Every candidate of the grid is trained at once and validation NLL chooses, a replicate at a time.

    A subclass says which head its networks have and which fit it returns; it may add hyperparameters to the grid,
    members, and a problem of its own. ``reduction`` is that of :class:`MapProblem`.
    """

    backbone: Backbone = field(default_factory=MLP)
    penalty_grid: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    backbone_penalty: float = 0.01
    schedule: Schedule = field(default_factory=lambda: Schedule(0.01, 5000, 100, 1e-6))
    dtype: str = "float64"
    reduction: str = "sum"
    name: str = ""

    def __post_init__(self) -> None:
        require_penalty_grid(self.penalty_grid)
        require_choice("reduction", self.reduction)

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
            dtype=protocol.dtype,
            reduction=protocol.reduction,
            **cls._from_protocol(protocol),
        )

    @classmethod
    def _from_protocol(cls, protocol: Protocol) -> dict[str, Any]:
        """Options of a family of heads that the protocol sets."""
        return {}

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
        require_task(self, splits)
        fitted = fit_in_groups(splits, seeds, lambda some, own: self._fit_group(some, own, progress))
        made = self._made(
            method=self.name,
            backbone=self.backbone,
            likelihood=self._head(splits),
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

    @abstractmethod
    def _head(self, splits: "Sequence[Split]") -> Head:
        """What the networks of these splits end in."""

    @abstractmethod
    def _stack(self, splits: "Sequence[Split]") -> tuple[SplitBatch, list[Standardiser]]:
        """The splits as tensors, their targets as the head takes them."""

    def _problem(self, head: Head, data: SplitBatch, seeds: list[int], size: int) -> MapProblem:
        """The problem of all rows, of ``size`` features; ``seeds`` are the replicates', one a row."""
        penalties = self._column("penalty", seeds)
        return MapProblem(self.backbone, head, data, penalties, self.backbone_penalty, reduction=self.reduction)

    def _frozen(self, head: Head) -> frozenset[str]:
        """What no gradient step moves."""
        return head.frozen | self.backbone.frozen

    def _column(self, name: str, seeds: list[int]) -> Float[Tensor, " B"]:
        """One hyperparameter of every row."""
        values = torch.tensor([each[name] for each in self.candidates], dtype=DTYPES[self.dtype])
        return values.repeat_interleave(len(seeds) // len(self.candidates))

    def _fit_group(
        self, splits: "list[Split]", seeds: list[int], progress: Watcher | None
    ) -> tuple[list[tuple[NetworkReplicate, FitStatus]], Trace]:
        head = self._head(splits)
        data, standardisers = self._stack(splits)
        # Rows run over candidates, then members, then replicates; a member starts alike under every candidate.
        starts = [seed for members in zip(*map(self._member_seeds, seeds), strict=True) for seed in members]
        blocks = len(self.candidates) * len(starts) // len(seeds)
        tiled = data.select(torch.arange(len(seeds)).repeat(blocks))
        generators = [torch.Generator().manual_seed(seed) for seed in starts * len(self.candidates)]
        params = self._init(head, tiled, generators)
        problem = self._problem(head, tiled, seeds * blocks, params[WEIGHTS].shape[-1])
        outcome = train(problem, params, self._frozen(head), self.schedule, progress)
        with torch.no_grad():
            kept = replace(outcome, params=problem.scored(outcome.params))
        return self._choose(problem, kept, standardisers)

    def _init(self, head: Head, data: SplitBatch, generators: list[torch.Generator]) -> Params:
        params = head.init(data.train.targets)
        params |= self.backbone.init(data.train.inputs.shape[-1], generators, data.train.inputs.dtype)
        with torch.no_grad():
            size = self.backbone.features(params, data.train.inputs[:, :1]).shape[-1]
        shape = (size,) if head.latents == 1 else (head.latents, size)
        draws = [torch.randn(shape, generator=each, dtype=data.train.inputs.dtype) for each in generators]
        return params | {WEIGHTS: (0.01 / size) ** 0.5 * torch.stack(draws)}

    def _scores(self, problem: MapProblem, outcome: Outcome, count: int) -> Float[Array, "C K"]:
        """Validation NLL of every candidate and replicate, what is chosen by."""
        return np.array(outcome.best_validation).reshape(len(self.candidates), count)

    def _choose(
        self, problem: MapProblem, outcome: Outcome, standardisers: list[Standardiser]
    ) -> tuple[list[tuple[NetworkReplicate, FitStatus]], Trace]:
        count, grid = len(standardisers), len(self.candidates)
        scores = self._scores(problem, outcome, count)
        layout = np.arange(len(outcome.statuses)).reshape(grid, -1, count)
        found, rows = [], np.empty((count, layout.shape[1]), dtype=int)
        for k, standardiser in enumerate(standardisers):
            best = best_candidate(scores[:, k])
            rows[k] = layout[best or 0, :, k]
            own = rows[k].tolist()
            members = tuple({name: value[row] for name, value in outcome.params.items()} for row in own)
            best_step = max(outcome.best_steps[row] for row in own)
            status = self._status([outcome.statuses[row] for row in own], scores[:, k], outcome.interrupted)
            found.append((NetworkReplicate(members, self.candidates[best or 0], best_step, standardiser), status))
        # A mean over members; NaN once the first of them has stopped.
        values = {name: value[rows].mean(axis=1) for name, value in outcome.trace.values.items()}
        return found, Trace(outcome.trace.steps, values)

    def _status(self, members: list[FitStatus], scores: Float[Array, " C"], interrupted: bool) -> FitStatus:
        """The worst of the members', with remarks on the choice that the scores of the candidates led to."""
        worst = max(members, key=lambda status: BEST_TO_WORST.index(status.code))
        code, detail = worst.code, worst.detail
        if len(members) > 1:
            detail = f"the worst of {len(members)} members: {detail}"
        best = best_candidate(scores)
        if not worst.usable or best is None:
            return FitStatus("failed", NOT_FINITE) if worst.usable else FitStatus(code, detail)
        if interrupted:
            code = "interrupted"  # the grid is not finished, whichever candidate leads
        return FitStatus(code, detail, choice_remarks(self.candidates, scores, best))
