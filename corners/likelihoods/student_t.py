"""Student-t likelihood: y = f + s t_ν, for targets with outliers (theory 6.3)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Bounds, Params
from corners.errors import SpecError
from corners.likelihoods import LIKELIHOODS
from corners.likelihoods._base import Likelihood, zero_penalty
from corners.likelihoods._scale_mixture import expected_log1p_square, log_scale_mixture
from corners.predictive.student_t import NODES_OF_HEAVY_TAILS, StudentTPredictive, mixing_nodes

LOG_SCALE, EXCESS_DF, TARGET_VAR = "log_scale", "excess_df", "target_var"
LOG_SCALE_FLOOR = -7.0
"""Lower bound of log s in the units trained in: half the floor of a log variance (theory 5.7)."""
EXCESS_DF_BOUNDS = (-2.0, 198.0)
"""Bounds of x in ``ν = 2 + softplus(x)``: ν from 2.13, where the rule still holds 3e-7, to 200, nearly Gaussian."""


@LIKELIHOODS.register("student_t")
@dataclass(frozen=True)
class StudentT(Likelihood):
    """Student-t noise of scale s and ν degrees of freedom; its standard deviation is ``s √(ν/(ν - 2))``.

    ``log_partition`` integrates the precision of the noise by a trapezoid rule: errors 3e-7 at ν = 2.1, 1e-9 at ν = 3,
    2e-12 from ν = 5 on. As with Gaussian noise, s² and the belief's covariance can stand in for each other (theory 9).

    Parameters
    ----------
    scale : start of s in the units trained in; ``None`` takes the noise variance ``var(y) / 2`` (theory 5.8).
    df : ν, or its start.
    learned : whether s is estimated or fixed at its start.
    learned_df : whether ν is estimated, as ``2 + softplus``; the likelihood knows little of it: prefer to fix it.

    Raises
    ------
    SpecError : scale not positive and finite, df not above 2 and at most 200, or a fixed scale without its value.

    Example
    -------
    >>> import torch
    >>> params = StudentT(scale=1.0).init(torch.zeros(1, 2, dtype=torch.float64))
    >>> zero = torch.zeros(1, 1, dtype=torch.float64)
    >>> round(float(StudentT().log_prob(params, zero, zero).exp()), 12)  # t_4 has density 3/8 at its centre
    0.375
    """

    scale: float | None = None
    df: float = 4.0
    learned: bool = True
    learned_df: bool = False
    name: ClassVar[str] = "student_t"
    conjugate: ClassVar[bool] = False
    task: ClassVar[str] = "regression"

    def __post_init__(self) -> None:
        if self.scale is not None and not 0.0 < self.scale < math.inf:
            raise SpecError(f"scale must be positive and finite; got {self.scale}")
        if not 2.0 < self.df <= 200.0:
            raise SpecError(f"df must lie above 2 and not above 200 (take 'gaussian' beyond); got {self.df}")
        if not self.learned and self.scale is None:
            raise SpecError("learned=False fixes the scale: give scale, the value to fix it at")

    @classmethod
    def example(cls) -> "StudentT":
        """A member for the law suite."""
        return cls(scale=0.6, df=5.0)

    @property
    def frozen(self) -> frozenset[str]:
        """The variance of the targets always; s and ν when they are fixed."""
        fixed = {LOG_SCALE: not self.learned, EXCESS_DF: not self.learned_df, TARGET_VAR: True}
        return frozenset(name for name, is_fixed in fixed.items() if is_fixed)

    def init(self, targets: Float[Tensor, "B N"]) -> Params:
        """``log s``, the unconstrained x of ``ν = 2 + softplus(x)``, and the variance of the targets."""
        target_var = targets.var(-1, correction=0)
        if self.scale is None:
            start = 0.5 * (0.5 * target_var * (self.df - 2.0) / self.df).log()
        else:
            start = torch.full_like(target_var, self.scale).log()
        excess = torch.full_like(target_var, self._excess())
        return {LOG_SCALE: start.clamp(min=self._floor()), EXCESS_DF: excess, TARGET_VAR: target_var}

    def bounds(self) -> Bounds:
        """``log s`` from its floor; ``ν`` from 2.13 to 200; both widened to include the start."""
        low, high = EXCESS_DF_BOUNDS
        excess = self._excess()
        return {LOG_SCALE: (self._floor(), math.inf), EXCESS_DF: (min(low, excess), max(high, excess))}

    def ceiling(self, params: Params) -> dict[str, Float[Tensor, "*B"]]:
        """``s² ≤ 4 var y``, widened to include the start and never below the floor."""
        bound = (0.5 * (4.0 * params[TARGET_VAR]).log()).clamp(min=self._floor() + 0.5)
        return {LOG_SCALE: bound if self.scale is None else bound.clamp(min=math.log(self.scale))}

    def noise_var(self, params: Params) -> None:
        """None: the noise is not Gaussian."""
        return

    def penalty(self, params: Params) -> Float[Tensor, "*B"]:
        """Zero: no hyperprior."""
        return zero_penalty(params, LOG_SCALE)

    def log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], latent: Float[Tensor, "*B N"]
    ) -> Float[Tensor, "*B N"]:
        """``log t_ν((y - f)/s) - log s``."""
        df = self._df(params)
        square = ((targets - latent) / params[LOG_SCALE].exp()[..., None]).square()
        return self._constant(params) - 0.5 * (df + 1.0) * (square / df).log1p()

    def log_partition(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``log ∫ N(y; m, v + s²/λ) Gamma(λ; ν/2, ν/2) dλ``, in float64 whatever goes in."""
        residual = targets.double() - marginals.mean.double()
        scale_var = (2.0 * params[LOG_SCALE].double()).exp()[..., None]
        value = log_scale_mixture(
            residual, marginals.variance.double(), scale_var, self._df(params).double(), self._nodes()
        )
        return value.to(marginals.mean.dtype)

    def expected_log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``const - ½(ν + 1) E log(1 + (y - f)²/(ν s²))``, to 1e-11 at any v."""
        df = self._df(params)
        per_unit = (-2.0 * params[LOG_SCALE]).exp()[..., None] / df
        square = (targets - marginals.mean).square() * per_unit
        return self._constant(params) - 0.5 * (df + 1.0) * expected_log1p_square(square, marginals.variance * per_unit)

    def predictive(
        self, params: Params, marginals: Marginals, target_mean: float, target_scale: float
    ) -> StudentTPredictive:
        """``f + s t_ν`` in original units."""
        return StudentTPredictive(
            target_mean + target_scale * marginals.mean.detach().double().numpy(),
            target_scale**2 * marginals.variance.detach().double().numpy(),
            target_scale * float(params[LOG_SCALE].detach().double().exp()),
            float(self._df(params).detach().double()),
        )

    def _df(self, params: Params) -> Tensor:
        """``ν = 2 + softplus(x)``, with a dimension for the data points."""
        return 2.0 - torch.nn.functional.logsigmoid(-params[EXCESS_DF])[..., None]

    def _constant(self, params: Params) -> Tensor:
        half = 0.5 * self._df(params)
        return (
            torch.lgamma(half + 0.5)
            - torch.lgamma(half)
            - 0.5 * (2.0 * math.pi * half).log()
            - params[LOG_SCALE][..., None]
        )

    def _nodes(self) -> int:
        """Fixed per fit: a ν that is learned may come below 3."""
        return NODES_OF_HEAVY_TAILS if self.learned_df else mixing_nodes(self.df)

    def _floor(self) -> float:
        return LOG_SCALE_FLOOR if self.scale is None else min(LOG_SCALE_FLOOR, math.log(self.scale))

    def _excess(self) -> float:
        excess = self.df - 2.0
        return excess + math.log(-math.expm1(-excess))
