"""Linear probit models on the standardised inputs, with an intercept: what the choices of their prior share."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from corners.backbones._base import Backbone
from corners.baselines._classifiers import ClassifierFit, finished
from corners.baselines._probit import ProbitModes, Probits, with_intercept
from corners.baselines._tasks import class_count, require_task
from corners.baselines._temperature import Temperature
from corners.beliefs import Marginals
from corners.data.batch import PartBatch, stack_splits
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.likelihoods.one_vs_all import OneVsAll
from corners.likelihoods.probit import Probit
from corners.method import Fit, FitStatus, LastLayer, Method, Trace
from corners.optimise import Watcher, fit_in_groups
from corners.predictive.categorical import CategoricalPredictive
from corners.protocols import Protocol
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

Head = Probit | OneVsAll


def head_for(classes: int) -> Head:
    """The exact binary probit of two classes; one head a class of more."""
    return Probit() if classes == 2 else OneVsAll(classes)


def log_predictive(head: Head, targets: Tensor, marginals: Marginals) -> Tensor:
    """Log probability of the labels from marginals of shape ``(*B, C, N)``; normalised over the classes."""
    if isinstance(head, Probit):
        marginals = Marginals(marginals.mean[..., 0, :], marginals.variance[..., 0, :])
    return head.log_predictive({}, targets, marginals)


@dataclass(frozen=True)
class ProbitReplicate:
    """``N(mean, covariance)`` over the weights of every head, intercept last; no covariance for a point."""

    standardiser: Standardiser
    mean: Float[Tensor, "C P"]
    covariance: Float[Tensor, "C P P"] | None
    learned: Mapping[str, float]

    def marginals(self, inputs: Float[Tensor, "N D"]) -> Marginals:
        """``mᵀx`` and ``xᵀΣx`` of every head."""
        design = with_intercept(inputs)
        mean = self.mean @ design.mT
        if self.covariance is None:
            return Marginals(mean, torch.zeros_like(mean))
        return Marginals(mean, ((design @ self.covariance) * design).sum(-1))


@dataclass(frozen=True)
class ProbitFit(ClassifierFit):
    """Replicates of a linear probit model."""

    method: str
    head: Head
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    replicates: tuple[ProbitReplicate | None, ...]
    trace: Trace
    seconds: float
    temperatures: tuple[Temperature | None, ...] = ()

    def untempered(self, inputs: Float[Array, "..."], replicate: int) -> CategoricalPredictive:
        """``Φ(m/√(1 + v))``, normalised over the classes where there are more than two."""
        own = self._usable(replicate)
        marginals = own.marginals(torch.tensor(own.standardiser.inputs(inputs)))
        if isinstance(self.head, Probit):
            marginals = Marginals(marginals.mean[0], marginals.variance[0])
        return self.head.predictive({}, marginals, 0.0, 1.0)

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"]:
        """The standardised inputs."""
        return self._usable(replicate).standardiser.inputs(inputs)

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """None: the belief belongs to no cell of the design space."""
        return None

    def learned(self, replicate: int) -> dict[str, float]:
        """Hyperparameters by name."""
        own = self.replicates[replicate]
        return {} if own is None else {**own.learned, **self.tempering(replicate)}

    def _usable(self, replicate: int) -> ProbitReplicate:
        own, status = self.replicates[replicate], self.statuses[replicate]
        if own is None or not status.usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {status.sentence}")
        return own


@dataclass(frozen=True)
class ProbitMethod(Method):
    """``P(y = 1) = Φ(wᵀx + b)`` with standardised inputs, in double precision; seeds play no part.

    The intercept has the prior ``N(0, 10²)``: next to free, as the intercept of ridge rows is, whose targets are
    centred; and finite where a training part holds one label alone. Of more than two classes every one has a head of
    its own, "this class or another", and the predictive is ``∝ Φ(w_kᵀx + b_k)``.
    """

    temperature: bool = False
    name: str = ""
    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    @classmethod
    def example(cls) -> "ProbitMethod":
        """A small member for the law suite."""
        return cls()

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "ProbitMethod":
        """As it is: backbone, penalties and schedules of networks play no part."""
        return cls()

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> ProbitFit:
        """Fit all splits of equal shape, and all candidates, together."""
        require_task(self, splits)
        done = 0

        def group(some: "list[Split]", _own: list[int]) -> tuple[list[tuple[ProbitReplicate, FitStatus]], Trace]:
            nonlocal done
            found = self._fit_group(some)
            done += len(some)
            if progress is not None:
                progress(done, len(splits) - done, float("nan"))
            return found, Trace(np.zeros(0))

        fitted = fit_in_groups(splits, seeds, group)
        made = ProbitFit(
            method=self.name,
            head=head_for(class_count(splits)),
            seeds=tuple(seeds),
            statuses=fitted.statuses,
            replicates=fitted.replicates,
            trace=fitted.trace,
            seconds=fitted.seconds,
        )
        return finished(made, splits, temperature=self.temperature)

    def _fit_group(self, splits: "list[Split]") -> list[tuple[ProbitReplicate, FitStatus]]:
        data, standardisers = stack_splits(splits, scale_targets=False, codes=True)
        classes = class_count(splits)
        codes = torch.arange(classes, dtype=torch.float64)[1 if classes == 2 else 0 :]
        signs = 2.0 * (data.train.targets[:, None] == codes[:, None]).double() - 1.0
        train = Probits(data.train.inputs, signs)
        return self._choose(train, data.validation, head_for(classes), standardisers)

    @abstractmethod
    def _choose(
        self, train: Probits, validation: PartBatch, head: Head, standardisers: list[Standardiser]
    ) -> list[tuple[ProbitReplicate, FitStatus]]:
        """One belief a data set, its prior precision chosen."""


def said_of(head: Head, converged: bool, remarks: tuple[str, ...]) -> FitStatus:
    """How Newton's method ended, with remarks, the normalisation among them."""
    if isinstance(head, OneVsAll):
        remarks = (f"one-versus-all: {head.classes} binary probits, their probabilities normalised", *remarks)
    return FitStatus("converged" if converged else "unfinished", "Newton's method", remarks)


def validation_nll(
    head: Head, modes: ProbitModes, part: PartBatch, *, covariance: Float[Tensor, "S G C P P"] | None = None
) -> Float[Array, "S G"]:
    """Mean NLL of the validation part a data set and candidate."""
    design = with_intercept(part.inputs)[:, None]
    mean = modes.weights @ design.mT
    spread = torch.zeros_like(mean)
    if covariance is not None:
        spread = ((design[:, :, None] @ covariance) * design[:, :, None]).sum(-1)
    targets = part.targets[:, None].expand(-1, mean.shape[1], -1)
    return -log_predictive(head, targets, Marginals(mean, spread)).mean(-1).numpy()
