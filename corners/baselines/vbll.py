"""Variational Bayesian last layer of the vbll package, on a backbone trained together with it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from corners.backbones._base import Backbone
from corners.backbones.mlp import MLP
from corners.baselines._gaussian_head import GaussianHead, GaussianHeadFit, backbone_params
from corners.baselines._peers import import_peer, peer_version
from corners.covariances._base import Params
from corners.data.batch import DTYPES, SplitBatch, stack_splits
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.likelihoods.gaussian import LOG_NOISE_VAR_FLOOR
from corners.method import METHODS, Fit, FitStatus, Method, Trace, merge_traces
from corners.optimise import Outcome, Schedule, Watcher, fit_in_groups, train
from corners.protocols import Protocol

if TYPE_CHECKING:
    from corners.data.split import Split

STARTS = {"as_published": "as published", "fair": "from the fair start"}
PARAMETERISATIONS = ("dense", "diagonal")
PUBLISHED_WEIGHT = 0.1
HEAD = "layer."
"""Prefix of the package's parameters among those the optimiser moves."""
NOISE, NOISE_MEAN = f"{HEAD}noise_logdiag", f"{HEAD}noise_mean"
REMEDY = "pip install vbll==0.4.9"


class Loss(nn.Module):
    """The package's layer, called with features and targets: its negative bound, a mean, or its validation NLL."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, features: Float[Tensor, "N H"], targets: Float[Tensor, " N"], training: bool) -> Tensor:
        """``train_loss_fn`` or ``val_loss_fn`` of the layer's answer; (N, 1), or the package would go N x N."""
        answer = self.layer(features)
        return (answer.train_loss_fn if training else answer.val_loss_fn)(targets[:, None])


@dataclass(frozen=True)
class VbllProblem:
    """``N`` times the package's loss ``+ λ_bb ‖W_hidden‖²`` for one replicate: the package takes no more."""

    backbone: Backbone
    loss: Loss
    data: SplitBatch
    backbone_penalty: float

    @property
    def count(self) -> int:
        """One."""
        return 1

    def objective(self, params: Params, step: int) -> tuple[Float[Tensor, " B"], None]:
        """The negative bound, a total in nats up to the constants the package drops."""
        rows = self.data.train.targets.shape[-1]
        penalty = self.backbone_penalty * self.backbone.penalty(params)
        return rows * self._loss(params, self.data.train.inputs, self.data.train.targets, True) + penalty, None

    def validation(self, params: Params, state: None) -> Float[Tensor, " B"]:
        """Mean NLL of the validation part."""
        part = self.data.validation
        return self._loss(params, part.inputs, part.targets, False) + self.data.log_scale

    def watched(self, params: Params, state: None) -> dict[str, Float[Tensor, " B"]]:
        """Test NLL and noise scale for the trace."""
        part = self.data.test
        nll = self._loss(params, part.inputs, part.targets, False) + self.data.log_scale
        return {"test_nll": nll, "noise_scale": (params[NOISE].detach()[:, 0] + self.data.log_scale).exp()}

    def adjust(self, params: Params, step: int, state: None) -> None:
        """Nothing: the package bounds nothing."""

    def select(self, index: Tensor) -> "VbllProblem":
        """The replicate again."""
        return replace(self, data=self.data.select(index))

    def _loss(self, params: Params, inputs: Tensor, targets: Tensor, training: bool) -> Float[Tensor, " B"]:
        features = self.backbone.features(params, inputs)[0]
        own = {name: value[0] for name, value in params.items() if name.startswith(HEAD)}
        if not all(bool(value.isfinite().all()) for value in (features, own[NOISE].exp(), *own.values())):
            # torch's distributions would raise, which would stop the siblings too.
            return targets.new_full((1,), torch.nan)
        return torch.func.functional_call(self.loss, own, (features, targets[0], training)).reshape(1)


