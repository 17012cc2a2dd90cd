"""Adaptive Gauss-Hermite quadrature for log-concave heads without a closed ``log_partition`` (theory 6.3).

The nodes sit around the mode of ``p(y | f) N(f; m, v)``; a rule centred at ``m`` is wrong by tens of nats on counts.
"""

import warnings
from abc import abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Bounds, Params
from corners.errors import SpecError
from corners.likelihoods._adaptive_rule import AdaptiveRule, LogDensity, find_mode
from corners.likelihoods._base import Likelihood, zero_penalty

__all__ = ["LogDensity", "QuadratureLikelihood", "QuadratureWarning", "find_mode", "no_bounds", "require_nodes"]

TARGET_MEAN = "target_mean"
"""Mean of the training targets a replicate, frozen: a head without parameters of its own has its shape from it."""
NODES, MOST_NODES = 32, 256
WIDE_VARIANCE = 10.0


class QuadratureWarning(UserWarning):
    """Variances are so large that the rule loses digits."""


class QuadratureLikelihood(Likelihood):
    """A log-concave head whose partition is integrated by the adaptive rule, with a number of nodes fixed per fit."""

    nodes: int
    conjugate: ClassVar[bool] = False
    log_concave: ClassVar[bool] = True

    @abstractmethod
    def density(self, targets: Tensor, *parameters: Tensor) -> LogDensity:
        """``log p(y_n | ·)``, given the values of ``parameters``."""

    @abstractmethod
    def parameters(self, params: Params) -> tuple[Float[Tensor, "*B 1"], ...]:
        """What ``log p`` depends on beside target and latent value."""

    def ceiling(self, params: Params) -> dict[str, Float[Tensor, "*B"]]:
        """None: no bound differs between replicates."""
        return {}

    def noise_var(self, params: Params) -> None:
        """None: the noise is not Gaussian."""
        return

    def penalty(self, params: Params) -> Float[Tensor, "*B"]:
        """Zero: no hyperprior."""
        return zero_penalty(params, TARGET_MEAN)

    def log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], latent: Float[Tensor, "*B N"]
    ) -> Float[Tensor, "*B N"]:
        """``log p(y_n | f_n)``."""
        return self.density(targets, *self.parameters(params)).value(latent)

    def log_partition(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``log ∫ p(y_n | f) N(f; m_n, v_n) df`` by the adaptive rule, in float64 whatever goes in."""
        _warn_if_wide(marginals.variance.detach(), self.nodes)
        rule = AdaptiveRule(self.density, self.nodes)
        mean, variance = marginals.mean.double(), marginals.variance.double()
        parameters = [each.double() for each in self.parameters(params)]
        return rule.log_partition(targets.double(), mean, variance, parameters).to(marginals.mean.dtype)


def require_nodes(nodes: int) -> None:
    """Refuse a number of nodes outside 8..256."""
    if not 8 <= nodes <= MOST_NODES:
        raise SpecError(
            f"nodes must lie between 8 and {MOST_NODES}; got {nodes}. {NODES} is the default, 64 is for "
            "variances above 2"
        )


def no_bounds() -> Bounds:
    """Bounds of a head without free parameters."""
    return {}


def _warn_if_wide(variance: Tensor, nodes: int) -> None:
    largest = float(variance.max())
    if largest > WIDE_VARIANCE:
        warnings.warn(
            f"a marginal variance of {largest:.3g} exceeds {WIDE_VARIANCE:g}: {nodes} adaptive Gauss-Hermite nodes "
            "lose digits there; raise the prior precision or the number of nodes",
            QuadratureWarning,
            stacklevel=3,
        )
