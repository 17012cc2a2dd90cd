"""Shared cavity: one belief that has seen everything scores every data point (theory 3.4, 3.5)."""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals, RoutedBelief
from corners.cavities import CAVITIES
from corners.cavities._base import Cavity, sum_over_plates
from corners.covariances._base import Params
from corners.likelihoods._base import Likelihood


@CAVITIES.register("shared")
@dataclass(frozen=True)
class Shared(Cavity):
    """``m_n = μᵀψ_n``, ``v_n = ψ_nᵀΣψ_n`` with the same ``(μ, Σ)`` for all n.

    Example
    -------
    >>> Shared().needs_sites
    False
    """

    name: ClassVar[str] = "shared"
    needs_sites: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "Shared":
        """A member for the law suite."""
        return cls()

    def marginals(self, routed: RoutedBelief, features: Float[Tensor, "*B N H"]) -> Marginals:
        """The belief's own forward messages."""
        return routed.belief.marginals(features)

    def data_term(
        self,
        routed: RoutedBelief,
        features: Float[Tensor, "*L N H"],
        targets: Float[Tensor, "*T N"],
        likelihood: Likelihood,
        params: Params,
    ) -> Float[Tensor, "*B"]:
        """``Σ_n ℓ_n(m_n, v_n)``."""
        return sum_over_plates(self.marginals(routed, features), targets, likelihood, params)
