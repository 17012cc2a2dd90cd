"""Maximum a posteriori network for counts, Poisson or negative binomial; its penalty is chosen by validation NLL."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float

from corners.baselines._heads import Head
from corners.baselines._network_fit import NetworkFit
from corners.baselines._network_problem import OFFSET
from corners.baselines._networks import NetworkMethod
from corners.beliefs import Marginals
from corners.covariances._base import Params
from corners.data.batch import SplitBatch, stack_splits
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.likelihoods.negative_binomial import LOG_SIZE, NegativeBinomial
from corners.likelihoods.poisson import Poisson
from corners.method import METHODS, Fit, FitStatus
from corners.optimise import Watcher
from corners.predictive.count import CountPredictive
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

LIKELIHOODS = {"poisson": Poisson, "negative_binomial": NegativeBinomial}
HALF_A_COUNT = 0.5
"""What a training part without a single count is taken to have seen: its log mean would be minus infinity."""


@dataclass(frozen=True)
class CountMapFit(NetworkFit):
    """Fit of :class:`CountMap`: a point, hence no belief to compare with a posterior."""

    likelihood: Poisson | NegativeBinomial

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> CountPredictive:
        """Counts of mean ``ȳ exp(wᵀψ)``, without latent variance."""
        latent = self._latent(inputs, replicate).double()
        marginals = Marginals(latent, torch.zeros_like(latent))
        return self.likelihood.predictive(self._usable(replicate).params, marginals, 0.0, 1.0)

    def learned(self, replicate: int) -> dict[str, float]:
        """``base_rate`` ``ȳ``, ``size`` of a negative binomial, ``penalty``, ``steps`` and ``validation_nll``."""
        values, own = super().learned(replicate), self.replicates[replicate]
        if own is None:
            return {}
        size = {"size": math.exp(float(own.params[LOG_SIZE]))} if LOG_SIZE in own.params else {}
        return {"base_rate": math.exp(float(own.params[OFFSET])), **size, **values}


@METHODS.register("count_map")
@dataclass(frozen=True)
class CountMap(NetworkMethod):
    """``y ~ Poisson(ȳ exp(wᵀψ(x)))``, ``ȳ`` the mean training count, as ``map`` centres targets by their mean.

    Every penalty of the grid is trained at once and validation NLL chooses, a replicate at a time. A penalty λ adds
    ``½ λ ‖w‖²`` to the negative log likelihood. Without ``ȳ`` a penalised network without biases could not leave a
    rate of 1 (theory 6.3: the link is a logarithm). Counts that are all zero are taken to be half a count.

    Parameters
    ----------
    likelihood : "poisson", or "negative_binomial" with one size r for all points, learned with the network.
    reduction : "sum" of the data term over the training points, or "mean"; penalties are the same beside either.

    Example
    -------
    >>> CountMap.example().likelihood
    'poisson'
    """

    name: str = "count_map"
    likelihood: str = "poisson"
    tasks: ClassVar[tuple[str, ...]] = ("count",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.likelihood not in LIKELIHOODS:
            raise SpecError(f"likelihood must be one of {', '.join(LIKELIHOODS)}; got {self.likelihood!r}")

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> NetworkFit:
        """Train one network a (split, seed) pair and penalty; the likelihood is said, and a size at its bound."""
        fit = super().fit(splits, seeds, host=host, progress=progress)
        said = f"{self.likelihood.replace('_', ' ')} likelihood"
        return replace(fit, statuses=tuple(_with_remarks(fit, k, said) for k in range(len(splits))))

    def _made(self, **fields: Any) -> CountMapFit:
        return CountMapFit(**fields)

    def _found(self, fit: CountMapFit, replicate: int, split: "Split") -> dict[str, float]:
        part = split.validation
        return {"validation_nll": -float(np.mean(fit.predict(part.inputs, replicate=replicate).log_prob(part.targets)))}

    def _head(self, splits: "Sequence[Split]") -> Head:
        return LIKELIHOODS[self.likelihood]()

    def _stack(self, splits: "Sequence[Split]") -> tuple[SplitBatch, list[Standardiser]]:
        return stack_splits(splits, scale_targets=False, dtype=self.dtype, codes=True)

    def _frozen(self, head: Head) -> frozenset[str]:
        return super()._frozen(head) | {OFFSET}

    def _init(self, head: Head, data: SplitBatch, generators: list[torch.Generator]) -> Params:
        params, targets = super()._init(head, data, generators), data.train.targets
        least = HALF_A_COUNT / targets.shape[-1]
        return params | {OFFSET: targets.mean(-1).clamp(min=least).log()}


def _with_remarks(fit: NetworkFit, replicate: int, said: str) -> FitStatus:
    """The status with what is to be said of the likelihood, and of a size at its bound."""
    status, own = fit.statuses[replicate], fit.replicates[replicate]
    if own is None or not status.usable:
        return status
    remarks = (said,)
    if LOG_SIZE in own.params:
        log_size, (low, high) = float(own.params[LOG_SIZE]), fit.likelihood.bounds()[LOG_SIZE]
        if log_size >= high:
            remarks += ("size is at its upper bound: a Poisson",)
        elif log_size <= low:
            remarks += ("size is at its lower bound",)
    return replace(status, remarks=(*status.remarks, *remarks))
