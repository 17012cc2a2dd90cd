"""The contract of a likelihood: three functionals of one Gaussian marginal, and a predictive."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Bounds, Params
from corners.errors import SpecError
from corners.predictive._base import Predictive
from corners.predictive.categorical import CategoricalPredictive
from corners.predictive.multi_output_gaussian import MultiOutputGaussianPredictive
from corners.types import Array


class Likelihood(ABC):
    """``p(y_n | f_n)`` with its parameters among ``params``; every functional is in nats a data point.

    MAP, Bethe and ELBO are one objective with another functional: ``log_prob`` at the mean, ``log_partition``,
    ``expected_log_prob``. Jensen: ``expected_log_prob ≤ log_partition``, always.

    Labels and counts are codes in floating point: 0, 1, 2, ... A likelihood of K = ``latents`` > 1 functions a data
    point sees latent values and marginals of shape ``(*B, K, N)`` and still returns ``(*B, N)``, summed over K; where
    the K are outputs (``target_columns``), its targets are ``(*B, K, N)`` and its noise variances ``(*B, K)``.
    """

    name: ClassVar[str]
    conjugate: ClassVar[bool]
    """Whether a Gaussian prior gives a Gaussian posterior: closed routing needs it."""
    log_concave: ClassVar[bool] = False
    """Whether ``log p(y | f)`` is concave in every latent value by itself, so that there is one mode: laplace routing
    needs it."""
    task: ClassVar[str] = "regression"
    """What the targets are: "regression" (real numbers), "classification" (labels) or "count"."""

    @property
    def latents(self) -> int:
        """Latent functions a data point."""
        return 1

    @property
    def target_columns(self) -> int:
        """Targets a data point: more than one where there are several outputs."""
        return 1

    def check(self, targets: Float[Tensor, "*L N"], params: Params | None = None) -> None:
        """Refuse targets to which no parameter gives a probability, such as a label beyond the classes; ``DataError``.

        ``params`` tell what was found in the training targets; without them only what holds for all tables is checked.
        Training asks this of the validation and the test part too.
        """
        return

    @property
    @abstractmethod
    def frozen(self) -> frozenset[str]:
        """Parameters that no gradient step moves."""

    @abstractmethod
    def init(self, targets: Float[Tensor, "B N"]) -> Params:
        """Likelihood parameters at their start, from the training targets."""

    @abstractmethod
    def bounds(self) -> Bounds:
        """Element-wise bounds of the parameters."""

    @abstractmethod
    def ceiling(self, params: Params) -> dict[str, Float[Tensor, "*B"]]:
        """Upper bounds that differ between replicates, by parameter."""

    @abstractmethod
    def noise_var(self, params: Params) -> Float[Tensor, "*B"] | None:
        """``σ²`` of Gaussian noise in the units trained in; None where the likelihood has none."""

    @abstractmethod
    def penalty(self, params: Params) -> Float[Tensor, "*B"]:
        """Negative log hyperprior of the parameters, constants dropped; zero without one."""

    @abstractmethod
    def log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], latent: Float[Tensor, "*B N"]
    ) -> Float[Tensor, "*B N"]:
        """``log p(y_n | f_n)``."""

    @abstractmethod
    def log_partition(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``log ∫ p(y_n | f) N(f; m_n, v_n) df``."""

    @abstractmethod
    def expected_log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``∫ log p(y_n | f) N(f; m_n, v_n) df``."""

    def log_predictive(
        self, params: Params, targets: Float[Tensor, "*L N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """Log of what :meth:`predictive` gives the target: what validation scores by.

        It is ``log_partition`` unless what is trained is no score of the predictive.
        """
        return self.log_partition(params, targets, marginals)

    @abstractmethod
    def predictive(
        self, params: Params, marginals: Marginals, target_mean: float, target_scale: float
    ) -> Predictive | CategoricalPredictive:
        """Predictive of one replicate in original units: targets were ``(y - target_mean) / target_scale``."""

    def joint_predictive(
        self,
        params: Params,
        marginals: Marginals,
        target_mean: float | Float[Array, " P"],
        target_scale: float | Float[Array, " P"],
    ) -> MultiOutputGaussianPredictive:
        """Joint predictive of several outputs, each in its own units; only where ``target_columns`` > 1."""
        raise SpecError(f"likelihood {self.name!r} has one output a data point; ask for its predictive")


def zero_penalty(params: Params, name: str) -> Tensor:
    """A zero a replicate, shaped like parameter ``name``."""
    return torch.zeros_like(params[name])


def require_codes(name: str, target_mean: float, target_scale: float) -> None:
    """Refuse labels or counts that were centred or scaled: ``target_mean`` 0 and ``target_scale`` 1 leave them be."""
    if target_mean != 0.0 or target_scale != 1.0:
        raise SpecError(
            f"the targets of likelihood {name!r} are codes and are neither centred nor scaled: target_mean must be 0 "
            f"and target_scale 1; got {target_mean} and {target_scale}"
        )
