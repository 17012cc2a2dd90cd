"""Beliefs about the last layer: prior and hyperpriors, the Gaussian belief, what a routing and a cavity return."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.covariances._base import Bounds, Coupling, Covariance, Params
from corners.covariances._linalg import row_squares, triangular_inverse
from corners.errors import SpecError
from corners.numerics import LOG_2PI

LOG_PRECISION_BOUNDS = (-10.0, 12.0)
"""Bounds of the log prior precision (theory 5.7)."""
UNBOUNDED_LOG_PRECISION = (-40.0, 40.0)
"""Where no bound is asked for: precisions from 4e-18 to 2e17, so that a runaway ends in numbers a float32 holds."""


@dataclass(frozen=True)
class GammaPrior:
    """Gamma(shape, rate) on the prior precision α, a density in α (theory 7.4).

    ``rate=None`` takes ``(H/2 + shape - 1) / cap``: the runaway minimum of the "none" cell then lies at about ``cap``.

    Example
    -------
    >>> GammaPrior(shape=2.0, cap=100.0).rate_for(50)
    0.26
    """

    shape: float = 2.0
    rate: float | None = None
    cap: float = 100.0

    def __post_init__(self) -> None:
        if min(self.shape, self.cap, self.rate if self.rate is not None else 1.0) <= 0.0:
            raise SpecError(f"shape, rate and cap of a Gamma prior must be positive; got {self}")

    def rate_for(self, size: int) -> float:
        """The rate for ``size`` features."""
        return self.rate if self.rate is not None else (0.5 * size + self.shape - 1.0) / self.cap

    def penalty(self, log_precision: Float[Tensor, "*B"], size: int) -> Float[Tensor, "*B"]:
        """``-(a - 1) log α + b α``, constants dropped."""
        return -(self.shape - 1.0) * log_precision + self.rate_for(size) * log_precision.exp()


@dataclass(frozen=True)
class InverseGammaPrior:
    """Inverse-gamma(shape, scale) on the noise variance σ², a true barrier at zero (theory 7.4).

    ``scale = relative_scale · var(y)`` unless ``scale`` is given.
    """

    shape: float = 1.0
    relative_scale: float = 0.01
    scale: float | None = None

    def __post_init__(self) -> None:
        if min(self.shape, self.relative_scale, self.scale if self.scale is not None else 1.0) <= 0.0:
            raise SpecError(f"shape and scales of an inverse-gamma prior must be positive; got {self}")

    def scale_for(self, target_var: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
        """The scale for targets of this variance."""
        return self.relative_scale * target_var if self.scale is None else torch.full_like(target_var, self.scale)

    def penalty(self, log_var: Float[Tensor, "*B"], target_var: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
        """``(a₀ + 1) log σ² + b₀ / σ²``, constants dropped."""
        return (self.shape + 1.0) * log_var + self.scale_for(target_var) * (-log_var).exp()


@dataclass(frozen=True)
class HalfCauchyPrior:
    """Half-Cauchy(scale) on the noise scale σ; bounded at zero, so it does **not** stop noise collapse (theory 7.4)."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.scale <= 0.0:
            raise SpecError(f"scale of a half-Cauchy prior must be positive; got {self.scale}")

    def penalty(self, log_var: Float[Tensor, "*B"], target_var: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
        """``log(1 + σ²/s₀²)``, constants dropped."""
        return torch.log1p(log_var.exp() / self.scale**2)


@dataclass(frozen=True)
class Prior:
    """``p(w) = N(0, α⁻¹ I)``: where α starts, whether it is learned, and what keeps it in place.

    ``evidence_tied``: every so many steps α is set by MacKay's update at the current features and held constant in
    between (theory 7.4); 0 means it is learned by gradient like every other parameter.
    ``shared``: where a data point has several latent functions (classes, outputs), whether they share one α.
    ``bounded``: whether log α is kept within the bounds of theory 5.7; without, only the jitter keeps a belief proper.
    """

    precision: float = 1.0
    learned: bool = True
    hyperprior: GammaPrior | None = None
    evidence_tied: int = 0
    bounded: bool = True
    shared: bool = False
    parameter: ClassVar[str] = "log_prior_precision"

    def __post_init__(self) -> None:
        if not 0.0 < self.precision < float("inf"):
            raise SpecError(f"prior precision must be positive and finite; got {self.precision}")
        if self.evidence_tied < 0:
            raise SpecError(
                f"evidence_tied counts steps between updates and cannot be negative; got {self.evidence_tied}"
            )
        if self.evidence_tied and not self.learned:
            raise SpecError("evidence_tied sets the prior precision, learned=False fixes it: choose one of the two")

    @property
    def frozen(self) -> frozenset[str]:
        """Parameters that no gradient step moves."""
        return frozenset() if self.learned and not self.evidence_tied else frozenset({self.parameter})

    def init(self, count: int, dtype: torch.dtype) -> Params:
        """``log α`` at its start, one a replicate."""
        return {self.parameter: torch.full((count,), self.precision, dtype=dtype).log()}

    def bounds(self) -> Bounds:
        """Theory 5.7, widened to include the start; unbounded, what float32 can hold."""
        if not self.bounded:
            return {self.parameter: UNBOUNDED_LOG_PRECISION}
        low, high = LOG_PRECISION_BOUNDS
        start = math.log(self.precision)
        return {self.parameter: (min(low, start), max(high, start))}


@dataclass(frozen=True)
class Marginals:
    """``q(f_n) = N(mean_n, variance_n)``: what the likelihood of each data point sees.

    Of K latent functions both have a dimension K before the last. ``coupling`` says how those of a data point vary
    together; None where they do not, and its diagonal is always ``variance``.
    """

    mean: Float[Tensor, "*B N"]
    variance: Float[Tensor, "*B N"]
    coupling: Coupling | None = None


@dataclass(frozen=True)
class GaussianBelief:
    """``q(w) = N(mean, Σ)`` over the last layer's weights."""

    mean: Float[Tensor, "*B H"]
    covariance: Covariance

    def marginals(self, features: Float[Tensor, "*B N H"]) -> Marginals:
        """Forward message: ``m_n = μᵀψ_n``, ``v_n = ψ_nᵀ Σ ψ_n``."""
        mean = (features @ self.mean[..., None])[..., 0]
        return Marginals(mean, self.covariance.quadratic(features), self.covariance.coupling(features))

    def prior_overlap(self, prior_precision: Float[Tensor, "*B"]) -> Float[Tensor, "*B"]:
        """``-log Z_w = ½ (H log 2π + log|M| + μᵀ M⁻¹ μ)``, ``M = Σ + α⁻¹ I`` (theory 2), in nats."""
        log_det, quadratic = self.covariance.overlap_terms(self.mean, 1.0 / prior_precision)
        return 0.5 * (self.mean.shape[-1] * LOG_2PI + log_det + quadratic)

    def detach(self) -> "GaussianBelief":
        """The same belief outside the graph."""
        return GaussianBelief(self.mean.detach(), self.covariance.detach())

    def select(self, index: Tensor) -> "GaussianBelief":
        """The replicates ``index``."""
        return GaussianBelief(self.mean[index], self.covariance.select(index))


@dataclass(frozen=True)
class Sites:
    """The Gaussian likelihood sites that bind a mean to its data, with the Cholesky factor of ``A = αI + ΨᵀΨ/σ²``.

    Leave-one-out and sequential cavities are functions of these; a free belief has none.
    """

    features: Float[Tensor, "*B N H"]
    targets: Float[Tensor, "*B N"]
    noise_var: Float[Tensor, "*B"]
    precision_factor: Float[Tensor, "*B H H"]

    def leverage(self) -> Float[Tensor, "*B N"]:
        """``h_n = ψ_nᵀ A⁻¹ ψ_n / σ²``."""
        half = self.features @ triangular_inverse(self.precision_factor).mT
        return row_squares(half) / self.noise_var[..., None]


@dataclass(frozen=True)
class RoutedBelief:
    """What a routing returns: the belief, the prior precision it lives under, and the sites its mean is bound to.

    ``covariance_is_bound`` tells whether Σ is the conjugate posterior's too (closed) or free (mean-closed).
    """

    belief: GaussianBelief
    prior_precision: Float[Tensor, "*B"]
    sites: Sites | None = None
    covariance_is_bound: bool = False
