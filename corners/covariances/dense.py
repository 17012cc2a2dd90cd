"""Dense covariance: Σ = L Lᵀ + ε I when free (theory 5.3), A⁻¹ + ε I when bound to the conjugate posterior."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.covariances import COVARIANCES
from corners.covariances._base import (
    LOG_VAR_BOUNDS,
    Bounds,
    CovarianceFamily,
    Params,
    require_jitter,
    require_start,
)
from corners.covariances._factor import (
    LOG_DIAGONAL,
    STRICT_LOWER,
    FactorCovariance,
    PrecisionCovariance,
    lower_factor,
)

__all__ = ["LOG_DIAGONAL", "STRICT_LOWER", "Dense", "FactorCovariance", "PrecisionCovariance"]


@COVARIANCES.register("dense")
@dataclass(frozen=True)
class Dense(CovarianceFamily):
    """Any covariance; ``initial_scale`` is the start of ``L = initial_scale · I`` (theory 5.8: 0.1).

    Example
    -------
    >>> Dense.example().name
    'dense'
    """

    initial_scale: float = 0.1
    name: ClassVar[str] = "dense"

    def __post_init__(self) -> None:
        require_start("initial_scale", self.initial_scale)

    @classmethod
    def example(cls) -> "Dense":
        """A member for the law suite."""
        return cls()

    def init(self, size: int, generators: list[torch.Generator], dtype: torch.dtype) -> Params:
        """``L = initial_scale · I`` as the log of its diagonal and a strict lower triangle."""
        start = torch.tensor(self.initial_scale, dtype=dtype).log()
        count = len(generators)
        return {
            LOG_DIAGONAL: start.expand(count, size).clone(),
            STRICT_LOWER: torch.zeros(count, size, size, dtype=dtype),
        }

    def bounds(self) -> Bounds:
        """``2 log L_dd`` within the bounds of ``log s_d``."""
        low, high = LOG_VAR_BOUNDS
        return {LOG_DIAGONAL: (0.5 * low, 0.5 * high)}

    def build(self, params: Params, mean: Float[Tensor, "*B H"], jitter: float) -> FactorCovariance:
        """``L`` with ``exp`` on its diagonal, ``Σ = L Lᵀ + ε I``."""
        require_jitter(jitter)
        return FactorCovariance(lower_factor(params[LOG_DIAGONAL], params[STRICT_LOWER]), jitter)

    def bind(self, precision_factor: Float[Tensor, "*B H H"], jitter: float) -> PrecisionCovariance:
        """``Σ* = A⁻¹``: the conjugate posterior."""
        require_jitter(jitter)
        return PrecisionCovariance(precision_factor, jitter)
