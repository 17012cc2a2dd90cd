"""What the layers of the vbll package share: their starts, their weights, and the training of all of them at once."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from corners.backbones._base import Backbone
from corners.backbones.mlp import MLP
from corners.baselines._peers import import_peer, peer_version
from corners.baselines._tasks import require_task
from corners.baselines._vbll_problem import NOISE, NOISE_MEAN, VbllProblem
from corners.covariances._base import Params
from corners.data.batch import DTYPES, SplitBatch
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.method import Fit, FitStatus, Method, Trace
from corners.optimise import Fitted, Schedule, Watcher, fit_in_groups, train
from corners.protocols import CHOICES, Protocol
from corners.selection import best_candidate, choice_remarks
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

STARTS = {"as_published": "as published", "fair": "from the fair start"}
PARAMETERISATIONS = ("dense", "diagonal")
PUBLISHED_WEIGHT = 0.1
REMEDY = "pip install vbll==0.4.9"


V = TypeVar("V", bound="VbllMethod")


@dataclass(frozen=True)
class VbllMethod(Method):
    """The package's own loss on a backbone trained together with it, all seeds and weights at once.

    A subclass names the package's layer, its loss, and what the belief becomes.
    """

    backbone: Backbone = field(default_factory=MLP)
    start: str = "fair"
    regularisation_weight: float | tuple[float, ...] | None = None
    parameterisation: str = "dense"
    backbone_penalty: float = 0.01
    schedule: Schedule = field(default_factory=lambda: Schedule(0.01, 5000, 100, 1e-6))
    dtype: str = "float64"
    reduction: str = "sum"
    name: str = ""

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise SpecError(f"start must be one of {', '.join(STARTS)}; got {self.start!r}")
        if self.parameterisation not in PARAMETERISATIONS:
            raise SpecError(
                f"parameterisation must be one of {', '.join(PARAMETERISATIONS)}; got {self.parameterisation!r}"
            )
        if self.reduction not in CHOICES["reduction"]:
            raise SpecError(f"reduction must be one of {', '.join(CHOICES['reduction'])}; got {self.reduction!r}")
        if self.regularisation_weight is None:
            return
        if self.start == "fair":
            raise SpecError(
                "the fair start means a regularisation weight of 1/N; leave regularisation_weight out, or take "
                "start='as_published'"
            )
        given = self.weights(1)
        if not given or not all(0.0 < weight < float("inf") for weight in given):
            raise SpecError(f"regularisation_weight must be positive and finite; got {self.regularisation_weight!r}")

    @classmethod
    def example(cls: type[V]) -> V:
        """A small member for the law suite."""
        return cls(backbone=MLP(4), schedule=Schedule(0.01, 200, 20, 1e-6))

    @classmethod
    def from_protocol(cls: type[V], protocol: Protocol, backbone: Backbone) -> V:
        """As the protocol says; its weights are those of the published start."""
        schedule = Schedule(protocol.learning_rate, protocol.max_steps, protocol.patience, protocol.threshold)
        return cls(
            backbone,
            start=protocol.vbll_start,
            regularisation_weight=None if protocol.vbll_start == "fair" else protocol.vbll_weights,
            backbone_penalty=protocol.backbone_penalty,
            schedule=schedule,
            dtype=protocol.dtype,
            reduction=protocol.reduction,
            **cls._from_protocol(protocol),
        )

    @classmethod
    def _from_protocol(cls, protocol: Protocol) -> dict[str, Any]:
        """Options of a layer that the protocol sets."""
        return {}

    def weights(self, rows: int) -> tuple[float, ...]:
        """Regularisation weights tried on ``rows`` training points."""
        if self.regularisation_weight is None:
            return (1.0 / rows,) if self.start == "fair" else (PUBLISHED_WEIGHT,)
        given = self.regularisation_weight
        return given if isinstance(given, tuple) else (given,)

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> Fit:
        """Train every regularisation weight of every (split, seed) pair together; validation NLL chooses."""
        require_task(self, splits)
        library = import_peer("vbll", REMEDY)
        fitted = fit_in_groups(splits, seeds, lambda some, own: self._fit_group(library, some, own, progress))
        return self._made(fitted, splits, tuple(seeds))

    @abstractmethod
    def _made(self, fitted: Fitted[Any], splits: "Sequence[Split]", seeds: tuple[int, ...]) -> Fit:
        """The fit of these heads."""

    @abstractmethod
    def _stack(self, splits: "Sequence[Split]") -> tuple[SplitBatch, list[Standardiser]]:
        """The splits as tensors, their targets as the layer takes them."""

    @abstractmethod
    def _outputs(self, splits: "Sequence[Split]") -> int:
        """Outputs of the layer."""

    @abstractmethod
    def _layer(self, library: ModuleType, size: int, outputs: int) -> nn.Module:
        """The package's layer for ``size`` features; it draws from torch's global generator."""

    @abstractmethod
    def _loss(self, layer: nn.Module, outputs: int) -> nn.Module:
        """What calls the layer."""

    @abstractmethod
    def _fair_noise(self, data: SplitBatch, outputs: int) -> Float[torch.Tensor, "B P"]:
        """Log noise scales of the fair start."""

    @abstractmethod
    def _head(self, problem: VbllProblem, params: Params, standardiser: Standardiser, said: dict[str, float]) -> Any:
        """The package's belief as plain numbers, in double precision."""

    def _fit_group(
        self, library: ModuleType, splits: "list[Split]", seeds: list[int], progress: Watcher | None
    ) -> tuple[list[tuple[Any, FitStatus]], Trace]:
        data, standardisers = self._stack(splits)
        weights, count = self.weights(splits[0].train.n), len(seeds)
        problem, params = self.set_up(library, data, seeds, weights, self._outputs(splits))
        outcome = train(problem, params, frozenset({NOISE_MEAN}) | self.backbone.frozen, self.schedule, progress)
        scores = np.array(outcome.best_validation).reshape(len(weights), count)
        found: list[tuple[Any, FitStatus]] = []
        rows = []
        for k, standardiser in enumerate(standardisers):
            best = best_candidate(scores[:, k]) or 0
            rows.append(best * count + k)
            status = self._status(outcome.statuses[rows[k]], weights, scores[:, k], outcome.interrupted)
            said = {
                "regularisation_weight": weights[best],
                **self._noise_start(params[NOISE][k], standardiser),
                "steps": float(outcome.best_steps[rows[k]]),
            }
            own = {name: value[rows[k]] for name, value in outcome.params.items()}
            found.append((self._head(problem, own, standardiser, said) if status.usable else None, status))
        return found, Trace(outcome.trace.steps, {name: each[rows] for name, each in outcome.trace.values.items()})

    def set_up(
        self, library: ModuleType, data: SplitBatch, seeds: list[int], weights: tuple[float, ...], outputs: int = 1
    ) -> tuple[VbllProblem, Params]:
        """The problem of all seeds under every weight, and its start, which does not depend on the weight."""
        dtype, generators = DTYPES[self.dtype], [torch.Generator().manual_seed(seed) for seed in seeds]
        params = self.backbone.init(data.train.inputs.shape[-1], generators, dtype)
        with torch.no_grad():
            size = self.backbone.features(params, data.train.inputs[:, :1]).shape[-1]
        layers = [self._drawn(library, size, outputs, generator).to(dtype) for generator in generators]
        losses = [self._loss(layer, outputs) for layer in layers]
        heads = [dict(loss.named_parameters()) for loss in losses]
        params |= {name: torch.stack([head[name].detach() for head in heads]) for name in heads[0]}
        if self.start == "fair":
            params[NOISE] = self._fair_noise(data, outputs)
        tiles = torch.arange(len(seeds)).repeat(len(weights))
        column = torch.tensor(weights, dtype=dtype).repeat_interleave(len(seeds))
        problem = VbllProblem(
            self.backbone, losses[0], data.select(tiles), column, self.backbone_penalty, self.reduction
        )
        return problem, {name: value[tiles] for name, value in params.items()}

    def _drawn(self, library: ModuleType, size: int, outputs: int, generator: torch.Generator) -> nn.Module:
        """The package's layer as it starts; the stream of torch's global generator is left alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**31, (1,), generator=generator)))
            return self._layer(library, size, outputs)

    def _noise_start(self, log_scales: Float[torch.Tensor, " P"], standardiser: Standardiser) -> dict[str, float]:
        """What ``learned`` says of where the noise started."""
        return {}

    def _status(
        self, status: FitStatus, weights: tuple[float, ...], scores: Float[Array, " C"], interrupted: bool
    ) -> FitStatus:
        best = best_candidate(scores)
        if not status.usable or best is None:
            return status
        spelt = "1/N" if self.start == "fair" else f"{weights[best]:g}"
        said = f"vbll {peer_version('vbll')} {STARTS[self.start]} with regularisation weight {spelt}"
        remarks = choice_remarks([{"regularisation_weight": weight} for weight in weights], scores, best)
        return FitStatus("interrupted" if interrupted else status.code, status.detail, (said, *remarks))
