"""Sequential cavity: each data point is scored by the belief that has seen its predecessors (theory 3.2)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

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
        features: Float[Tensor, "*B N H"],
        targets: Float[Tensor, "*B N"],
        likelihood: Likelihood,
        params: Params,
    ) -> Float[Tensor, "*B"]:
        """``-log Z`` in the primal form of theory 3.1: one Cholesky of ``A``, which the binding already has."""
        sites = require_sites(self.name, routed)
        rows, size = features.shape[-2:]
        mean, noise_var, precision = routed.belief.mean, sites.noise_var, routed.prior_precision
        residual = targets - (features @ mean[..., None])[..., 0]
        fit = residual.square().sum(-1) / noise_var + precision * mean.square().sum(-1)
        log_det = sites.precision_factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return 0.5 * (rows * (LOG_2PI + noise_var.log()) - size * precision.log() + fit) + log_det
