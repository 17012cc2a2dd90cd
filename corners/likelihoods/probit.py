"""Probit likelihood: P(y = 1 | f) = Φ(f), two classes with a closed form (theory 6.1)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Bounds, Params
from corners.likelihoods import LIKELIHOODS
from corners.likelihoods._base import Likelihood, require_codes, zero_penalty
from corners.likelihoods._expectation import gaussian_expectation
from corners.likelihoods._special import log_ndtr
from corners.predictive.categorical import CategoricalPredictive, require_labels

TARGET_MEAN = "target_mean"


@LIKELIHOODS.register("probit")
@dataclass(frozen=True)
class Probit(Likelihood):
    """Two classes: ``P(y = 1 | f) = Φ(f)``, and under ``f ~ N(m, v)`` ``P(y = 1) = Φ(m / √(1 + v))``, exactly.

    Labels are 0 and 1. There is nothing to learn: the scale of the noise is fixed at 1, since only ``m / √(c² + v)``
    is identified. Training labels of one class alone are accepted: the prior keeps the belief finite.

    Raises
    ------
    DataError : a label is not 0 or 1 (:meth:`check`). Training labels that are all alike are accepted.

    Example
    -------
    >>> import torch
    >>> marginals = Marginals(torch.zeros(1), torch.ones(1))
    >>> Probit().predictive({}, marginals, 0.0, 1.0).probabilities.tolist()
    [[0.5, 0.5]]
    """

    name: ClassVar[str] = "probit"
    conjugate: ClassVar[bool] = False
    log_concave: ClassVar[bool] = True
    task: ClassVar[str] = "classification"

    @classmethod
    def example(cls) -> "Probit":
        """A member for the law suite."""
        return cls()

    @staticmethod
    def example_targets(shape: tuple[int, ...]) -> Tensor:
        """Labels 0, 1, 1, 0, 1, 1, ... of this shape."""
        return (torch.arange(torch.Size(shape).numel()) % 3 > 0).double().reshape(shape)

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
        """None."""
        return {}

    def ceiling(self, params: Params) -> dict[str, Float[Tensor, "*B"]]:
        """None."""
        return {}

    def noise_var(self, params: Params) -> None:
        """None: the noise is that of the link."""

    def penalty(self, params: Params) -> Float[Tensor, "*B"]:
        """Zero."""
        return zero_penalty(params, TARGET_MEAN)

    def log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], latent: Float[Tensor, "*B N"]
    ) -> Float[Tensor, "*B N"]:
        """``log Φ(s f)`` with the sign ``s = 2y - 1``."""
        return log_ndtr(_sign(targets) * latent)

    def log_partition(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``log Φ(s m / √(1 + v))``."""
        return log_ndtr(_sign(targets) * marginals.mean * (1.0 + marginals.variance).rsqrt())

    def expected_log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``E log Φ(s f)`` by quadrature; error below 1e-12 (1 + |value|) for ``v ≤ 10``, 1e-10 for ``v ≤ 100``."""
        mean = _sign(targets) * marginals.mean
        return gaussian_expectation(log_ndtr, (mean,), (), marginals.variance, mean)

    def predictive(
        self, params: Params, marginals: Marginals, target_mean: float, target_scale: float
    ) -> CategoricalPredictive:
        """``P(y = 1) = Φ(m / √(1 + v))``; the target transform must be 0 and 1 (``SpecError``)."""
        require_codes(self.name, target_mean, target_scale)
        margin = (marginals.mean * (1.0 + marginals.variance).rsqrt()).double()
        logarithms = log_ndtr(torch.stack((-margin, margin), -1)).numpy()
        return CategoricalPredictive.from_logarithms(logarithms)


def _sign(targets: Tensor) -> Tensor:
    return 2.0 * targets - 1.0
