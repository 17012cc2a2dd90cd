"""The contract of a cavity: the marginals each data point is scored under, and the data term they give."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals, RoutedBelief, Sites
from corners.covariances._base import Params
from corners.errors import ImpossibleCellError
from corners.likelihoods._base import Likelihood


class Cavity(ABC):
    """Which data the belief has seen when data point n is scored."""

    name: ClassVar[str]
    needs_sites: ClassVar[bool]
    """Whether the cavity is a function of the data the belief is bound to, which a free belief does not have."""

    @abstractmethod
    def marginals(self, routed: RoutedBelief, features: Float[Tensor, "*B N H"]) -> Marginals:
        """``N(m_n, v_n)`` of the latent value of each data point under its cavity belief."""

    @abstractmethod
    def data_term(
        self,
        routed: RoutedBelief,
        features: Float[Tensor, "*L N H"],
        targets: Float[Tensor, "*T N"],
        likelihood: Likelihood,
        params: Params,
    ) -> Float[Tensor, "*B"]:
        """``Σ_n -log ∫ p(y_n | f) N(f; m_n, v_n) df``: a total in nats.

        Where a point has K latents, features and belief have a dimension K after ``*B``; targets have it where they are
        K outputs.
        """


def sum_over_plates(
    marginals: Marginals, targets: Float[Tensor, "*T N"], likelihood: Likelihood, params: Params
) -> Float[Tensor, "*B"]:
    """``Σ_n -log Z_n``."""
    return -likelihood.log_partition(params, targets, marginals).sum(-1)


def require_sites(cavity: str, routed: RoutedBelief) -> Sites:
    """The sites of the belief, or the reason why this cavity needs them."""
    if routed.sites is None:
        raise ImpossibleCellError(
            f"the {cavity} cavity removes data from a belief that is bound to them; a free belief has none to remove"
        )
    return routed.sites
