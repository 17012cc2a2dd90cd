"""Mean-closed routing: the mean is bound to the ridge solution, the covariance is free (theory 3.10)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import GaussianBelief, Prior, RoutedBelief
from corners.covariances._base import Bounds, CovarianceFamily, Params
from corners.routings import ROUTINGS
from corners.routings._base import Routing, conjugate_mean

LOG_RIDGE = "log_ridge"
LOG_TARGET_SCALES = 30.0
"""Natural logarithm of the target variances that unscaled targets may have, either way: 1e-13 to 1e13."""


@ROUTINGS.register("mean_closed")
@dataclass(frozen=True)
class MeanClosed(Routing):
    """``μ* = (λI + ΨᵀΨ)⁻¹Ψᵀy`` with a trained ridge ``λ``; ``Σ`` and ``σ²`` free; ``α = λ/σ²``.

    Example
    -------
    >>> MeanClosed().binds_mean, MeanClosed().binds_covariance
    (True, False)
    """

    name: ClassVar[str] = "mean_closed"
    binds_mean: ClassVar[bool] = True
    binds_covariance: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "MeanClosed":
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
        """``λ = α σ²`` at the start of both, and the family's covariance parameters."""
        return {LOG_RIDGE: (prior.precision * noise_var).log()} | family.init(size, generators, noise_var.dtype)

    def bounds(self, prior: Prior, family: CovarianceFamily) -> Bounds:
        """Wide: ``λ = α σ²`` spans the bounds of ``log α`` (theory 5.7) and any scale of the targets."""
        low, high = prior.bounds()[Prior.parameter]
        return {LOG_RIDGE: (low - LOG_TARGET_SCALES, high + LOG_TARGET_SCALES)} | family.bounds()

    def prior_precision(self, params: Params, noise_var: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
        """``α = λ/σ²``."""
        return params[LOG_RIDGE].exp() / noise_var

    def bind(
        self,
        params: Params,
        family: CovarianceFamily,
        features: Float[Tensor, "*B N H"],
        targets: Float[Tensor, "*B N"],
        noise_var: Float[Tensor, "*B"],
        jitter: float,
    ) -> RoutedBelief:
        """``N(μ*, Σ)``: bound mean, free covariance."""
        precision = self.prior_precision(params, noise_var)
        mean, sites = conjugate_mean(features, targets, precision, noise_var)
        belief = GaussianBelief(mean, family.build(params, mean, jitter))
        return RoutedBelief(belief, precision, sites, covariance_is_bound=False)
