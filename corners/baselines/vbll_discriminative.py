"""Variational Bayesian last layer for classes of the vbll package, on a backbone trained together with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from corners.backbones._base import Backbone
from corners.baselines._classifiers import ClassifierFit, finished
from corners.baselines._gaussian_head import backbone_params
from corners.baselines._head_fit import HeadFit
from corners.baselines._tasks import class_count
from corners.baselines._temperature import Temperature
from corners.baselines._vbll import PUBLISHED_WEIGHT, VbllMethod
from corners.baselines._vbll_problem import HEAD, ClassLoss, VbllProblem, log_draws, quasi_normals
from corners.covariances._base import Params
from corners.data.batch import SplitBatch, stack_splits
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.method import METHODS, FitStatus, Trace
from corners.optimise import Fitted
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

FAIR_LOG_NOISE_SCALE = -1.0
"""Mean of what the package draws the log noise scales of its logits from."""


@dataclass(frozen=True)
class DiscriminativeHead:
    """One replicate's ``N(M_k, Σ_k)`` over each row of the last layer, and the noise variance of each logit."""

    backbone_params: Params
    standardiser: Standardiser
    mean: Float[Tensor, "K H"]
    covariance: Float[Tensor, "K H H"]
    noise_var: Float[Tensor, " K"]
    normals: Float[Tensor, "S K"]
    learned: Mapping[str, float]

    def log_draws(self, features: Float[Tensor, "N H"]) -> Float[Tensor, "S N K"]:
        """``log softmax(Mψ + √v z_s)`` with ``v_k = ψᵀΣ_kψ + σ_k²``."""
        variance = ((features @ self.covariance) * features).sum(-1).mT + self.noise_var
        return log_draws(features @ self.mean.mT, variance, self.normals)


@dataclass(frozen=True)
class VbllDiscriminativeFit(HeadFit[DiscriminativeHead], ClassifierFit):
    """Replicates as plain numbers: the peer that made them is not needed to predict."""

    method: str
    backbone: Backbone
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    heads: tuple[DiscriminativeHead | None, ...]
    trace: Trace
    seconds: float
    temperatures: tuple[Temperature | None, ...] = ()

    def untempered(self, inputs: Float[Array, "..."], replicate: int) -> CategoricalPredictive:
        """The average of the softmax over quasi-random draws of the logits, the same at every input."""
        head = self._usable(replicate)
        return CategoricalPredictive.from_draws(head.log_draws(self._features(inputs, head)).numpy())

    def learned(self, replicate: int) -> dict[str, float]:
        """``logit_noise_scale`` (root mean over the classes), ``regularisation_weight``, ``steps``."""
        return super().learned(replicate) | self.tempering(replicate)


@METHODS.register("vbll_discriminative")
@dataclass(frozen=True)
class VbllDiscriminative(VbllMethod):
    """Discriminative variational last layer (Harrison, Willes and Snoek 2024); the package's own loss, seeds together.

    The bound is the package's: ``E log softmax ≥ m_y - log Σ_k exp(m_k + v_k/2)`` a point, its mean over the points,
    less a weight times the KL to ``N(0, 2I/H)`` and a Wishart term of scale 1 on the noise of the logits.

    Parameters
    ----------
    start : "as_published": the package's own, which draws the log noise scales of the logits from ``N(-1, 1)``, and a
        weight of 0.1; or "fair": log noise scales of -1, and a weight of 1/N, with which the objective is the evidence
        bound. The weights' means and scales start as the package draws them.
    regularisation_weight : weights on the KL and noise terms that validation NLL chooses from, or one number; with the
        published start only.
    parameterisation : of each row's covariance, "dense" or "diagonal".
    samples : quasi-random draws that the predictive averages, in place of the package's twenty random ones, so that
        validation and predictions repeat.
    reduction : "sum" minimises N times the package's loss, which is a mean; "mean" the loss itself. The penalty of the
        hidden weights is the same beside either.
    temperature : fit one temperature on the validation part.

    Raises
    ------
    UnavailableError : vbll is missing or broken (from ``fit``).

    Example
    -------
    >>> VbllDiscriminative(start="as_published").weights(120), VbllDiscriminative().samples
    ((0.1,), 64)
    """

    samples: int = 64
    temperature: bool = False
    name: str = "vbll_discriminative"
    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples < 1:
            raise SpecError(f"at least 1 draw is needed to predict; got samples={self.samples}")

    def _made(self, fitted: Fitted[Any], splits: "Sequence[Split]", seeds: tuple[int, ...]) -> VbllDiscriminativeFit:
        made = VbllDiscriminativeFit(
            method=self.name,
            backbone=self.backbone,
            seeds=seeds,
            statuses=fitted.statuses,
            heads=fitted.replicates,
            trace=fitted.trace,
            seconds=fitted.seconds,
        )
        return finished(made, splits, temperature=self.temperature)

    def _stack(self, splits: "Sequence[Split]") -> tuple[SplitBatch, list[Standardiser]]:
        return stack_splits(splits, scale_targets=False, dtype=self.dtype, codes=True)

    def _outputs(self, splits: "Sequence[Split]") -> int:
        return class_count(splits)

    def _layer(self, library: ModuleType, size: int, outputs: int) -> nn.Module:
        return library.DiscClassification(size, outputs, PUBLISHED_WEIGHT, parameterization=self.parameterisation)

    def _loss(self, layer: nn.Module, outputs: int) -> ClassLoss:
        return ClassLoss(layer, quasi_normals(self.samples, outputs))

    def _fair_noise(self, data: SplitBatch, outputs: int) -> Float[Tensor, "B P"]:
        targets = data.train.targets
        return torch.full((len(targets), outputs), FAIR_LOG_NOISE_SCALE, dtype=targets.dtype)

    def _head(
        self, problem: VbllProblem, params: Params, standardiser: Standardiser, said: dict[str, float]
    ) -> DiscriminativeHead:
        layer: Any = problem.loss.layer
        layer.load_state_dict({name.removeprefix(HEAD): params[name] for name in params if name.startswith(HEAD)})
        with torch.no_grad():
            belief = layer.double().W()
            mean, covariance = belief.mean.clone(), belief.covariance.clone()
            noise_var = (2.0 * layer.noise_logdiag).exp()
        learned = {"logit_noise_scale": float(noise_var.mean().sqrt())} | said
        normals = problem.loss.get_buffer("normals")
        return DiscriminativeHead(backbone_params(params), standardiser, mean, covariance, noise_var, normals, learned)
