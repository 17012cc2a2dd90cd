"""Closed routing: the belief is the conjugate posterior, or its best member in a restricted family (theory 3.4)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import GaussianBelief, Prior, RoutedBelief
from corners.covariances._base import Bounds, CovarianceFamily, Params
from corners.routings import ROUTINGS
from corners.routings._base import Routing, conjugate_mean


@ROUTINGS.register("closed")
@dataclass(frozen=True)
class Closed(Routing):
    """``(μ, Σ) = B(θ, α, σ²)``: nothing of the belief is trained, everything follows features and hyperparameters.

    Example
    -------
    >>> Closed().binds_mean
    True
    """

    name: ClassVar[str] = "closed"
    binds_mean: ClassVar[bool] = True
    binds_covariance: ClassVar[bool] = True

    @classmethod
    def example(cls) -> "Closed":
        """A member for the law suite."""
        return cls()

    def init(
        self,
        prior: Prior,
        family: CovarianceFamily,
        size: int,
        noise_var: Float[Tensor, " B"],
        generators: list[torch.Generator],
    ) -> Params:
        """Only the prior precision."""
        return prior.init(len(generators), noise_var.dtype)

    def bounds(self, prior: Prior, family: CovarianceFamily) -> Bounds:
        """Bounds of the prior precision."""
        return prior.bounds()

    def prior_precision(self, params: Params, noise_var: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
        """``α``."""
        return params[Prior.parameter].exp()

    def bind(
        self,
        params: Params,
        family: CovarianceFamily,
        features: Float[Tensor, "*B N H"],
        targets: Float[Tensor, "*B N"],
        noise_var: Float[Tensor, "*B"],
        jitter: float,
    ) -> RoutedBelief:
        """``N(μ*, Σ)`` with ``Σ`` the family's ELBO optimum: ``A⁻¹`` (dense), ``1/A_dd`` (diagonal), 0 (none)."""
        precision = self.prior_precision(params, noise_var)
        mean, sites = conjugate_mean(features, targets, precision, noise_var)
        belief = GaussianBelief(mean, family.bind(sites.precision_factor, jitter))
        return RoutedBelief(belief, precision, sites, covariance_is_bound=True)
