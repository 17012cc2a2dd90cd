"""Expectation propagation on the last layer of another fit: the classical Gaussian belief of a probit head."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr, log_softmax

from corners.backbones._base import Backbone
from corners.baselines._expectation_propagation import BOUNDS, EPLayer, at_best_evidence, ep_layer
from corners.baselines._hosted import replicate_by_replicate, require_host
from corners.baselines._tasks import missing_classes
from corners.errors import SpecError
from corners.method import METHODS, Fit, FitStatus, LastLayer, Method, Trace
from corners.optimise import Watcher
from corners.predictive.categorical import CategoricalPredictive
from corners.protocols import Protocol
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

PRECISIONS = ("host", "evidence")
APPROXIMATE = "approximate: Gaussian sites in place of probit factors"
"""What every status says: the belief is no posterior."""


@dataclass(frozen=True)
class ExpectationPropagationFit(Fit):
    """The belief of every replicate; features are the host's."""

    method: str
    host: Fit
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    layers: Mapping[int, EPLayer]
    trace: Trace
    seconds: float

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> CategoricalPredictive:
        """``P(y = 1) = Φ(m / √(1 + v))``; of K > 2 classes the same of each against the others, normalised."""
        layer = self._usable(replicate)
        features = np.asarray(self.host.features(inputs, replicate=replicate))
        mean = features @ layer.mean.T
        variance = np.einsum("nh,khl,nl->nk", features, layer.covariance, features)
        return _predictive(mean / np.sqrt(1.0 + variance))

    def leave_one_out(self, *, replicate: int = 0) -> CategoricalPredictive:
        """The predictive of every training row with that row taken away, from the cavities: no refit (theory 3.8h).

        ``log_prob(train.targets)`` are its leave-one-out log predictives. A cavity holds the other sites as they are
        with the row, so that it is near a refit and not equal to it.
        """
        layer = self._usable(replicate)
        return _predictive(layer.cavity_mean / np.sqrt(1.0 + layer.cavity_var))

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"] | None:
        """The host's features."""
        return self.host.features(inputs, replicate=replicate)

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """None: a last layer that is compared elsewhere has Gaussian noise."""
        return None

    def learned(self, replicate: int) -> dict[str, float]:
        """``prior_precision`` and ``log_evidence``, that of expectation propagation in nats, summed over the heads."""
        layer = self._usable(replicate)
        return {"prior_precision": layer.prior_precision, "log_evidence": layer.log_evidence}

    def _usable(self, replicate: int) -> EPLayer:
        if replicate not in self.layers or not self.statuses[replicate].usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {self.statuses[replicate].sentence}")
        return self.layers[replicate]


@METHODS.register("expectation_propagation")
@dataclass(frozen=True)
class ExpectationPropagation(Method):
    """Expectation propagation for ``P(y = 1 | w) = Φ(wᵀψ)``, ``w ~ N(0, I/α)``, on the features that ``host`` trained.

    The belief is the Gaussian whose sites match the moments of every label's own factor against its cavity; message
    passing finds it, in a program that shares nothing with the cells. It is an approximation, and usually a close one
    for this head. K > 2 classes are K such heads, each against the others, whatever the head of the host.

    Parameters
    ----------
    precision : "host" takes the prior precision of the host (the geometric mean where it has one a class), "evidence"
        the one that maximises the evidence of expectation propagation, the same for all heads.
    damping : first step on the sites, in (0, 1]; the fixed point does not depend on it. A run that does not settle is
        made again with half the step, four times at most.
    iterations : at most so many a run; a last run that has not settled says so.

    Raises
    ------
    SpecError : another ``precision``, a step or a number of iterations out of range.

    Example
    -------
    >>> ExpectationPropagation.tasks, ExpectationPropagation.host
    (('classification',), 'scroll_dense')
    """

    precision: str = "host"
    damping: float = 0.5
    iterations: int = 500
    name: str = "expectation_propagation"
    tasks: ClassVar[tuple[str, ...]] = ("classification",)
    host: ClassVar[str | None] = "scroll_dense"

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise SpecError(f"precision must be {' or '.join(map(repr, PRECISIONS))}; got {self.precision!r}")
        if not 0.0 < self.damping <= 1.0 or self.iterations < 1:
            raise SpecError(
                f"damping must be in (0, 1] and iterations at least 1; got {self.damping} and {self.iterations}"
            )

    @classmethod
    def example(cls) -> "ExpectationPropagation":
        """A member for the law suite."""
        return cls()

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "ExpectationPropagation":
        """Features and prior precision come from the host."""
        return cls()

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> ExpectationPropagationFit:
        """One belief a (split, seed) pair; a host replicate that cannot predict is a failed replicate."""
        host, started = require_host(self, host, splits, seeds), time.perf_counter()
        layers: dict[int, EPLayer] = {}

        def fit_one(replicate: int) -> FitStatus:
            layers[replicate] = self._layer(host, replicate, splits[replicate])
            return _status(layers[replicate], splits[replicate], self.precision == "evidence")

        statuses = replicate_by_replicate(len(splits), fit_one, progress)
        seconds, trace = time.perf_counter() - started, Trace(np.zeros(0))
        return ExpectationPropagationFit(self.name, host, tuple(seeds), statuses, layers, trace, seconds)

    def _layer(self, host: Fit, replicate: int, split: "Split") -> EPLayer:
        features = host.features(split.train.inputs, replicate=replicate)
        if features is None:
            raise SpecError(f"{host.method} has no last layer to borrow")
        problem = (np.asarray(features, np.float64), split.train.targets, len(split.labels or ()))
        if self.precision == "evidence":
            return at_best_evidence(*problem, damping=self.damping, iterations=self.iterations)
        precision = host.learned(replicate).get("prior_precision")
        if precision is None:
            raise SpecError(f"{host.method} has no prior precision to borrow; use precision='evidence'")
        return ep_layer(*problem, precision, damping=self.damping, iterations=self.iterations)


def _status(layer: EPLayer, split: "Split", searched: bool) -> FitStatus:
    said = [APPROXIMATE, *missing_classes(split)]
    if searched and min(abs(np.log(layer.prior_precision) - bound) for bound in BOUNDS) < 0.01:
        said.append(f"the evidence grows to the bound of the prior precision, {layer.prior_precision:.3g}")
    return FitStatus("converged" if layer.converged else "unfinished", detail=layer.reason, remarks=tuple(said))


def _predictive(margin: Float[Array, "N K"]) -> CategoricalPredictive:
    """Classes from one margin of class 1, or from K margins of each class against the others, normalised."""
    if margin.shape[1] == 1:
        return CategoricalPredictive.from_logarithms(log_ndtr(np.concatenate((-margin, margin), axis=1)))
    return CategoricalPredictive.from_logarithms(log_softmax(log_ndtr(margin), axis=1))
