"""One-versus-all probit: K independent binary heads, one latent function a class (theory 6.1)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._base import Bounds, Params
from corners.errors import SpecError
from corners.likelihoods import LIKELIHOODS
from corners.likelihoods._base import Likelihood, require_codes, zero_penalty
from corners.likelihoods._expectation import gaussian_expectation
from corners.likelihoods._special import log_ndtr
from corners.predictive.categorical import CategoricalPredictive, require_labels

LABEL_COUNT = "label_count"


@LIKELIHOODS.register("one_vs_all")
@dataclass(frozen=True)
class OneVsAll(Likelihood):
    """K binary probit heads, "class k or another": ``log p(y | f) = Σ_k log Φ(s_k f_k)``, ``s_k = 1`` if y = k else -1.

    The predictive is ``P(y = k) ∝ Φ(m_k / √(1 + v_k))``, normalised over the classes. **The training loss is not a
    proper score of it**: it scores K yes-or-no forecasts, and ``exp(log_prob)`` summed over the classes is not 1.
    ``log_partition`` is therefore not the log probability of the label: report ``predictive(...).log_prob``. With two
    classes it is two heads, not the binary probit.

    Parameters
    ----------
    classes : K. A class missing from the training labels is accepted; its head then learns from "another" alone.

    Raises
    ------
    SpecError : K < 2.
    DataError : a label is not one of 0..K-1 (:meth:`check`).

    Example
    -------
    >>> import torch
    >>> marginals = Marginals(torch.zeros(4, 1), torch.ones(4, 1))
    >>> OneVsAll(classes=4).predictive({}, marginals, 0.0, 1.0).probabilities.tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    classes: int
    name: ClassVar[str] = "one_vs_all"
    conjugate: ClassVar[bool] = False
    log_concave: ClassVar[bool] = True
    task: ClassVar[str] = "classification"

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise SpecError(f"classes counts the classes and must be at least 2; got {self.classes}")

    @classmethod
    def example(cls) -> "OneVsAll":
        """A member for the law suite."""
        return cls(classes=3)

    @staticmethod
    def example_targets(shape: tuple[int, ...]) -> Tensor:
        """Labels 0, 1, 2, 0, 1, 2, ... of this shape."""
        return (torch.arange(torch.Size(shape).numel()) % 3).double().reshape(shape)

    @property
    def latents(self) -> int:
        """K, one latent function a class."""
        return self.classes

    @property
    def frozen(self) -> frozenset[str]:
        """The number of training labels: there is nothing to learn."""
        return frozenset({LABEL_COUNT})

    def check(self, targets: Float[Tensor, "*L N"], params: Params | None = None) -> None:
        """Refuse a label that is not one of 0..K-1."""
        require_labels(targets.detach().cpu().numpy(), self.classes)

    def init(self, targets: Float[Tensor, "B N"]) -> Params:
        """The number of labels, after they have been checked."""
        self.check(targets)
        return {LABEL_COUNT: torch.full_like(targets[..., 0], targets.shape[-1])}

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
        return zero_penalty(params, LABEL_COUNT)

    def log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], latent: Float[Tensor, "*B K N"]
    ) -> Float[Tensor, "*B N"]:
        """``Σ_k log Φ(s_k f_k)``."""
        return log_ndtr(self._signs(targets) * latent).sum(-2)

    def log_partition(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``Σ_k log Φ(s_k m_k / √(1 + v_k))``; not a log probability of the label."""
        return log_ndtr(self._signs(targets) * marginals.mean * (1.0 + marginals.variance).rsqrt()).sum(-2)

    def expected_log_prob(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """``Σ_k E log Φ(s_k f_k)`` by quadrature, each as accurate as the binary head's."""
        mean = self._signs(targets) * marginals.mean
        return gaussian_expectation(log_ndtr, (mean,), (), marginals.variance, mean).sum(-2)

    def log_predictive(
        self, params: Params, targets: Float[Tensor, "*B N"], marginals: Marginals
    ) -> Float[Tensor, "*B N"]:
        """Log of the normalised probability of the label."""
        log_ones = log_ndtr(marginals.mean * (1.0 + marginals.variance).rsqrt()).log_softmax(-2)
        return log_ones.gather(-2, targets.long()[..., None, :])[..., 0, :]

    def predictive(
        self, params: Params, marginals: Marginals, target_mean: float, target_scale: float
    ) -> CategoricalPredictive:
        """``Φ(m_k / √(1 + v_k))`` normalised in log space; the target transform must be 0 and 1 (``SpecError``)."""
        require_codes(self.name, target_mean, target_scale)
        margin = (marginals.mean * (1.0 + marginals.variance).rsqrt()).double()
        return CategoricalPredictive.from_logarithms(log_ndtr(margin).log_softmax(-2).mT.numpy())

    def _signs(self, targets: Tensor) -> Tensor:
        """1 for the class of the datum, -1 for the others, shape ``(*B, K, N)``."""
        own = targets[..., None, :] == torch.arange(self.classes, dtype=targets.dtype, device=targets.device)[:, None]
        return 2.0 * own.to(targets.dtype) - 1.0
