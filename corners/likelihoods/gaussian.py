"""Gaussian likelihood: p(y | f) = N(y; f, σ²), the one head with every closed form (theory 6.1)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import HalfCauchyPrior, InverseGammaPrior, Marginals
from corners.covariances._base import Bounds, Params
from corners.covariances._linalg import cholesky_or_nan
from corners.errors import DataError, SpecError
from corners.likelihoods import LIKELIHOODS
from corners.likelihoods._base import Likelihood, zero_penalty
from corners.numerics import LOG_2PI
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.multi_output_gaussian import MultiOutputGaussianPredictive
from corners.types import Array

LOG_NOISE_VAR, TARGET_VAR = "log_noise_var", "target_var"
LOG_NOISE_VAR_FLOOR = -14.0
"""Lower bound of log σ² in the units trained in (theory 5.7)."""


@LIKELIHOODS.register("gaussian")
@dataclass(frozen=True)
class Gaussian(Likelihood):
    """Gaussian noise of one variance σ², or of one an output.

    With P = ``outputs`` > 1 the noise of the outputs is independent, ``p(y_n | f_n) = N(y_n; f_n, diag σ²)``, targets
    and marginals are ``(*B, P, N)``, and every functional sums over the outputs. Where the belief couples them
    (covariance "kronecker"), ``log_partition`` is the joint ``log N(y_n; m_n, V_n + diag σ²)`` with the P x P
    covariance ``V_n`` of the latent values.

    Parameters
    ----------
    noise_scale : start of σ in the units trained in; ``None`` takes ``σ² = var(y) / 2`` (theory 5.8).
    learned : whether σ² is estimated or fixed at its start.
    hyperprior : prior on σ² (or on σ for the half-Cauchy), see theory 7.4.
    log_noise_var_floor : lower bound of log σ²; move it for targets known to be nearly noiseless.
    outputs : P, target columns a data point.

    Raises
    ------
    SpecError : a noise scale that is not positive, ``learned=False`` without one, fewer than one output.
    DataError : another number of target columns (:meth:`init`).

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
    outputs: int = 1
    name: ClassVar[str] = "gaussian"
    conjugate: ClassVar[bool] = True
    log_concave: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.noise_scale is not None and not 0.0 < self.noise_scale < float("inf"):
            raise SpecError(
                f"noise_scale is a standard deviation and must be positive and finite; got {self.noise_scale}"
            )
        if not self.learned and self.noise_scale is None:
            raise SpecError("learned=False fixes the noise: give noise_scale, the value to fix it at")
        if self.outputs < 1:
            raise SpecError(f"outputs counts the target columns and must be at least 1; got {self.outputs}")

    @classmethod
    def example(cls) -> "Gaussian":
        """A member for the law suite."""
        return cls(noise_scale=0.7)

    @property
    def latents(self) -> int:
        """P: an output is a latent function with noise."""
        return self.outputs

    @property
    def target_columns(self) -> int:
        """P."""
        return self.outputs

    @property
    def frozen(self) -> frozenset[str]:
        """The variance of the targets always; σ² when it is fixed."""
        return frozenset({TARGET_VAR}) if self.learned else frozenset({TARGET_VAR, LOG_NOISE_VAR})

    def check(self, targets: Float[Tensor, "*L N"], params: Params | None = None) -> None:
        """Refuse another number of target columns than ``outputs``."""
        columns = targets.shape[-2] if targets.ndim > 2 else 1
        if columns != self.outputs:
            raise DataError(
                f"targets have shape {tuple(targets.shape)}, so {columns} column(s), and the likelihood is for "
                f"{self.outputs}; use Gaussian(outputs={columns})"
            )

    def init(self, targets: Float[Tensor, "*L N"]) -> Params:
        """``log σ²`` at its start and the variance of the targets, which bounds it and scales its hyperprior."""
        self.check(targets)
        target_var = targets.var(-1, correction=0)
        if self.noise_scale is None:
            start = (0.5 * target_var).log()
        else:
            start = 2.0 * torch.full_like(target_var, self.noise_scale).log()
        return {LOG_NOISE_VAR: start.clamp(min=self._floor()), TARGET_VAR: target_var}

    def bounds(self) -> Bounds:
        """From the floor to ``log(4 var y)``, the latter in :meth:`ceiling` since it differs between replicates."""
        return {LOG_NOISE_VAR: (self._floor(), float("inf"))}

    def ceiling(self, params: Params) -> dict[str, Float[Tensor, "*L"]]:
        """``log σ² ≤ log(4 var y)``, widened to include the start and never below the floor."""
        bound = (4.0 * params[TARGET_VAR]).log().clamp(min=self._floor() + 1.0)
        return {LOG_NOISE_VAR: bound if self.noise_scale is None else bound.clamp(min=2.0 * math.log(self.noise_scale))}

    def _floor(self) -> float:
        if self.noise_scale is None:
            return self.log_noise_var_floor
        return min(self.log_noise_var_floor, 2.0 * math.log(self.noise_scale))

    def noise_var(self, params: Params) -> Float[Tensor, "*L"]:
        """``σ²``; of several outputs ``(*B, P)``."""
        return params[LOG_NOISE_VAR].exp()

    def penalty(self, params: Params) -> Float[Tensor, "*B"]:
        """Negative log hyperprior of the noise, constants dropped."""
        if self.hyperprior is None:
            each = zero_penalty(params, LOG_NOISE_VAR)
        else:
            each = self.hyperprior.penalty(params[LOG_NOISE_VAR], params[TARGET_VAR])
        return each if self.outputs == 1 else each.sum(-1)

    def log_prob(
        self, params: Params, targets: Float[Tensor, "*L N"], latent: Float[Tensor, "*L N"]
    ) -> Float[Tensor, "*B N"]:
        """``-½ (log 2πσ² + (y - f)²/σ²)``."""
        log_var = params[LOG_NOISE_VAR][..., None]
        return self._over_outputs(-0.5 * (LOG_2PI + log_var + (targets - latent).square() * (-log_var).exp()))

    def log_partition(
        self, params: Params, targets: Float[Tensor, "*L N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``log N(y; m, σ² + v)``; jointly over outputs that the belief couples."""
        if marginals.coupling is not None:
            total = marginals.coupling.covariance() + torch.diag_embed(self.noise_var(params))[..., None, :, :]
            return _joint_log_density((targets - marginals.mean).mT, total)
        total = self.noise_var(params)[..., None] + marginals.variance
        return self._over_outputs(-0.5 * (LOG_2PI + total.log() + (targets - marginals.mean).square() / total))

    def expected_log_prob(
        self, params: Params, targets: Float[Tensor, "*L N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``-½ (log 2πσ² + ((y - m)² + v)/σ²)``: of coupled outputs too, for ``log p`` is a sum over them."""
        log_var = params[LOG_NOISE_VAR][..., None]
        spread = (targets - marginals.mean).square() + marginals.variance
        return self._over_outputs(-0.5 * (LOG_2PI + log_var + spread * (-log_var).exp()))

    def predictive(
        self, params: Params, marginals: Marginals, target_mean: float, target_scale: float
    ) -> GaussianPredictive:
        """``N(m, σ² + v)`` in original units, of one output."""
        if self.outputs > 1:
            raise SpecError(f"{self.outputs} outputs have a joint predictive: ask for joint_predictive")
        mean = target_mean + target_scale * marginals.mean.double().numpy()
        total = (self.noise_var(params)[..., None] + marginals.variance).double().numpy()
        return GaussianPredictive(mean, target_scale**2 * total)

    def joint_predictive(
        self,
        params: Params,
        marginals: Marginals,
        target_mean: float | Float[Array, " P"],
        target_scale: float | Float[Array, " P"],
    ) -> MultiOutputGaussianPredictive:
        """``N(m, V + diag σ²)`` over the outputs of every data point, each in its own units."""
        coupling, variance = marginals.coupling, marginals.variance.reshape(self.outputs, -1)
        latent = torch.diag_embed(variance.mT) if coupling is None else coupling.covariance()
        total = latent + torch.diag_embed(self.noise_var(params).reshape(self.outputs))
        mean = marginals.mean.reshape(self.outputs, -1).mT
        joint = MultiOutputGaussianPredictive(mean.double().numpy(), total.double().numpy())
        return joint.in_units(target_mean, target_scale)

    def _over_outputs(self, each: Tensor) -> Tensor:
        return each if self.outputs == 1 else each.sum(-2)


def _joint_log_density(residual: Float[Tensor, "*B N P"], covariance: Float[Tensor, "*B N P P"]) -> Tensor:
    """``log N(residual; 0, covariance)`` a data point; NaN where the covariance is not positive definite."""
    lower = cholesky_or_nan(covariance)
    whitened = torch.linalg.solve_triangular(lower, residual[..., None], upper=False)[..., 0]
    log_det = 2.0 * lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return -0.5 * (residual.shape[-1] * LOG_2PI + log_det + whitened.square().sum(-1))
