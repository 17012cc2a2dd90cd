"""Cross-entropy network: MAP with a softmax; its penalty is chosen by validation NLL."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor

from corners.baselines._softmax_networks import SoftmaxNetworkFit, SoftmaxNetworkMethod, log_softmax
from corners.method import METHODS
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array


@dataclass(frozen=True)
class SoftmaxFit(SoftmaxNetworkFit):
    """Fit of :class:`Softmax`: a point, hence no belief to compare with a posterior."""

    def untempered(self, inputs: Float[Array, "..."], replicate: int) -> CategoricalPredictive:
        """``softmax(Wψ(x))``."""
        return CategoricalPredictive.from_logarithms(log_softmax(self._latent(inputs, replicate)))

    def _draws(self, inputs: Array, replicate: int) -> Float[Tensor, "S K N"]:
        return self._latent(inputs, replicate)[None]


@METHODS.register("softmax")
@dataclass(frozen=True)
class Softmax(SoftmaxNetworkMethod):
    """``P(y = k) = softmax(Wψ(x))_k`` by penalised cross-entropy; every penalty is trained, validation NLL chooses.

    ``W`` has a row a class and no bias. A penalty λ adds ``½ λ ‖W‖²`` to the summed cross-entropy; one published
    without the half may mean ``λ ‖W‖²``: to have it, give twice the number. Classes that no training row has keep
    their row, which learns from the others alone; the status says so.

    Parameters
    ----------
    temperature : fit one temperature on the validation part, by NLL of ``log_softmax(log p / T)``.
    reduction : "sum" of the cross-entropy over the training points, or "mean"; penalties are the same beside either.

    Example
    -------
    >>> Softmax.example().tasks
    ('classification',)
    """

    name: str = "softmax"

    def _made(self, **fields: Any) -> SoftmaxFit:
        return SoftmaxFit(**fields)
