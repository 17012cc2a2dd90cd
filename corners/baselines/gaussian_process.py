"""Exact Gaussian process regression by scikit-learn: amplitude times squared exponential plus noise."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int
from scipy import optimize

from corners.backbones._base import Backbone
from corners.baselines._rbf_likelihood import NegativeLogLikelihood
from corners.baselines._tasks import require_task
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


AT_BOUND = 1e-5
"""Distance of a log hyperparameter from its bound below which it is said to be there."""


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

    Parameters
    ----------
    restarts : starts of the optimiser drawn at random within the bounds, besides the default one.
    max_rows : rows the process is conditioned on at most; a likelihood costs their number cubed.
    search_rows : rows the starts are compared on at most. The best end is where the optimiser starts on all rows, so
        that the result is a maximum of their likelihood, for a fraction of the time of every start on all of them.

    Starts and bounds of amplitude and noise are in units of the targets' standard deviation.

    Reference: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, algorithm 2.1.

    Example
    -------
    >>> GaussianProcess().max_rows
    2000
    """

    restarts: int = 2
    max_rows: int = 2000
    search_rows: int = 500
    scale_targets: bool = True
    name: str = "gaussian_process"

    def __post_init__(self) -> None:
        if self.restarts < 0 or self.max_rows < 1 or self.search_rows < 1:
            raise SpecError(
                f"restarts must be at least 0, max_rows and search_rows at least 1; got {self.restarts}, "
                f"{self.max_rows}, {self.search_rows}"
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
        require_task(self, splits)
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
        generator = np.random.default_rng(seed)
        rows = _some_rows(np.arange(split.train.n), self.max_rows, generator)
        searched = _some_rows(rows, self.search_rows, generator)
        inputs = standardiser.inputs(split.train.inputs)
        targets = standardiser.targets(split.train.targets)
        kernel = _kernel(split.d, float(np.mean(targets[rows] ** 2)))
        model, converged = _maximise(kernel, inputs[searched], targets[searched], self.restarts, seed)
        remarks = [f"the best of {self.restarts + 1} starts" if self.restarts else "one start"]
        if searched.size < rows.size:
            remarks[0] += f", searched on {searched.size} rows and followed on {rows.size}"
            model, converged = _maximise(model.kernel_, inputs[rows], targets[rows], 0, seed)
        if rows.size < split.train.n:
            remarks.append(f"used {rows.size} of {split.train.n} training rows")
        theta, bounds = model.kernel_.theta, model.kernel_.bounds
        if np.isclose(theta[:, None], bounds, rtol=0.0, atol=AT_BOUND).any():
            remarks.append("a kernel hyperparameter is at its bound")
        return model, FitStatus("converged" if converged else "unfinished", remarks=tuple(remarks))


def _some_rows(rows: Int[Array, " N"], count: int, generator: np.random.Generator) -> Int[Array, " M"]:
    """All rows where there are few enough, else ``count`` of them, drawn and in order."""
    return rows if rows.size <= count else np.sort(generator.choice(rows, count, replace=False))


def _kernel(columns: int, target_var: float) -> Any:
    """``a² exp(-‖x - x'‖²/2ℓ²) + σ² 1[x = x']`` at its start, with the bounds that are searched."""
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    unit = target_var or 1.0  # constant targets have no spread to measure by
    amplitude = ConstantKernel(unit, (1e-4 * unit, 1e4 * unit))
    noise = WhiteKernel(0.5 * unit, (1e-6 * unit, 4.0 * unit))
    return amplitude * RBF(columns**0.5, (1e-2, 1e3)) + noise


def _maximise(
    kernel: Any, inputs: Float[Array, "N D"], targets: Float[Array, " N"], restarts: int, seed: int
) -> tuple[Any, bool]:
    """The process of the highest likelihood found, and whether its optimiser converged."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor

    likelihood = NegativeLogLikelihood(inputs, targets)
    ends: list[optimize.OptimizeResult] = []

    def optimiser(_theirs: Any, start: Array, bounds: Array) -> tuple[Array, float]:
        ends.append(optimize.minimize(likelihood, start, method="L-BFGS-B", jac=True, bounds=bounds))
        return ends[-1].x, ends[-1].fun

    options: dict[str, Any] = {"optimizer": optimiser, "n_restarts_optimizer": restarts, "random_state": seed}
    model = GaussianProcessRegressor(kernel, alpha=0.0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of values at a bound, which the status says
        model.fit(inputs, targets)
    model.set_params(optimizer=None)  # it holds all distances, and no function within a function can be pickled
    return model, bool(min(ends, key=lambda end: end.fun).success)
