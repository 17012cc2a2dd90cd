"""Free routing: mean and covariance are parameters of the free energy, trained with everything else (theory 3.5)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import GaussianBelief, Prior, RoutedBelief
from corners.covariances._base import Bounds, CovarianceFamily, Params
from corners.errors import SpecError
from corners.routings import ROUTINGS
from corners.routings._base import Routing

MEAN = "mean"


@ROUTINGS.register("free")
@dataclass(frozen=True)
class Free(Routing):
    """``(μ, Σ)`` trained; the mean starts at ``N(0, initial_mean_var / H)`` (theory 5.8).

    Example
    -------
    >>> Free().binds_mean
    False
    """

    initial_mean_var: float = 0.01
    name: ClassVar[str] = "free"
    binds_mean: ClassVar[bool] = False
    binds_covariance: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.initial_mean_var < float("inf"):
            raise SpecError(f"initial_mean_var must be at least 0 and finite; got {self.initial_mean_var}")

    @classmethod
    def example(cls) -> "Free":
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
        """Prior precision, a small random mean and the family's covariance parameters."""
        dtype = noise_var.dtype
        draws = torch.stack([torch.randn(size, generator=generator, dtype=dtype) for generator in generators])
        start = {MEAN: (self.initial_mean_var / size) ** 0.5 * draws}
        return prior.init(len(generators), dtype) | start | family.init(size, generators, dtype)

    def bounds(self, prior: Prior, family: CovarianceFamily) -> Bounds:
        """Bounds of the prior precision and of the covariance."""
        return prior.bounds() | family.bounds()

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
        """``N(μ, Σ)`` as the parameters say; features and targets play no part."""
        mean = params[MEAN]
        belief = GaussianBelief(mean, family.build(params, mean, jitter))
        return RoutedBelief(belief, self.prior_precision(params, noise_var))
