"""Exact Gaussian process regression by scikit-learn: amplitude times squared exponential plus noise."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from corners.backbones._base import Backbone
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.method import METHODS, Fit, FitStatus, LastLayer, Method, Trace, require_one_seed_a_split
from corners.optimise import Watcher
from corners.predictive._base import Predictive
from corners.predictive.gaussian import GaussianPredictive
from corners.protocols import Protocol
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split


@dataclass(frozen=True)
class GaussianProcessFit(Fit):
    """Fit of :class:`GaussianProcess`; ``models`` are scikit-learn's fitted regressors on standardised data."""

    method: str
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    models: tuple[Any, ...]
    standardisers: tuple[Standardiser, ...]
    trace: Trace
    seconds: float

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Predictive:
        """Posterior mean and variance of a new target, noise included, in original units."""
        if not self.statuses[replicate].usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {self.statuses[replicate].sentence}")
        scale = self.standardisers[replicate]
        mean, deviation = self.models[replicate].predict(scale.inputs(inputs), return_std=True)
        return GaussianPredictive(scale.target_mean + scale.target_scale * mean, (scale.target_scale * deviation) ** 2)

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"] | None:
        """None: the features are infinitely many."""
        return None

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """None: there is no last layer."""
        return None

    def learned(self, replicate: int) -> dict[str, float]:
        """``noise_scale`` and ``amplitude`` (original units) and ``length_scale`` (standardised inputs)."""
        kernel, scale = self.models[replicate].kernel_, self.standardisers[replicate].target_scale
        return {
            "noise_scale": scale * float(np.sqrt(kernel.k2.noise_level)),
            "amplitude": scale * float(np.sqrt(kernel.k1.k1.constant_value)),
            "length_scale": float(kernel.k1.k2.length_scale),
        }


@METHODS.register("gaussian_process")
@dataclass(frozen=True)
class GaussianProcess(Method):
    """Type-II maximum likelihood with restarts; above ``max_rows`` training rows it uses a random subset and says so.

    Reference: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, algorithm 2.1.

    Example
    -------
    >>> GaussianProcess().max_rows
    2000
    """

    restarts: int = 2
    max_rows: int = 2000
    scale_targets: bool = True
    name: str = "gaussian_process"

    def __post_init__(self) -> None:
        if self.restarts < 0 or self.max_rows < 1:
            raise SpecError(
                f"restarts must be at least 0 and max_rows at least 1; got {self.restarts}, {self.max_rows}"
            )

    @classmethod
    def example(cls) -> "GaussianProcess":
        """A small member for the law suite."""
        return cls(restarts=0, max_rows=100)

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "GaussianProcess":
        """As the protocol says; the backbone plays no part."""
        return cls(scale_targets=protocol.scale_targets)

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> GaussianProcessFit:
        """Fit one process a (split, seed) pair, one after another."""
        require_one_seed_a_split(splits, seeds)
        started = time.perf_counter()
        models, standardisers, statuses = [], [], []
        for done, (split, seed) in enumerate(zip(splits, seeds, strict=True)):
            standardiser = Standardiser.fit(split.train, self.scale_targets)
            model, status = self._fit_one(split, standardiser, seed)
            models.append(model)
            standardisers.append(standardiser)
            statuses.append(status)
            if progress is not None:
                progress(done + 1, len(splits) - done - 1, float("nan"))
        seconds = time.perf_counter() - started
        trace = Trace(np.zeros(0))
        return GaussianProcessFit(
            self.name, tuple(seeds), tuple(statuses), tuple(models), tuple(standardisers), trace, seconds
        )

    def _fit_one(self, split: "Split", standardiser: Standardiser, seed: int) -> tuple[Any, FitStatus]:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        rows = self._rows(split.train.n, seed)
        inputs = standardiser.inputs(split.train.inputs)[rows]
        targets = standardiser.targets(split.train.targets)[rows]
        kernel = ConstantKernel(1.0, (1e-4, 1e4)) * RBF(split.d**0.5, (1e-2, 1e3)) + WhiteKernel(0.5, (1e-6, 4.0))
        model = GaussianProcessRegressor(kernel, alpha=0.0, n_restarts_optimizer=self.restarts, random_state=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(inputs, targets)
        remarks = [] if rows.size == split.train.n else [f"used {rows.size} of {split.train.n} training rows"]
        if any("close to the specified" in str(each.message) for each in caught):
            remarks.append("a kernel hyperparameter is at its bound")
        unconverged = any("failed to converge" in str(each.message) for each in caught)
        return model, FitStatus("unfinished" if unconverged else "converged", remarks=tuple(remarks))

    def _rows(self, count: int, seed: int) -> Array:
        if count <= self.max_rows:
            return np.arange(count)
        return np.sort(np.random.default_rng(seed).choice(count, self.max_rows, replace=False))