@METHODS.register("vbll")
@dataclass(frozen=True)
class Vbll(Method):
    """Variational Bayesian last layer (Harrison, Willes and Snoek 2024), one seed after another.

    Parameters
    ----------
    start : "as_published": the package's own, which draws the log noise scale from ``N(0, (log 0.01)²)``, and a weight
        of 0.1; or "fair": noise scale started at the standard deviation of the training targets, and a weight of 1/N,
        with which the objective is the evidence bound. The weights' means and scales start as the package draws them.
    regularisation_weight : weights on the KL and noise terms that validation NLL chooses from, or one number; with the
        published start only.
    parameterisation : of the covariance, "dense" or "diagonal".

    The package's prior is ``N(0, I/H)`` on the weights and a Wishart of scale 0.01 on the noise precision.

    Raises
    ------
    UnavailableError : vbll is missing or broken (from ``fit``).

    Example
    -------
    >>> Vbll(start="as_published").weights(120), Vbll(start="fair").weights(120) == (1 / 120,)
    ((0.1,), True)
    """

    backbone: Backbone = field(default_factory=MLP)
    start: str = "fair"
    regularisation_weight: float | tuple[float, ...] | None = None
    parameterisation: str = "dense"
    backbone_penalty: float = 0.01
    schedule: Schedule = field(default_factory=lambda: Schedule(0.01, 5000, 100, 1e-6))
    scale_targets: bool = True
    dtype: str = "float64"
    name: str = "vbll"

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise SpecError(f"start must be one of {', '.join(STARTS)}; got {self.start!r}")
        if self.parameterisation not in PARAMETERISATIONS:
            raise SpecError(
                f"parameterisation must be one of {', '.join(PARAMETERISATIONS)}; got {self.parameterisation!r}"
            )
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
    def example(cls) -> "Vbll":
        """A small member for the law suite."""
        return cls(backbone=MLP(4), schedule=Schedule(0.01, 200, 20, 1e-6))

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "Vbll":
        """As the protocol says, from the fair start."""
        schedule = Schedule(protocol.learning_rate, protocol.max_steps, protocol.patience, protocol.threshold)
        return cls(
            backbone,
            backbone_penalty=protocol.backbone_penalty,
            schedule=schedule,
            scale_targets=protocol.scale_targets,
            dtype=protocol.dtype,
        )

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
    ) -> GaussianHeadFit:
        """Train one (split, seed) pair and regularisation weight after another."""
        library = import_peer("vbll", REMEDY)
        fitted = fit_in_groups(splits, seeds, lambda some, own: self._fit_group(library, some, own, progress))
        return GaussianHeadFit(
            method=self.name,
            backbone=self.backbone,
            seeds=tuple(seeds),
            statuses=fitted.statuses,
            heads=fitted.replicates,
            trace=fitted.trace,
            seconds=fitted.seconds,
        )

    def _fit_group(
        self, library: ModuleType, splits: "list[Split]", seeds: list[int], progress: Watcher | None
    ) -> tuple[list[tuple[GaussianHead | None, FitStatus]], Trace]:
        found: list[tuple[GaussianHead | None, FitStatus]] = []
        traces: list[Trace] = []
        for done, (split, seed) in enumerate(zip(splits, seeds, strict=True)):
            if found and found[-1][1].interrupted:
                found.append((None, FitStatus("not_started")))
                continue
            head, status, trace = self._fit_one(library, split, seed, _share(progress, done, len(seeds), self.schedule))
            found.append((head, status))
            traces.append(trace)
        return found, merge_traces(traces, [[k] for k in range(len(traces))], len(seeds))

    def _fit_one(
        self, library: ModuleType, split: "Split", seed: int, progress: Watcher | None
    ) -> tuple[GaussianHead | None, FitStatus, Trace]:
        """Every weight in turn; the one of the lowest validation NLL."""
        data, (standardiser,) = stack_splits([split], scale_targets=self.scale_targets, dtype=self.dtype)
        tried: list[tuple[float, Outcome, VbllProblem, float]] = []
        for weight in self.weights(split.train.n):
            problem, params = self.set_up(library, data, seed, weight)
            outcome = train(problem, params, frozenset({NOISE_MEAN}) | self.backbone.frozen, self.schedule, progress)
            tried.append((weight, outcome, problem, float(params[NOISE].exp())))
            if outcome.interrupted:
                break
        weight, outcome, problem, noise_start = min(tried, key=lambda each: each[1].best_validation[0])
        status = self._status(outcome.statuses[0], weight, tried[-1][1].interrupted)
        if not status.usable:
            return None, status, outcome.trace
        said = {
            "regularisation_weight": weight,
            "noise_start": noise_start * standardiser.target_scale,
            "steps": float(outcome.best_steps[0]),
        }
        return _head(problem, outcome.params, standardiser, said), status, outcome.trace

    def set_up(self, library: ModuleType, data: SplitBatch, seed: int, weight: float) -> tuple[VbllProblem, Params]:
        """The problem of one replicate and its start, which does not depend on the weight."""
        dtype, generator = DTYPES[self.dtype], torch.Generator().manual_seed(seed)
        params = self.backbone.init(data.train.inputs.shape[-1], [generator], dtype)
        with torch.no_grad():
            size = self.backbone.features(params, data.train.inputs[:, :1]).shape[-1]
        # The package draws from the global generator: fork it, so that the user's stream is left alone.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**31, (1,), generator=generator)))
            layer = library.Regression(size, 1, weight, parameterization=self.parameterisation)
        loss = Loss(layer.to(dtype))
        params |= {name: value.detach()[None].clone() for name, value in loss.named_parameters()}
        if self.start == "fair":
            deviation = data.train.targets.std(-1, correction=0, keepdim=True)
            params[NOISE] = deviation.log().clamp(min=0.5 * LOG_NOISE_VAR_FLOOR)
        return VbllProblem(self.backbone, loss, data, self.backbone_penalty), params

    def _status(self, status: FitStatus, weight: float, interrupted: bool) -> FitStatus:
        if not status.usable:
            return status
        spelt = "1/N" if self.start == "fair" else f"{weight:g}"
        version = peer_version("vbll")
        said = [f"vbll {version} {STARTS[self.start]} with regularisation weight {spelt}"]
        given = self.regularisation_weight
        if isinstance(given, tuple) and len(given) > 1 and weight in (min(given), max(given)):
            said.append(f"regularisation weight {weight:g} is at the edge of its grid")
        return FitStatus("interrupted" if interrupted else status.code, status.detail, tuple(said))


def _head(problem: VbllProblem, params: Params, standardiser: Standardiser, said: dict[str, float]) -> GaussianHead:
    """The package's belief as plain numbers, in double precision."""
    layer: Any = problem.loss.layer
    layer.load_state_dict({name.removeprefix(HEAD): params[name][0] for name in params if name.startswith(HEAD)})
    with torch.no_grad():
        belief = layer.double().W()
        mean, covariance = belief.mean[0].clone(), belief.covariance[0].clone()
        noise_var = float((2.0 * layer.noise_logdiag[0]).exp())
    learned = {"noise_scale": noise_var**0.5 * standardiser.target_scale} | said
    chosen = {name: value[0] for name, value in params.items()}
    return GaussianHead(backbone_params(chosen), standardiser, mean, covariance, noise_var, learned)


def _share(progress: Watcher | None, done: int, count: int, schedule: Schedule) -> Watcher | None:
    """Steps of one replicate out of ``count`` in a row, as steps of the whole, which never fall."""
    if progress is None:
        return None
    best = [0]

    def watch(step: int, running: int, value: float) -> None:
        best[0] = max(best[0], (done * schedule.max_steps + step) // count)
        progress(best[0], running + count - done - 1, value)

    return watch
