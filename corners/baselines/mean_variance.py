"""Network with a mean and a log variance for every point (heteroscedastic head), by two linear heads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones._base import Backbone
from corners.baselines._gaussian_networks import GaussianNetworkMethod
from corners.baselines._heads import Head
from corners.baselines._network_fit import GaussianNetworkFit, NetworkFit
from corners.baselines._network_problem import WEIGHTS, MapProblem
from corners.covariances._base import Params
from corners.data.batch import PartBatch, SplitBatch
from corners.errors import SpecError
from corners.likelihoods.gaussian import LOG_NOISE_VAR
from corners.method import METHODS, Fit, FitStatus
from corners.optimise import Watcher
from corners.predictive.gaussian import GaussianPredictive
from corners.protocols import Protocol
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

LOG_VAR_WEIGHTS = "log_var_weights"
FLOOR_SLACK = 1e-6


def log_variance(likelihood: Head, params: Params, features: Float[Tensor, "*B N H"]) -> Float[Tensor, "*B N"]:
    """``log σ²(x_n) = vᵀψ_n + c``, never below the likelihood's floor; ``c`` is its ``log_noise_var``."""
    free = (features @ params[LOG_VAR_WEIGHTS][..., None])[..., 0] + params[LOG_NOISE_VAR][..., None]
    return free.clamp(min=likelihood.bounds()[LOG_NOISE_VAR][0])


@dataclass(frozen=True)
class MeanVarianceProblem(MapProblem):
    """``Σ_n ⌊σ_n²⌋^β · (-log N(y_n; wᵀψ_n, σ_n²)) + ½ λ (‖w‖² + ‖v‖²) + λ_bb ‖W_hidden‖²``; ``⌊·⌋`` is a constant."""

    beta: float

    def losses(self, params: Params, step: int) -> Float[Tensor, "B N"]:
        """The weighted negative log likelihood of every training point."""
        log_prob, log_var = self._points(params, self.data.train)
        return -log_prob * (self.beta * log_var.detach()).exp()

    def log_prob(self, params: Params, part: PartBatch) -> Float[Tensor, "B N"]:
        """``log N(y_n; wᵀψ_n, σ_n²)``, without weights: what is scored."""
        return self._points(params, part)[0]

    def squared_norm(self, params: Params) -> Float[Tensor, " B"]:
        """Both heads; the constant of the log variance is free."""
        return params[WEIGHTS].square().sum(-1) + params[LOG_VAR_WEIGHTS].square().sum(-1)

    def adjust(self, params: Params, step: int, state: None) -> None:
        """Nothing: the floor holds at every point, and the constant alone is no variance."""

    def noise_scale(self, params: Params) -> Float[Tensor, " B"]:
        """Root mean of ``σ_n²`` over the training points."""
        features = self.backbone.features(params, self.data.train.inputs)
        return log_variance(self.likelihood, params, features).detach().exp().mean(-1).sqrt()

    def _points(self, params: Params, part: PartBatch) -> tuple[Tensor, Tensor]:
        features = self.backbone.features(params, part.inputs)
        mean = features @ params[WEIGHTS][..., None]
        log_var = log_variance(self.likelihood, params, features)
        # Every point is a replicate of its own to the likelihood, since it has a noise of its own.
        log_prob = self.likelihood.log_prob({LOG_NOISE_VAR: log_var}, part.targets[..., None], mean)
        return log_prob[..., 0], log_var


@dataclass(frozen=True)
class MeanVarianceFit(GaussianNetworkFit):
    """Fit of :class:`MeanVariance`; ``noise_scale`` in ``learned`` is the root mean variance over training points."""

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> GaussianPredictive:
        """``N(wᵀψ, σ²(x))`` in original units."""
        own = self._usable(replicate)
        mean = self._latent(inputs, replicate)
        noise_var = self._log_noise_var(inputs, replicate).exp()
        scale = own.standardiser
        return GaussianPredictive(
            scale.original_mean(mean.double().numpy()), scale.original_var(noise_var.double().numpy())
        )

    def points_at_floor(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> int:
        """At how many inputs the log variance sits on its floor: their noise has collapsed."""
        floor = self.likelihood.bounds()[LOG_NOISE_VAR][0]
        return int((self._log_noise_var(inputs, replicate) <= floor + FLOOR_SLACK).sum())

    def _log_noise_var(self, inputs: Array, replicate: int) -> Tensor:
        params = self._usable(replicate).params
        return log_variance(self.likelihood, params, self._features(inputs, replicate))


@METHODS.register("mean_variance")
@dataclass(frozen=True)
class MeanVariance(GaussianNetworkMethod):
    """Mean and log variance from the last features, by Gaussian NLL; the penalty is on both heads.

    Parameters
    ----------
    beta : in [0, 1]; every point's loss is multiplied by ``σ_n^{2β}``, held constant. 0 is the NLL itself; at 1 the
        mean is trained by squared error, whatever the variances. Variances are those of the targets trained on.

    The log variance head starts at zero, with the constant at the start of ``map``'s log noise: the start is ``map``'s.

    Reference: Nix and Weigend (1994), Estimating the mean and variance of the target probability distribution; Seitzer
    et al. (2022), On the pitfalls of heteroscedastic uncertainty estimation with probabilistic neural networks, eq. 5.

    Example
    -------
    >>> MeanVariance.example().beta
    0.0
    """

    name: str = "mean_variance"
    beta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.beta <= 1.0:
            raise SpecError(
                f"beta must lie in [0, 1]: 0 is the NLL, 1 trains the mean by squared error; got {self.beta}"
            )
        if self.noise != "learned":
            raise SpecError(f"mean_variance learns a variance a point: noise must be 'learned'; got {self.noise!r}")

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "MeanVariance":
        """As the protocol says, but for the noise, which is what this method learns."""
        return super().from_protocol(replace(protocol, noise="learned"), backbone)

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> NetworkFit:
        """Train one network a (split, seed) pair and penalty; points whose noise collapsed are said."""
        fit = super().fit(splits, seeds, host=host, progress=progress)
        return replace(fit, statuses=tuple(_with_floor(fit, k, split) for k, split in enumerate(splits)))

    def _made(self, **fields: Any) -> MeanVarianceFit:
        return MeanVarianceFit(**fields)

    def _found(self, fit: MeanVarianceFit, replicate: int, split: "Split") -> Mapping[str, float]:
        noise_var = fit.predict(split.train.inputs, replicate=replicate).variance
        return {
            "noise_scale": float(np.sqrt(noise_var.mean())),
            "smallest_noise_scale": float(np.sqrt(noise_var.min())),
            "largest_noise_scale": float(np.sqrt(noise_var.max())),
        }

    def _problem(self, head: Head, data: SplitBatch, seeds: list[int], size: int) -> MeanVarianceProblem:
        penalties = self._column("penalty", seeds)
        return MeanVarianceProblem(
            self.backbone,
            head,
            data,
            penalties,
            self.backbone_penalty,
            beta=self.beta,
            reduction=self.reduction,
        )

    def _init(self, head: Head, data: SplitBatch, generators: list[torch.Generator]) -> Params:
        params = super()._init(head, data, generators)
        return params | {LOG_VAR_WEIGHTS: torch.zeros_like(params[WEIGHTS])}


def _with_floor(fit: Any, replicate: int, split: "Split") -> FitStatus:
    status = fit.statuses[replicate]
    count = fit.points_at_floor(split.train.inputs, replicate=replicate) if status.usable else 0
    if not count:
        return status
    remark = f"noise collapsed: the variance is at its floor at {count} of {split.train.n} training points"
    return replace(status, remarks=(*status.remarks, remark))
