"""The contract of a routing: from parameters, features and targets to a belief."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Prior, RoutedBelief, Sites
from corners.covariances._base import Bounds, CovarianceFamily, Params
from corners.covariances._linalg import cholesky_or_nan
from corners.likelihoods._base import Likelihood


class Routing(ABC):
    """Where the belief comes from."""

    name: ClassVar[str]
    binds_mean: ClassVar[bool]
    binds_covariance: ClassVar[bool]
    approximate: ClassVar[bool] = False
    """Whether what is bound approximates a posterior that has no closed form."""

    def for_head(self, likelihood: Likelihood) -> "Routing":
        """The routing for a head: itself, unless its binding depends on it."""
        return self

    @abstractmethod
    def init(
        self,
        prior: Prior,
        family: CovarianceFamily,
        size: int,
        noise_var: Float[Tensor, " B"],
        generators: list[torch.Generator],
    ) -> Params:
        """Leaf parameters of prior and belief at their start, one replicate a generator."""

    @abstractmethod
    def bounds(self, prior: Prior, family: CovarianceFamily) -> Bounds:
        """Element-wise bounds of those parameters."""

    @abstractmethod
    def prior_precision(self, params: Params, noise_var: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
        """``α``."""

    @abstractmethod
    def bind(
        self,
        params: Params,
        family: CovarianceFamily,
        features: Float[Tensor, "*B N H"],
        targets: Float[Tensor, "*B N"],
        noise_var: Float[Tensor, "*B"],
        jitter: float,
    ) -> RoutedBelief:
        """The belief, with gradients flowing through the binding where there is one."""


def conjugate_mean(
    features: Float[Tensor, "*B N H"],
    targets: Float[Tensor, "*B N"],
    prior_precision: Float[Tensor, "*B"],
    noise_var: Float[Tensor, "*B"],
) -> tuple[Float[Tensor, "*B H"], Sites]:
    """``μ* = A⁻¹Ψᵀy/σ²`` and the sites, with ``A = αI + ΨᵀΨ/σ² = LLᵀ`` (theory 1).

    A mean that is bound follows the features inside the graph: detaching it would be another algorithm.
    """
    size = features.shape[-1]
    noise = noise_var[..., None, None]
    eye = torch.eye(size, dtype=features.dtype, device=features.device)
    lower = cholesky_or_nan(prior_precision[..., None, None] * eye + features.mT @ features / noise)
    moment = features.mT @ targets[..., None] / noise
    mean = torch.cholesky_solve(moment, lower)[..., 0]
    return mean, Sites(features, targets, noise_var, lower)
