"""Sequential cavity: each data point is scored by the belief that has seen its predecessors (theory 3.2)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from corners.beliefs import Marginals, RoutedBelief
from corners.cavities import CAVITIES
from corners.cavities._base import Cavity, require_sites
from corners.covariances._base import Params
from corners.covariances._linalg import cholesky_or_nan
from corners.likelihoods._base import Likelihood
from corners.numerics import LOG_2PI


@CAVITIES.register("sequential")
@dataclass(frozen=True)
class Sequential(Cavity):
    """``m_n, v_n`` from the rows before n; the data term is ``-log Z``, the same in every order (Theorem 1).

    Example
    -------
    >>> Sequential().needs_sites
    True
    """

    name: ClassVar[str] = "sequential"
    needs_sites: ClassVar[bool] = True

    @classmethod
    def example(cls) -> "Sequential":
        """A member for the law suite."""
        return cls()

    def marginals(self, routed: RoutedBelief, features: Float[Tensor, "*B N H"]) -> Marginals:
        """In row order, from one Cholesky of ``C = σ²I + ΨΨᵀ/α``: ``V_n = L_nn²``, residual ``L_nn u_n`` (cost N³).

        For training nobody needs these: :meth:`data_term` gives their sum at cost ``N H²``.
        """
        sites = require_sites(self.name, routed)
        rows = features.shape[-2]
        eye = torch.eye(rows, dtype=features.dtype, device=features.device)
        gram = sites.features @ sites.features.mT / routed.prior_precision[..., None, None]
        lower = cholesky_or_nan(sites.noise_var[..., None, None] * eye + gram)
        innovations = torch.linalg.solve_triangular(lower, sites.targets[..., None], upper=False)[..., 0]
        diagonal = lower.diagonal(dim1=-2, dim2=-1)
        variance = (diagonal.square() - sites.noise_var[..., None]).clamp(min=0.0)
        return Marginals(sites.targets - diagonal * innovations, variance)

    def data_term(
        self,
        routed: RoutedBelief,
        features: Float[Tensor, "*L N H"],
        targets: Float[Tensor, "*T N"],
        likelihood: Likelihood,
        params: Params,
    ) -> Float[Tensor, "*B"]:
        """``-log Z`` in the primal form of theory 3.1: one Cholesky of ``A``, which the binding already has.

        The outputs of a data point are independent a posteriori: theirs add up.
        """
        sites = require_sites(self.name, routed)
        bound = (targets, routed.belief.mean.detach(), sites.precision_factor.detach())
        value: Tensor = _NegativeLogEvidence.apply(  # pyright: ignore[reportAssignmentType]
            features, routed.prior_precision, sites.noise_var, *bound
        )
        return value if likelihood.latents == 1 else value.sum(-1)


class _NegativeLogEvidence(torch.autograd.Function):
    """``-log Z`` with its stated gradients (theory 3.1), for half the cost of differentiating the Cholesky factor.

    ``μ*`` is the minimiser of the fit and ``Σ*`` the inverse of ``A``, so the derivatives need no derivative of either:
    ``∂Ψ = (ΨΣ* - r*μ*ᵀ)/σ²``, ``∂α = ½ (tr Σ* + ‖μ*‖² - H/α)``, ``∂σ² = ½ (N - γ - ‖r*‖²/σ²)/σ²``.
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, precision: Tensor, noise_var: Tensor, targets: Tensor, mean: Tensor, lower: Tensor
    ) -> Tensor:
        rows, size = features.shape[-2:]
        residual = targets - (features @ mean[..., None])[..., 0]
        ctx.save_for_backward(features, precision, noise_var, residual, mean, lower)
        fit = residual.square().sum(-1) / noise_var + precision * mean.square().sum(-1)
        log_det = lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return 0.5 * (rows * (LOG_2PI + noise_var.log()) - size * precision.log() + fit) + log_det

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        features, precision, noise_var, residual, mean, lower = ctx.saved_tensors
        (slope,) = grad_outputs
        rows, size = features.shape[-2:]
        covariance = torch.cholesky_inverse(lower)
        trace = covariance.diagonal(dim1=-2, dim2=-1).sum(-1)
        weight = (slope / noise_var)[..., None]
        by_features = features @ (weight[..., None] * covariance)
        by_features.addcmul_(residual[..., None], (-weight * mean)[..., None, :])  # in place: N H is what costs
        by_precision = 0.5 * slope * (trace + mean.square().sum(-1) - size / precision)
        effective = size - precision * trace
        misfit = residual.square().sum(-1) / noise_var
        by_noise_var = 0.5 * slope * (rows - effective - misfit) / noise_var
        return by_features, by_precision, by_noise_var, None, None, None
