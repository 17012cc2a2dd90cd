"""What a method is, what a fit promises, and how a fit says how it ended."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from corners.errors import SpecError
from corners.exact.bounds import Objective
from corners.predictive._base import Predictive
from corners.registry import Registry
from corners.types import Array, Float

if TYPE_CHECKING:
    from corners.data.split import Split

METHODS = Registry("method", "corners.baselines")

STATUS_SENTENCES: Mapping[str, str] = {
    "converged": "converged",
    "stopped_early": "stopped early: validation NLL no longer improved; the best state was restored",
    "step_limit": "step limit reached before early stopping; raise the number of steps",
    "not_finite": "stopped: the objective became NaN or infinite; the best finite state was restored",
    "unfinished": "the optimiser did not converge; treat with care",
    "failed": "failed before a finite state was reached; nothing can be predicted",
    "interrupted": "interrupted; the best state so far is kept",
    "not_started": "interrupted before the first score; nothing can be predicted",
    "exact": "exact: no training was needed",
    "sampled": "sampled: every check of the gate passed",
}


@dataclass(frozen=True)
class FitStatus:
    """How one replicate ended: a code, the sentence for it, and remarks on what it learned.

    Example
    -------
    >>> FitStatus("converged").sentence
    'converged'
    """

    code: str
    detail: str = ""
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.code not in STATUS_SENTENCES:
            raise ValueError(f"status code must be one of {', '.join(STATUS_SENTENCES)}; got {self.code!r}")

    @property
    def usable(self) -> bool:
        """Whether the replicate can predict at all."""
        return self.code not in ("failed", "not_started")

    @property
    def interrupted(self) -> bool:
        """Whether an interrupt ended the replicate."""
        return self.code in ("interrupted", "not_started")

    @property
    def sentence(self) -> str:
        """The status as a sentence, with what was noticed about the learned hyperparameters."""
        parts = [STATUS_SENTENCES[self.code] + (f" ({self.detail})" if self.detail else ""), *self.remarks]
        return "; ".join(parts)


@dataclass(frozen=True)
class HyperpriorSpec:
    """A prior on a hyperparameter as plain numbers, so that a sampler can use the fit's own.

    ``family`` is ``"gamma"`` (first = shape, second = rate) or ``"inverse_gamma"`` (first = shape, second = scale).
    """

    family: str
    first: float
    second: float


@dataclass(frozen=True)
class LastLayer:
    """One fitted last layer on its training part: all that the fixed-feature quantities of the theory need.

    Units are the ones the fit was trained in; multiply targets and noise by ``target_scale`` for original units.
    ``covariance`` includes the ``jitter`` the cell was trained with. ``noise_var`` is a variance.

    ``cavity``, ``routing`` and ``family`` are registry names, the last one of the covariance.

    Of another ``likelihood`` than Gaussian noise ``noise_var`` is NaN, ``likelihood_params`` hold its parameters by
    name and ``test_log_predictive`` the belief's own log predictive at the test points (nats, in the units trained in).
    """

    features: Float[Array, "N H"]
    targets: Float[Array, " N"]
    test_features: Float[Array, "M H"]
    test_targets: Float[Array, " M"]
    mean: Float[Array, " H"]
    covariance: Float[Array, "H H"]
    prior_precision: float
    noise_var: float
    jitter: float
    cavity: str
    routing: str
    family: str
    target_mean: float = 0.0
    target_scale: float = 1.0
    precision_prior: HyperpriorSpec | None = None
    noise_prior: HyperpriorSpec | None = None
    has_prior_term: bool = True
    at_bound: tuple[str, ...] = ()
    likelihood: str = "gaussian"
    likelihood_params: Mapping[str, float] = field(default_factory=dict)
    test_log_predictive: Float[Array, " M"] | None = None


@dataclass(frozen=True, eq=False)
class BeliefObjectives:
    """MAP, Bethe and ELBO of one fitted belief with any head, on its training part, in nats; see theory 4.

    ``prior_precision`` is the smallest where several latent functions have one each; ``family`` and ``routing`` are
    registry names, the first one of the covariance.
    """

    map: Objective
    bethe: Objective
    elbo: Objective
    prior_precision: float
    family: str
    routing: str


@dataclass(frozen=True)
class Trace:
    """What was recorded while training: steps (shared) and one array a quantity, replicates first.

    Usual keys: ``objective`` (total nats), ``validation_nll`` (nats a point, original units), ``test_nll`` (never
    used for selection), ``prior_precision``, ``noise_scale`` (original units). Once a replicate stopped it is NaN.
    """

    steps: Float[Array, " T"]
    values: Mapping[str, Float[Array, "B T"]] = field(default_factory=dict)


def merge_traces(traces: Sequence[Trace], positions: Sequence[Sequence[int]], count: int) -> Trace:
    """One trace for replicates trained in several programs; where a program recorded nothing it is NaN."""
    steps = np.unique(np.concatenate([trace.steps for trace in traces]))
    names = {name for trace in traces for name in trace.values}
    values = {name: np.full((count, steps.size), np.nan) for name in sorted(names)}
    for trace, where in zip(traces, positions, strict=False):
        columns = np.searchsorted(steps, trace.steps)
        for name, rows in trace.values.items():
            values[name][np.asarray(where)[:, None], columns] = rows
    return Trace(steps, values)


def require_one_seed_a_split(splits: Sequence[Any], seeds: Sequence[int]) -> None:
    """Refuse sequences that do not pair up."""
    if len(splits) != len(seeds):
        raise SpecError(f"one split a seed is needed; got {len(splits)} splits and {len(seeds)} seeds")


class Fit(ABC):
    """Every replicate (seed) of one method on one data set; replicate ``k`` belongs to ``seeds[k]``."""

    method: str
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    trace: Trace
    seconds: float

    @abstractmethod
    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Predictive:
        """Predictive of one replicate at inputs in original units."""

    @abstractmethod
    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"] | None:
        """Last-layer features of one replicate at inputs in original units; None where there is no such layer."""

    @abstractmethod
    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """The replicate's last layer on its split, or None where the method has no such layer."""

    def sampled_layer(self, replicate: int, split: "Split", latent: int | None = None) -> LastLayer | None:
        """The last layer of whatever likelihood, for a sampler; :meth:`last_layer` is of Gaussian noise alone.

        ``latent`` chooses one of several latent functions; without it a fit that has several gives None.
        """
        return self.last_layer(replicate, split) if latent is None else None

    @abstractmethod
    def learned(self, replicate: int) -> dict[str, float]:
        """Hyperparameters of one replicate by name (``noise_scale`` in original units, ``prior_precision``, …)."""


