"""Leave-one-out cavity: each data point is scored by the belief that has seen all others (theory 3.3)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals, RoutedBelief, Sites
from corners.cavities import CAVITIES
from corners.cavities._base import Cavity, require_sites, sum_over_plates
from corners.covariances._base import Params
from corners.covariances._linalg import cholesky_or_nan
from corners.likelihoods._base import Likelihood


def _leave_one_out(sites: Sites, mean: Tensor, prior_precision: Tensor) -> tuple[Tensor, Tensor]:
    """Leave-one-out residual ``r*_n / (1 - h_n)`` and ``1 - h_n``.

    With fewer data than features ``1 - h_n`` is small and the difference would cancel: there the dual form
    ``[C⁻¹y]_n / [C⁻¹]_nn`` is used, ``C = σ²I + ΨΨᵀ/α`` and ``1 - h_n = σ²[C⁻¹]_nn``.
    """
    features, noise_var = sites.features, sites.noise_var
    if features.shape[-2] > features.shape[-1]:
        kept = 1.0 - sites.leverage()
        return (sites.targets - (features @ mean[..., None])[..., 0]) / kept, kept
    eye = torch.eye(features.shape[-2], dtype=features.dtype, device=features.device)
    covariance = noise_var[..., None, None] * eye + features @ features.mT / prior_precision[..., None, None]
    inverse = torch.cholesky_inverse(cholesky_or_nan(covariance))
    diagonal = inverse.diagonal(dim1=-2, dim2=-1)
    return (inverse @ sites.targets[..., None])[..., 0] / diagonal, noise_var[..., None] * diagonal


@CAVITIES.register("leave_one_out")
@dataclass(frozen=True)
class LeaveOneOut(Cavity):
    """``m_n = y_n - r*_n/(1 - h_n)``; ``v_n = σ² h_n/(1 - h_n)`` when Σ is bound, ``ψ_nᵀΣψ_n`` when it is free (3.10).

    Example
    -------
    >>> LeaveOneOut().needs_sites
    True
    """

    name: ClassVar[str] = "leave_one_out"
    needs_sites: ClassVar[bool] = True

    @classmethod
    def example(cls) -> "LeaveOneOut":
        """A member for the law suite."""
        return cls()

    def marginals(self, routed: RoutedBelief, features: Float[Tensor, "*B N H"]) -> Marginals:
        """Marginals of the training data the belief is bound to; ``features`` are theirs."""
        sites = require_sites(self.name, routed)
        residual, kept = _leave_one_out(sites, routed.belief.mean, routed.prior_precision)
        if routed.covariance_is_bound:
            return Marginals(sites.targets - residual, sites.noise_var[..., None] * (1.0 - kept) / kept)
        covariance = routed.belief.covariance
        return Marginals(sites.targets - residual, covariance.quadratic(features), covariance.coupling(features))

    def data_term(
        self,
        routed: RoutedBelief,
        features: Float[Tensor, "*L N H"],
        targets: Float[Tensor, "*T N"],
        likelihood: Likelihood,
        params: Params,
    ) -> Float[Tensor, "*B"]:
        """``Σ_n -log p(y_n | y_∖n)``."""
        return sum_over_plates(self.marginals(routed, features), targets, likelihood, params)
