"""Poisson likelihood of counts with a log link: y ~ Poisson(exp(f)) (theory 6.3)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Bounds, Params
from corners.likelihoods import LIKELIHOODS
from corners.likelihoods._counts import count_predictive, require_counts, with_exposure
from corners.likelihoods._quadrature import (
    NODES,
    TARGET_MEAN,
    LogDensity,
    QuadratureLikelihood,
    no_bounds,
    require_nodes,
)
from corners.predictive.count import CountPredictive

__all__ = ["Poisson", "with_exposure"]


@LIKELIHOODS.register("poisson")
@dataclass(frozen=True)
class Poisson(QuadratureLikelihood):
    """``log p(y | f) = y f - e^f - log y!``, counts 0, 1, 2, ..., no parameters.

    Exposure enters through :func:`with_exposure`. A rate whose square float64 cannot hold (``f`` above 298) is
    continued linearly in ``f``, so that neither values nor slopes are infinite.

    Parameters
    ----------
    nodes : nodes of the adaptive rule, fixed per fit. Errors of ``log_partition`` (theory 6.3): 5e-11 up to v = 0.5,
        3e-8 up to v = 2 and 2e-5 up to v = 6 with 32; 5e-11 up to v = 2 and 7e-7 up to v = 6 with 64.

    Raises
    ------
    DataError : a target is negative, fractional or not finite (:meth:`check`); an exposure is zero, negative or not
        finite (:func:`with_exposure`).

    Example
    -------
    >>> import torch
    >>> point = Marginals(torch.zeros(1), torch.zeros(1))
    >>> Poisson().log_partition({}, torch.ones(1), point).tolist()
    [-1.0]
    """

    nodes: int = NODES
    name: ClassVar[str] = "poisson"
    task: ClassVar[str] = "count"

    def __post_init__(self) -> None:
        require_nodes(self.nodes)

    @classmethod
    def example(cls) -> "Poisson":
        """A member for the law suite, with nodes for its largest variances."""
        return cls(nodes=192)

    @classmethod
    def example_targets(cls, shape: tuple[int, ...]) -> Tensor:
        """Counts the law suite may use."""
        return torch.arange(int(torch.Size(shape).numel()), dtype=torch.float64).reshape(shape) * 3 % 7

    @property
    def frozen(self) -> frozenset[str]:
        """The mean count: there is nothing to learn."""
        return frozenset({TARGET_MEAN})

    def check(self, targets: Float[Tensor, "*L N"], params: Params | None = None) -> None:
        """Refuse a target that is negative, fractional or not finite."""
        require_counts(targets)

    def init(self, targets: Float[Tensor, "B N"]) -> Params:
        """The mean count, after the counts have been checked."""
        self.check(targets)
        return {TARGET_MEAN: targets.mean(-1)}

    def bounds(self) -> Bounds:
        """None: no parameters."""
        return no_bounds()

    def parameters(self, params: Params) -> tuple[Tensor, ...]:
        """None."""
        return ()

    def density(self, targets: Tensor, *parameters: Tensor) -> LogDensity:
        """``y f - e^f - log y!``."""
        return _LogPoisson(targets)

    def expected_log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``y m - exp(m + v/2) - log y!``, exact (theory 3.8b)."""
        mean = marginals.mean
        return targets * mean - _rate(mean + 0.5 * marginals.variance) - torch.lgamma(targets + 1.0)

    def predictive(
        self, params: Params, marginals: Marginals, target_mean: float, target_scale: float
    ) -> CountPredictive:
        """Counts of one replicate; ``target_mean`` must be 0 and ``target_scale`` 1."""
        return count_predictive(self, params, marginals, target_mean, target_scale, math.inf)


class _LogPoisson(LogDensity):
    """Slope ``y - e^f``, curvature ``e^f``; Newton starts at the mode itself, up to 1e-7."""

    def __init__(self, targets: Tensor) -> None:
        self.targets = targets

    def kernel(self, latent: Tensor) -> Tensor:
        return (self.targets * latent).sub_(_rate(latent))

    def normaliser(self) -> Tensor:
        return -torch.lgamma(self.targets + 1.0)

    def expansion(self, latent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        cap = _largest_log_rate(latent)
        rate = latent.clamp(max=cap).exp()
        continued = rate if _at_most(latent, cap) else rate * (1.0 + (latent - cap).relu())
        return self.targets * latent - continued, self.targets - rate, rate

    def start(self, mean: Tensor, variance: Tensor) -> Tensor:
        """With ``w = v e^f`` the mode obeys ``w + log w = m + v y + log v`` and ``f = m + v y - w``."""
        reach = mean + variance * self.targets
        return reach - _wright_omega(reach + variance.log())


def _largest_log_rate(latent: Tensor) -> float:
    return 0.42 * math.log(torch.finfo(latent.dtype).max)


def _at_most(latent: Tensor, cap: float) -> bool:
    return not latent.numel() or float(latent.detach().max()) <= cap


def _rate(latent: Tensor) -> Tensor:
    """``e^f``, continued linearly where its square would overflow."""
    cap = _largest_log_rate(latent)
    if _at_most(latent, cap):
        return latent.exp()
    return latent.clamp(max=cap).exp() * (1.0 + (latent - cap).relu())


def _wright_omega(z: Tensor) -> Tensor:
    """The ``w > 0`` with ``w + log w = z``, to a relative error of 1e-7.

    Winitzki's global approximation of Lambert's function (2003, "Uniform approximations for transcendental functions")
    and one step of fourth order (Fritsch, Shafer and Crowley 1973, algorithm 443).
    """
    low = z < -30.0  # there w is e^z to 1e-13, and its logarithm may not exist
    argument = torch.where(low, torch.zeros_like(z), z)
    log = torch.nn.functional.softplus(argument)
    guess = log * (1.0 - log.log1p() / (2.0 + log))
    left, one = argument - guess - guess.log(), 1.0 + guess
    scale = 2.0 * one * (one + left * (2.0 / 3.0))
    found = guess * (1.0 + left / one * (scale - left) / (scale - 2.0 * left))
    return torch.where(low, z.exp(), found)
