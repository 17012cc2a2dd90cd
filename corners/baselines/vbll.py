"""Variational Bayesian last layer of the vbll package, on a backbone trained together with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import nn

from corners.baselines._gaussian_head import GaussianHead, GaussianHeadFit, backbone_params
from corners.baselines._vbll import PUBLISHED_WEIGHT, VbllMethod
from corners.baselines._vbll_problem import HEAD, Loss, VbllProblem
from corners.covariances._base import Params
from corners.data.batch import SplitBatch, stack_splits
from corners.data.standardiser import Standardiser
from corners.likelihoods.gaussian import LOG_NOISE_VAR_FLOOR
from corners.method import METHODS
from corners.optimise import Fitted
from corners.protocols import Protocol

if TYPE_CHECKING:
    from corners.data.split import Split


@METHODS.register("vbll")
@dataclass(frozen=True)
class Vbll(VbllMethod):
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

    scale_targets: bool = True
    name: str = "vbll"

    @classmethod
    def _from_protocol(cls, protocol: Protocol) -> dict[str, Any]:
        return {"scale_targets": protocol.scale_targets}

    def _made(self, fitted: Fitted[Any], splits: "Sequence[Split]", seeds: tuple[int, ...]) -> GaussianHeadFit:
        return GaussianHeadFit(
            method=self.name,
            backbone=self.backbone,
            seeds=seeds,
            statuses=fitted.statuses,
            heads=fitted.replicates,
            trace=fitted.trace,
            seconds=fitted.seconds,
        )

    def _stack(self, splits: "Sequence[Split]") -> tuple[SplitBatch, list[Standardiser]]:
        return stack_splits(splits, scale_targets=self.scale_targets, dtype=self.dtype)

    def _outputs(self, splits: "Sequence[Split]") -> int:
        return 1

    def _layer(self, library: ModuleType, size: int, outputs: int) -> nn.Module:
        return library.Regression(size, outputs, PUBLISHED_WEIGHT, parameterization=self.parameterisation)

    def _loss(self, layer: nn.Module, outputs: int) -> Loss:
        return Loss(layer)

    def _fair_noise(self, data: SplitBatch, outputs: int) -> Float[torch.Tensor, "B P"]:
        deviation = data.train.targets.std(-1, correction=0, keepdim=True)
        return deviation.log().clamp(min=0.5 * LOG_NOISE_VAR_FLOOR)

    def _noise_start(self, log_scales: Float[torch.Tensor, " P"], standardiser: Standardiser) -> dict[str, float]:
        return {"noise_start": float(log_scales.exp()) * standardiser.target_scale}

    def _head(
        self, problem: VbllProblem, params: Params, standardiser: Standardiser, said: dict[str, float]
    ) -> GaussianHead:
        return _head(problem, params, standardiser, said)


def _head(problem: VbllProblem, params: Params, standardiser: Standardiser, said: dict[str, float]) -> GaussianHead:
    """The package's belief as plain numbers, in double precision."""
    layer: Any = problem.loss.layer
    layer.load_state_dict({name.removeprefix(HEAD): params[name] for name in params if name.startswith(HEAD)})
    with torch.no_grad():
        belief = layer.double().W()
        mean, covariance = belief.mean[0].clone(), belief.covariance[0].clone()
        noise_var = float((2.0 * layer.noise_logdiag[0]).exp())
    learned = {"noise_scale": noise_var**0.5 * standardiser.target_scale} | said
    return GaussianHead(backbone_params(params), standardiser, mean, covariance, noise_var, learned)
