"""Gaussian likelihood: p(y | f) = N(y; f, σ²), the one head with every closed form (theory 6.1)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import HalfCauchyPrior, InverseGammaPrior, Marginals
from corners.covariances._base import Bounds, Params
from corners.errors import SpecError
from corners.likelihoods import LIKELIHOODS
from corners.likelihoods._base import Likelihood, zero_penalty
from corners.numerics import LOG_2PI
from corners.predictive.gaussian import GaussianPredictive

LOG_NOISE_VAR, TARGET_VAR = "log_noise_var", "target_var"
LOG_NOISE_VAR_FLOOR = -14.0
"""Lower bound of log σ² in the units trained in (theory 5.7)."""


@LIKELIHOODS.register("gaussian")
@dataclass(frozen=True)
class Gaussian(Likelihood):
    """Gaussian noise of one variance σ².

    Parameters
    ----------
    noise_scale : start of σ in the units trained in; ``None`` takes ``σ² = var(y) / 2`` (theory 5.8).
    learned : whether σ² is estimated or fixed at its start.
    hyperprior : prior on σ² (or on σ for the half-Cauchy), see theory 7.4.
    log_noise_var_floor : lower bound of log σ²; move it for targets known to be nearly noiseless.

    Example
    -------
    >>> import torch
    >>> from corners.beliefs import Marginals
    >>> params = {"log_noise_var": torch.zeros(())}
    >>> marginals = Marginals(torch.zeros(1), torch.zeros(1))
    >>> bool(Gaussian().log_partition(params, torch.zeros(1), marginals) == -0.5 * LOG_2PI)
    True
    """

    noise_scale: float | None = None
    learned: bool = True
    hyperprior: InverseGammaPrior | HalfCauchyPrior | None = None
    log_noise_var_floor: float = LOG_NOISE_VAR_FLOOR
    name: ClassVar[str] = "gaussian"
    conjugate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.noise_scale is not None and not 0.0 < self.noise_scale < float("inf"):
            raise SpecError(
                f"noise_scale is a standard deviation and must be positive and finite; got {self.noise_scale}"
            )
        if not self.learned and self.noise_scale is None:
            raise SpecError("learned=False fixes the noise: give noise_scale, the value to fix it at")

    @classmethod
    def example(cls) -> "Gaussian":
        """A member for the law suite."""
        return cls(noise_scale=0.7)

    @property
    def frozen(self) -> frozenset[str]:
        """The variance of the targets always; σ² when it is fixed."""
        return frozenset({TARGET_VAR}) if self.learned else frozenset({TARGET_VAR, LOG_NOISE_VAR})

    def init(self, targets: Float[Tensor, "B N"]) -> Params:
        """``log σ²`` at its start and the variance of the targets, which bounds it and scales its hyperprior."""
        target_var = targets.var(-1, correction=0)
        if self.noise_scale is None:
            start = (0.5 * target_var).log()
        else:
            start = 2.0 * torch.full_like(target_var, self.noise_scale).log()
        return {LOG_NOISE_VAR: start.clamp(min=self._floor()), TARGET_VAR: target_var}

    def bounds(self) -> Bounds:
        """From the floor to ``log(4 var y)``, the latter in :meth:`ceiling` since it differs between replicates."""
        return {LOG_NOISE_VAR: (self._floor(), float("inf"))}

    def ceiling(self, params: Params) -> dict[str, Float[Tensor, "*B"]]:
        """``log σ² ≤ log(4 var y)``, widened to include the start and never below the floor."""
        bound = (4.0 * params[TARGET_VAR]).log().clamp(min=self._floor() + 1.0)
        return {LOG_NOISE_VAR: bound if self.noise_scale is None else bound.clamp(min=2.0 * math.log(self.noise_scale))}

    def _floor(self) -> float:
        if self.noise_scale is None:
            return self.log_noise_var_floor
        return min(self.log_noise_var_floor, 2.0 * math.log(self.noise_scale))

    def noise_var(self, params: Params) -> Float[Tensor, "*B"]:
        """``σ²``."""
        return params[LOG_NOISE_VAR].exp()

    def penalty(self, params: Params) -> Float[Tensor, "*B"]:
        """Negative log hyperprior of the noise, constants dropped."""
        if self.hyperprior is None:
            return zero_penalty(params, LOG_NOISE_VAR)
        return self.hyperprior.penalty(params[LOG_NOISE_VAR], params[TARGET_VAR])

    def log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], latent: Float[Tensor, "*B N"]
    ) -> Float[Tensor, "*B N"]:
        """``-½ (log 2πσ² + (y - f)²/σ²)``."""
        log_var = params[LOG_NOISE_VAR][..., None]
        return -0.5 * (LOG_2PI + log_var + (targets - latent).square() * (-log_var).exp())

    def log_partition(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``log N(y; m, σ² + v)``."""
        total = self.noise_var(params)[..., None] + marginals.variance
        return -0.5 * (LOG_2PI + total.log() + (targets - marginals.mean).square() / total)

    def expected_log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``-½ (log 2πσ² + ((y - m)² + v)/σ²)``."""
        log_var = params[LOG_NOISE_VAR][..., None]
        spread = (targets - marginals.mean).square() + marginals.variance
        return -0.5 * (LOG_2PI + log_var + spread * (-log_var).exp())

    def predictive(
        self, params: Params, marginals: Marginals, target_mean: float, target_scale: float
    ) -> GaussianPredictive:
        """``N(m, σ² + v)`` in original units."""
        mean = target_mean + target_scale * marginals.mean.double().numpy()
        total = (self.noise_var(params)[..., None] + marginals.variance).double().numpy()
        return GaussianPredictive(mean, target_scale**2 * total)
