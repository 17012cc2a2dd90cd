"""Networks with a softmax: labels as they are, K functions of the last features, draws that become one predictive."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float
from torch import Tensor

from corners.baselines._classifiers import ClassifierFit, finished
from corners.baselines._heads import SoftmaxHead
from corners.baselines._network_fit import NetworkFit
from corners.baselines._networks import NetworkMethod
from corners.baselines._tasks import class_count
from corners.baselines._temperature import Temperature
from corners.data.batch import SplitBatch, stack_splits
from corners.data.standardiser import Standardiser
from corners.method import Fit
from corners.optimise import Watcher
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split


def log_softmax(latent: Float[Tensor, "*S K N"]) -> Float[Array, "*S N K"]:
    """Log probabilities in double precision, classes last."""
    return latent.double().log_softmax(-2).mT.numpy()


@dataclass(frozen=True)
class SoftmaxNetworkFit(NetworkFit, ClassifierFit):
    """Fit of networks with a softmax; the mixture of the draws that a subclass makes."""

    temperatures: tuple[Temperature | None, ...] = ()

    def untempered(self, inputs: Float[Array, "..."], replicate: int) -> CategoricalPredictive:
        """``(1/S) Σ_s softmax(W_sψ(x))``, averaged in log space."""
        return CategoricalPredictive.from_draws(log_softmax(self._draws(inputs, replicate)))

    def learned(self, replicate: int) -> dict[str, float]:
        """The chosen ``penalty``, ``steps``, what the method adds, and the temperature where there is one."""
        values = super().learned(replicate)
        return values and values | self.tempering(replicate)

    @abstractmethod
    def _draws(self, inputs: Array, replicate: int) -> Float[Tensor, "S K N"]:
        """Latent values of every draw."""


@dataclass(frozen=True)
class SoftmaxNetworkMethod(NetworkMethod):
    """A :class:`NetworkMethod` for classes, with as many rows in the last layer as the table has labels."""

    temperature: bool = False
    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> SoftmaxNetworkFit:
        """Train one network a (split, seed) pair, candidate and member."""
        made: Any = super().fit(splits, seeds, host=host, progress=progress)
        return finished(made, splits, temperature=self.temperature)

    def _head(self, splits: "Sequence[Split]") -> SoftmaxHead:
        return SoftmaxHead(class_count(splits))

    def _stack(self, splits: "Sequence[Split]") -> tuple[SplitBatch, list[Standardiser]]:
        return stack_splits(splits, scale_targets=False, dtype=self.dtype, codes=True)

    def _found(self, fit: SoftmaxNetworkFit, replicate: int, split: "Split") -> dict[str, float]:
        part = split.validation
        log_prob = fit.untempered(part.inputs, replicate).log_prob(part.targets)
        return {"validation_nll": -float(np.mean(log_prob))}
