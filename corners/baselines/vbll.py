"""Variational Bayesian last layer of the vbll package, on a backbone trained together with it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from corners.backbones._base import Backbone
from corners.backbones.mlp import MLP
from corners.baselines._gaussian_head import GaussianHead, GaussianHeadFit, backbone_params
from corners.baselines._peers import import_peer, peer_version
from corners.baselines._vbll_problem import HEAD, NOISE, NOISE_MEAN, Loss, VbllProblem
from corners.covariances._base import Params
from corners.data.batch import DTYPES, SplitBatch, stack_splits
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.likelihoods.gaussian import LOG_NOISE_VAR_FLOOR
from corners.method import METHODS, Fit, FitStatus, Method, Trace
from corners.optimise import Schedule, Watcher, fit_in_groups, train
from corners.protocols import CHOICES, Protocol
from corners.selection import best_candidate, choice_remarks
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

STARTS = {"as_published": "as published", "fair": "from the fair start"}
PARAMETERISATIONS = ("dense", "diagonal")
PUBLISHED_WEIGHT = 0.1
REMEDY = "pip install vbll==0.4.9"


@METHODS.register("vbll")
@dataclass(frozen=True)
class Vbll(Method):
    """Variational Bayesian last layer (Harrison, Willes and Snoek 2024); the package's own loss, all seeds at once.

    Parameters
    ----------
    start : "as_published": the package's own, which draws the log noise scale from ``N(0, (log 0.01)²)``, and a weight
        of 0.1; or "fair": noise scale started at the standard deviation of the training targets, and a weight of 1/N,
        with which the objective is the evidence bound. The weights' means and scales start as the package draws them.
    regularisation_weight : weights on the KL and noise terms that validation NLL chooses from, or one number; with the
        published start only.
    parameterisation : of the covariance, "dense" or "diagonal".
    reduction : "sum" minimises N times the package's loss, which is a mean; "mean" the loss itself. The penalty of the
        hidden weights is the same beside either.

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
    reduction: str = "sum"
    name: str = "vbll"

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
    def example(cls) -> "Vbll":
        """A small member for the law suite."""
        return cls(backbone=MLP(4), schedule=Schedule(0.01, 200, 20, 1e-6))

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "Vbll":
        """As the protocol says; its weights are those of the published start."""
        schedule = Schedule(protocol.learning_rate, protocol.max_steps, protocol.patience, protocol.threshold)
        return cls(
            backbone,
            start=protocol.vbll_start,
            regularisation_weight=None if protocol.vbll_start == "fair" else protocol.vbll_weights,
            backbone_penalty=protocol.backbone_penalty,
            schedule=schedule,
            scale_targets=protocol.scale_targets,
            dtype=protocol.dtype,
            reduction=protocol.reduction,
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
        """Train every regularisation weight of every (split, seed) pair together; validation NLL chooses."""
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
        data, standardisers = stack_splits(splits, scale_targets=self.scale_targets, dtype=self.dtype)
        weights, count = self.weights(splits[0].train.n), len(seeds)
        problem, params = self.set_up(library, data, seeds, weights)
        outcome = train(problem, params, frozenset({NOISE_MEAN}) | self.backbone.frozen, self.schedule, progress)
        scores = np.array(outcome.best_validation).reshape(len(weights), count)
        found: list[tuple[GaussianHead | None, FitStatus]] = []
        rows = []
        for k, standardiser in enumerate(standardisers):
            best = best_candidate(scores[:, k]) or 0
            rows.append(best * count + k)
            status = self._status(outcome.statuses[rows[k]], weights, scores[:, k], outcome.interrupted)
            said = {
                "regularisation_weight": weights[best],
                "noise_start": float(params[NOISE][k].exp()) * standardiser.target_scale,
                "steps": float(outcome.best_steps[rows[k]]),
            }
            own = {name: value[rows[k]] for name, value in outcome.params.items()}
            found.append((_head(problem, own, standardiser, said) if status.usable else None, status))
        return found, Trace(outcome.trace.steps, {name: each[rows] for name, each in outcome.trace.values.items()})

    def set_up(
        self, library: ModuleType, data: SplitBatch, seeds: list[int], weights: tuple[float, ...]
    ) -> tuple[VbllProblem, Params]:
        """The problem of all seeds under every weight, and its start, which does not depend on the weight."""
        dtype, generators = DTYPES[self.dtype], [torch.Generator().manual_seed(seed) for seed in seeds]
        params = self.backbone.init(data.train.inputs.shape[-1], generators, dtype)
        with torch.no_grad():
            size = self.backbone.features(params, data.train.inputs[:, :1]).shape[-1]
        losses = [Loss(self._layer(library, size, generator).to(dtype)) for generator in generators]
        heads = [dict(loss.named_parameters()) for loss in losses]
        params |= {name: torch.stack([head[name].detach() for head in heads]) for name in heads[0]}
        if self.start == "fair":
            deviation = data.train.targets.std(-1, correction=0, keepdim=True)
            params[NOISE] = deviation.log().clamp(min=0.5 * LOG_NOISE_VAR_FLOOR)
        tiles = torch.arange(len(seeds)).repeat(len(weights))
        column = torch.tensor(weights, dtype=dtype).repeat_interleave(len(seeds))
        problem = VbllProblem(
            self.backbone, losses[0], data.select(tiles), column, self.backbone_penalty, self.reduction
        )
        return problem, {name: value[tiles] for name, value in params.items()}

    def _layer(self, library: ModuleType, size: int, generator: torch.Generator) -> nn.Module:
        """The package's layer as it starts; it draws from torch's global generator, whose stream is left alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**31, (1,), generator=generator)))
            return library.Regression(size, 1, PUBLISHED_WEIGHT, parameterization=self.parameterisation)

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


def _head(problem: VbllProblem, params: Params, standardiser: Standardiser, said: dict[str, float]) -> GaussianHead:
    """The package's belief as plain numbers, in double precision."""
    layer = problem.loss.layer
    layer.load_state_dict({name.removeprefix(HEAD): params[name] for name in params if name.startswith(HEAD)})
    with torch.no_grad():
        belief = layer.double().W()
        mean, covariance = belief.mean[0].clone(), belief.covariance[0].clone()
        noise_var = float((2.0 * layer.noise_logdiag[0]).exp())
    learned = {"noise_scale": noise_var**0.5 * standardiser.target_scale} | said
    return GaussianHead(backbone_params(params), standardiser, mean, covariance, noise_var, learned)
