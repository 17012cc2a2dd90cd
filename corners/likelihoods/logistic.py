"""Logistic likelihood of two classes: P(y = 1 | f) = 1 / (1 + exp(-f)) (theory 6.3)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Bounds, Params
from corners.likelihoods import LIKELIHOODS
from corners.likelihoods._base import require_codes
from corners.likelihoods._quadrature import (
    NODES,
    TARGET_MEAN,
    LogDensity,
    QuadratureLikelihood,
    no_bounds,
    require_nodes,
)
from corners.likelihoods._softplus import expected_softplus
from corners.predictive.categorical import CategoricalPredictive, require_labels


@LIKELIHOODS.register("logistic")
@dataclass(frozen=True)
class Logistic(QuadratureLikelihood):
    """``log p(y | f) = -softplus(-(2y - 1) f)``, labels 0 and 1, no parameters.

    Parameters
    ----------
    nodes : nodes of the adaptive rule, fixed per fit. Errors of ``log_partition`` (theory 6.3): 3e-10 up to v = 2 and
        3e-7 up to v = 6 with 32; 5e-10 up to v = 6 and 2e-5 up to v = 25 with 64.

    Raises
    ------
    DataError : a label is not 0 or 1 (:meth:`check`). Training labels that are all alike are accepted.

    Example
    -------
    >>> import torch
    >>> point = Marginals(torch.zeros(1), torch.zeros(1))
    >>> Logistic().log_partition({}, torch.ones(1), point).exp().tolist()
    [0.5]
    """

    nodes: int = NODES
    name: ClassVar[str] = "logistic"
    task: ClassVar[str] = "classification"

    def __post_init__(self) -> None:
        require_nodes(self.nodes)

    @classmethod
    def example(cls) -> "Logistic":
        """A member for the law suite, with nodes for its largest variances."""
        return cls(nodes=128)

    @classmethod
    def example_targets(cls, shape: tuple[int, ...]) -> Tensor:
        """Labels the law suite may use."""
        return (torch.arange(int(torch.Size(shape).numel()), dtype=torch.float64).reshape(shape) * 3 % 5 < 2).double()

    @property
    def frozen(self) -> frozenset[str]:
        """The share of ones: there is nothing to learn."""
        return frozenset({TARGET_MEAN})

    def check(self, targets: Float[Tensor, "*L N"], params: Params | None = None) -> None:
        """Refuse a label that is not 0 or 1."""
        require_labels(targets.detach().cpu().numpy(), 2)

    def init(self, targets: Float[Tensor, "B N"]) -> Params:
        """The share of ones, after the labels have been checked."""
        self.check(targets)
        return {TARGET_MEAN: targets.mean(-1)}

    def bounds(self) -> Bounds:
        """None: no parameters."""
        return no_bounds()

    def parameters(self, params: Params) -> tuple[Tensor, ...]:
        """None."""
        return ()

    def density(self, targets: Tensor, *parameters: Tensor) -> LogDensity:
        """``log σ(s f)`` with ``s = 2y - 1``."""
        return _LogSigmoid(2.0 * targets - 1.0)

    def expected_log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``-E[softplus(-s f)]`` by a trapezoid rule: 1e-13 up to v = 8, 1e-9 at v = 25, 3e-5 at v = 100."""
        return -expected_softplus((1.0 - 2.0 * targets) * marginals.mean, marginals.variance)

    def predictive(
        self, params: Params, marginals: Marginals, target_mean: float, target_scale: float
    ) -> CategoricalPredictive:
        """Probabilities of the two labels, normalised: what the quadrature leaves of ``P(0) + P(1) = 1`` is shared."""
        require_codes(self.name, target_mean, target_scale)
        at = Marginals(marginals.mean.detach().double(), marginals.variance.detach().double())
        labels = (torch.zeros_like(at.mean), torch.ones_like(at.mean))
        logits = torch.stack([self.log_partition(params, label, at) for label in labels], -1)
        log_probabilities = torch.log_softmax(logits, -1).numpy()
        return CategoricalPredictive(torch.softmax(logits, -1).numpy(), log_probabilities)


class _LogSigmoid(LogDensity):
    """Slope ``s σ(-s f)``, curvature ``σ(f) σ(-f)``; Newton starts at m."""

    def __init__(self, sign: Tensor) -> None:
        self.sign = sign

    def kernel(self, latent: Tensor) -> Tensor:
        return torch.nn.functional.logsigmoid(self.sign * latent)

    def expansion(self, latent: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        margin = self.sign * latent
        miss = torch.sigmoid(-margin)
        return torch.nn.functional.logsigmoid(margin), self.sign * miss, miss * torch.sigmoid(margin)

    def start(self, mean: Tensor, variance: Tensor) -> Tensor:
        return mean
