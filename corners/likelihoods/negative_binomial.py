"""Negative binomial likelihood of overdispersed counts: mean exp(f), variance exp(f) + exp(2f)/r (theory 6.3)."""

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
from corners.likelihoods._counts import count_predictive, require_counts, with_exposure
from corners.likelihoods._quadrature import (
    NODES,
    TARGET_MEAN,
    LogDensity,
    QuadratureLikelihood,
    require_nodes,
)
from corners.likelihoods._softplus import expected_softplus
from corners.predictive.count import CountPredictive

__all__ = ["NegativeBinomial", "with_exposure"]

LOG_SIZE = "log_size"
LOG_SIZE_BOUNDS = (-7.0, 10.0)
"""From nearly all mass at zero to indistinguishable from a Poisson on counts up to some hundreds."""
STIRLING_SIZE = 32.0


@LIKELIHOODS.register("negative_binomial")
@dataclass(frozen=True)
class NegativeBinomial(QuadratureLikelihood):
    """``log p(y | f) = log Γ(y + r)/(Γ(r) y!) + y f + r log r - (y + r) log(r + e^f)``; r → ∞ is the Poisson.

    Exposure enters through :func:`with_exposure`.

    Parameters
    ----------
    size : start of the size r, in counts.
    learned : whether ``log r`` is estimated or r is fixed at its start.
    nodes : nodes of the adaptive rule, fixed per fit. Errors of ``log_partition`` (theory 6.3): 2e-10 up to v = 2 and
        2e-6 up to v = 6 with 32; 4e-11 and 5e-9 with 64.

    Raises
    ------
    DataError : a target is negative, fractional or not finite (:meth:`check`); an exposure is zero, negative or not
        finite (:func:`with_exposure`).
    SpecError : the size is not positive and finite, or the number of nodes is out of range.

    Example
    -------
    >>> import torch
    >>> point = Marginals(torch.zeros(1), torch.zeros(1))
    >>> NegativeBinomial().log_partition({"log_size": torch.zeros(())}, torch.zeros(1), point).exp().tolist()
    [0.5]
    """

    size: float = 1.0
    learned: bool = True
    nodes: int = NODES
    name: ClassVar[str] = "negative_binomial"
    task: ClassVar[str] = "count"

    def __post_init__(self) -> None:
        require_nodes(self.nodes)
        if not 0.0 < self.size < math.inf:
            raise SpecError(
                f"size is the number r of the negative binomial and must be positive and finite; got {self.size}; "
                "r without bound is 'poisson'"
            )

    @classmethod
    def example(cls) -> "NegativeBinomial":
        """A member for the law suite, with nodes for its largest variances."""
        return cls(size=2.3, nodes=192)

    @classmethod
    def example_targets(cls, shape: tuple[int, ...]) -> Tensor:
        """Counts the law suite may use."""
        return torch.arange(int(torch.Size(shape).numel()), dtype=torch.float64).reshape(shape) * 3 % 7

    @property
    def frozen(self) -> frozenset[str]:
        """The mean count always; the size when it is fixed."""
        return frozenset({TARGET_MEAN}) if self.learned else frozenset({TARGET_MEAN, LOG_SIZE})

    def check(self, targets: Float[Tensor, "*L N"], params: Params | None = None) -> None:
        """Refuse a target that is negative, fractional or not finite."""
        require_counts(targets)

    def init(self, targets: Float[Tensor, "B N"]) -> Params:
        """``log r`` at its start and the mean count, after the counts have been checked."""
        self.check(targets)
        mean = targets.mean(-1)
        return {LOG_SIZE: torch.full_like(mean, self.size).log(), TARGET_MEAN: mean}

    def bounds(self) -> Bounds:
        """``log r`` between -7 and 10, widened to include the start."""
        start = math.log(self.size)
        return {LOG_SIZE: (min(LOG_SIZE_BOUNDS[0], start), max(LOG_SIZE_BOUNDS[1], start))}

    def parameters(self, params: Params) -> tuple[Tensor, ...]:
        """``log r``."""
        return (params[LOG_SIZE][..., None],)

    def density(self, targets: Tensor, *parameters: Tensor) -> LogDensity:
        """``const + y f - (y + r) softplus(f - log r)``."""
        return _LogNegativeBinomial(targets, *parameters)

    def expected_log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``const + y m - (y + r) E[softplus(f - log r)]``; the last as accurate as in the logistic head."""
        log_size = params[LOG_SIZE][..., None]
        lift = expected_softplus(marginals.mean - log_size, marginals.variance)
        return _log_coefficient(targets, log_size) + targets * marginals.mean - (targets + log_size.exp()) * lift

    def predictive(
        self, params: Params, marginals: Marginals, target_mean: float, target_scale: float
    ) -> CountPredictive:
        """Counts of one replicate; ``target_mean`` must be 0 and ``target_scale`` 1."""
        size = float(params[LOG_SIZE].detach().double().exp())
        return count_predictive(self, params, marginals, target_mean, target_scale, size)


class _LogNegativeBinomial(LogDensity):
    """With ``p = e^f/(r + e^f)``: slope ``y - (y + r) p``, curvature ``(y + r) p (1 - p)``."""

    def __init__(self, targets: Tensor, log_size: Tensor) -> None:
        self.targets, self.log_size, self.total = targets, log_size, targets + log_size.exp()

    def kernel(self, latent: Tensor) -> Tensor:
        miss = torch.nn.functional.logsigmoid(self.log_size - latent)
        return self.targets * latent + self.total * miss

    def normaliser(self) -> Tensor:
        return _log_coefficient(self.targets, self.log_size)

    def kernel_by_parameters(self, latent: Tensor) -> tuple[Tensor, tuple[Tensor]]:
        """In ``log r``: ``r log(1 - p) + (y + r) p``."""
        miss = torch.nn.functional.logsigmoid(self.log_size - latent)
        slope = (self.log_size.exp() * miss).sub_(self.total * miss.expm1())
        return (self.targets * latent).addcmul_(self.total, miss), (slope,)

    def expansion(self, latent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        share = torch.sigmoid(latent - self.log_size)
        curvature = self.total * share * torch.sigmoid(self.log_size - latent)
        return self.kernel(latent), self.targets - self.total * share, curvature

    def start(self, mean: Tensor, variance: Tensor) -> Tensor:
        return torch.minimum(mean, self.targets.log1p())


def _log_coefficient(targets: Tensor, log_size: Tensor) -> Tensor:
    """``log Γ(y + r) - log Γ(r) - y log r - log y!``.

    Large r goes through Stirling's series for the difference, where the two logarithms would cancel.
    """
    size = log_size.exp()
    large = size > STIRLING_SIZE
    few = torch.where(large, torch.ones_like(size), size)
    many = torch.where(large, size, torch.full_like(size, STIRLING_SIZE))
    by_gamma = torch.lgamma(targets + few) - torch.lgamma(few) - targets * few.log()
    total = targets + many
    by_series = (total - 0.5) * (targets / many).log1p() - targets + _stirling(total) - _stirling(many)
    return torch.where(large, by_series, by_gamma) - torch.lgamma(targets + 1.0)


def _stirling(size: Tensor) -> Tensor:
    """``log Γ(r) - (r - ½) log r + r - ½ log 2π`` for r ≥ 32, to 1e-15."""
    inverse = 1.0 / size
    square = inverse.square()
    return inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
