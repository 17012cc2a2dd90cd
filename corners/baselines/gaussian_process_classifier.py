"""Gaussian process classification by scikit-learn: amplitude times squared exponential, one class against the rest."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from corners.backbones._base import Backbone
from corners.baselines._classifiers import ClassifierFit, finished
from corners.baselines._tasks import missing_classes, require_task
from corners.baselines._temperature import Temperature
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.method import METHODS, Fit, FitStatus, LastLayer, Method, Trace, require_one_seed_a_split
from corners.optimise import Watcher
from corners.predictive.categorical import CategoricalPredictive
from corners.protocols import Protocol
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

AMPLITUDES, LENGTHS = (1e-2, 1e2), (1e-2, 1e3)
"""Bounds of amplitude and length scale (standardised inputs)."""
AT_BOUND = 1e-5
"""Distance of a log hyperparameter from its bound below which it is said to be there."""


@dataclass(frozen=True)
class GaussianProcessClassifierFit(ClassifierFit):
    """Fit of :class:`GaussianProcessClassifier`; ``models`` are scikit-learn's, fitted on standardised inputs."""

    method: str
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    models: tuple[Any, ...]
    standardisers: tuple[Standardiser, ...]
    trace: Trace
    seconds: float
    temperatures: tuple[Temperature | None, ...] = ()

    def untempered(self, inputs: Float[Array, "..."], replicate: int) -> CategoricalPredictive:
        """scikit-learn's class probabilities."""
        if not self.statuses[replicate].usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {self.statuses[replicate].sentence}")
        scaled = self.standardisers[replicate].inputs(inputs)
        return CategoricalPredictive(self.models[replicate].predict_proba(scaled))

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"] | None:
        """None: the features are infinitely many."""
        return None

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """None: there is no last layer."""
        return None

    def learned(self, replicate: int) -> dict[str, float]:
        """``amplitude`` and ``length_scale`` (standardised inputs), of every class where there are more than two."""
        model = self.models[replicate]
        if model is None:
            return {}
        kernels = _kernels(model)
        names = [""] if len(kernels) == 1 else [f"_{label}" for label in range(len(kernels))]
        values: dict[str, float] = {}
        for name, kernel in zip(names, kernels, strict=True):
            values[f"amplitude{name}"] = float(np.sqrt(kernel.k1.constant_value))
            values[f"length_scale{name}"] = float(kernel.k2.length_scale)
        return values | self.tempering(replicate)


@METHODS.register("gaussian_process_classifier")
@dataclass(frozen=True)
class GaussianProcessClassifier(Method):
    """Logistic likelihood, Laplace's approximation, hyperparameters by its evidence; K > 2 one class against the rest.

    Above ``max_rows`` training rows it uses a random subset, with every class in it, and says so. Every class of K > 2
    has a process of its own and the probabilities are normalised. A class that no training row has would be given
    probability 0: such a replicate is not fitted.

    Parameters
    ----------
    restarts : starts of the optimiser drawn at random within the bounds, besides the default one.
    max_rows : rows the process is conditioned on at most; its evidence costs their number cubed, a class and step.
    temperature : fit one temperature on the validation part.

    Reference: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, algorithms 3.1, 3.2 and 5.1.

    Example
    -------
    >>> GaussianProcessClassifier().max_rows
    500
    """

    restarts: int = 1
    max_rows: int = 500
    temperature: bool = False
    name: str = "gaussian_process_classifier"
    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    def __post_init__(self) -> None:
        if self.restarts < 0 or self.max_rows < 2:
            raise SpecError(
                f"restarts must be at least 0 and max_rows at least 2; got {self.restarts} and {self.max_rows}"
            )

    @classmethod
    def example(cls) -> "GaussianProcessClassifier":
        """A small member for the law suite."""
        return cls(restarts=0, max_rows=100)

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "GaussianProcessClassifier":
        """As it is: the backbone and the schedules of networks play no part."""
        return cls()

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> GaussianProcessClassifierFit:
        """Fit one process a (split, seed) pair and class, one after another."""
        require_task(self, splits)
        require_one_seed_a_split(splits, seeds)
        started = time.perf_counter()
        models, standardisers, statuses = [], [], []
        for done, (split, seed) in enumerate(zip(splits, seeds, strict=True)):
            standardiser = Standardiser.fit(split.train, False, codes=True)
            model, status = self._fit_one(split, standardiser, seed)
            models.append(model)
            standardisers.append(standardiser)
            statuses.append(status)
            if progress is not None:
                progress(done + 1, len(splits) - done - 1, float("nan"))
        made = GaussianProcessClassifierFit(
            self.name,
            tuple(seeds),
            tuple(statuses),
            tuple(models),
            tuple(standardisers),
            Trace(np.zeros(0)),
            time.perf_counter() - started,
        )
        return finished(made, splits, temperature=self.temperature)

    def _fit_one(self, split: "Split", standardiser: Standardiser, seed: int) -> tuple[Any, FitStatus]:
        absent = missing_classes(split)
        if absent:
            return None, FitStatus("failed", absent[0].replace("its probability is an extrapolation", "it would be 0"))
        rows = _some_rows(split.train.targets, self.max_rows, np.random.default_rng(seed))
        inputs, labels = standardiser.inputs(split.train.inputs[rows]), split.train.targets[rows].astype(int)
        model, converged = _fitted(inputs, labels, self.restarts, seed)
        remarks = [f"the best of {self.restarts + 1} starts" if self.restarts else "one start"]
        kernels = _kernels(model)
        if len(kernels) > 1:
            remarks.append(f"one process for each of {len(kernels)} classes against the rest, probabilities normalised")
        if rows.size < split.train.n:
            remarks.append(f"used {rows.size} of {split.train.n} training rows")
        if any(np.isclose(each.theta[:, None], each.bounds, rtol=0.0, atol=AT_BOUND).any() for each in kernels):
            remarks.append("a kernel hyperparameter is at its bound")
        return model, FitStatus("converged" if converged else "unfinished", remarks=tuple(remarks))


def _some_rows(labels: Float[Array, " N"], count: int, generator: np.random.Generator) -> Int[Array, " M"]:
    """All rows where there are few enough, else ``count`` drawn ones, the first of every class among them."""
    if labels.size <= count:
        return np.arange(labels.size)
    order = generator.permutation(labels.size)
    _, firsts = np.unique(labels[order], return_index=True)
    rest = np.delete(order, firsts)[: max(count - firsts.size, 0)]
    return np.sort(np.concatenate((order[firsts], rest)))


def _kernels(model: Any) -> list[Any]:
    """The fitted kernel, or one a class."""
    return list(model.kernel_.kernels) if hasattr(model.kernel_, "kernels") else [model.kernel_]


def _fitted(inputs: Float[Array, "N D"], labels: Int[Array, " N"], restarts: int, seed: int) -> tuple[Any, bool]:
    """scikit-learn's classifier, and whether no optimiser of it stopped early."""
    from sklearn import gaussian_process
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    low, high = (each**2 for each in AMPLITUDES)
    kernel = ConstantKernel(1.0, (low, high)) * RBF(inputs.shape[1] ** 0.5, LENGTHS)
    model = gaussian_process.GaussianProcessClassifier(kernel, n_restarts_optimizer=restarts, random_state=seed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(inputs, labels)
    stopped = [each for each in said if issubclass(each.category, ConvergenceWarning)]
    # Warnings of values at a bound are of the same kind; those the status says in its own words.
    return model, not any("lbfgs failed" in str(each.message) for each in stopped)