class Method(ABC):
    """How to get a fit: a frozen specification that holds no data and no state."""

    name: str
    tasks: ClassVar[tuple[str, ...]] = ("regression",)
    """Kinds of tables it is for: "regression", "classification", "count"."""
    host: ClassVar[str | None] = None
    """Name of the method whose features this one borrows, if any; its fit is then passed to ``fit``."""
    conjugate: ClassVar[bool] = False
    """Whether its host needs the conjugate posterior of Gaussian noise, so that another head leaves the method out."""

    @abstractmethod
    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Any = None,
    ) -> Fit:
        """Fit one replicate a (split, seed) pair; the two sequences have equal length."""


@runtime_checkable
class Reporter(Protocol):
    """Hears what a comparison is doing; the command line draws it as progress bars."""

    def start(self, task: str, total: int | None) -> None:
        """A method or a sampler run begins; ``total`` steps at most where that is known."""

    def update(self, step: int, running: int, best: float) -> None:
        """It goes on: steps done, replicates still running, best validation NLL so far (NaN where there is none)."""

    def finish(self, message: str) -> None:
        """It is over."""


class Silent:
    """A reporter that says nothing."""

    def start(self, task: str, total: int | None) -> None:
        """Nothing."""

    def update(self, step: int, running: int, best: float) -> None:
        """Nothing."""

    def finish(self, message: str) -> None:
        """Nothing."""
