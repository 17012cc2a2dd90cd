"""Poisson regression on the inputs by scikit-learn; its penalty is chosen by validation NLL."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from jaxtyping import Float

from corners.backbones._base import Backbone
from corners.baselines._tasks import require_task
from corners.beliefs import Marginals
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.likelihoods.poisson import Poisson
from corners.method import METHODS, Fit, FitStatus, LastLayer, Method, Trace, require_one_seed_a_split
from corners.optimise import Watcher
from corners.predictive.count import CountPredictive
from corners.protocols import Protocol, require_grid
from corners.selection import NOT_FINITE, best_candidate, choice_remarks
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

GRID = tuple(float(f"{value:.12g}") for value in np.logspace(-2.0, 7.0, 10))
"""Ten penalties from 0.01 to 1e7: a count of a thousand says as much of its rate as a thousand counts of one."""
STEPS = 1000


@dataclass(frozen=True)
class PoissonLine:
    """``log E[y] = wᵀx + b`` on standardised inputs, at one penalty."""

    standardiser: Standardiser
    weights: Float[Array, " D"]
    intercept: float
    penalty: float
    converged: bool

    def predictive(self, inputs: Float[Array, "..."]) -> CountPredictive:
        """Poisson counts without latent variance."""
        latent = torch.tensor(self.standardiser.inputs(inputs) @ self.weights + self.intercept)
        return Poisson().predictive({}, Marginals(latent, torch.zeros_like(latent)), 0.0, 1.0)

    def validation_nll(self, split: "Split") -> float:
        """Mean NLL of the validation part; infinite where rates are."""
        latent = self.standardiser.inputs(split.validation.inputs) @ self.weights + self.intercept
        if not np.isfinite(latent).all():
            return float("inf")
        return -float(np.mean(self.predictive(split.validation.inputs).log_prob(split.validation.targets)))


@dataclass(frozen=True)
class PoissonGlmFit(Fit):
    """Fit of :class:`PoissonGlm`: a point, hence no belief to compare with a posterior."""

    method: str
    seeds: tuple[int, ...]
    statuses: tuple[FitStatus, ...]
    lines: tuple[PoissonLine | None, ...]
    validation_nlls: tuple[float, ...]
    trace: Trace
    seconds: float

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> CountPredictive:
        """``Poisson(exp(wᵀx + b))``."""
        return self._usable(replicate).predictive(inputs)

    def features(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> Float[Array, "N H"]:
        """The standardised inputs."""
        return self._usable(replicate).standardiser.inputs(inputs)

    def last_layer(self, replicate: int, split: "Split") -> LastLayer | None:
        """None: a point estimate is no belief."""
        return None

    def learned(self, replicate: int) -> dict[str, float]:
        """``penalty``, ``base_rate`` (``e^b``, the rate at the mean input) and ``validation_nll``."""
        line = self.lines[replicate]
        if line is None:
            return {}
        rate = float(np.exp(line.intercept))
        return {"penalty": line.penalty, "base_rate": rate, "validation_nll": self.validation_nlls[replicate]}

    def _usable(self, replicate: int) -> PoissonLine:
        line, status = self.lines[replicate], self.statuses[replicate]
        if line is None or not status.usable:
            raise SpecError(f"{self.method}, seed {self.seeds[replicate]}: {status.sentence}")
        return line


@METHODS.register("poisson_glm")
@dataclass(frozen=True)
class PoissonGlm(Method):
    """``y ~ Poisson(exp(wᵀx + b))``, ``(w, b) = argmin Σ_n (e^{f_n} - y_n f_n) + ½ λ ‖w‖²``; the intercept is free.

    ``λ`` is N times what scikit-learn's ``PoissonRegressor`` calls alpha: beside a log likelihood, the precision of a
    Gaussian prior on ``w``. Inputs are standardised; seeds play no part.

    Parameters
    ----------
    penalty_grid : the λ that validation NLL chooses from.

    Reference: Nelder and Wedderburn (1972), Generalized linear models; theory 6.3.

    Example
    -------
    >>> len(PoissonGlm().penalty_grid), PoissonGlm.tasks
    (10, ('count',))
    """

    penalty_grid: tuple[float, ...] = GRID
    name: str = "poisson_glm"
    tasks: ClassVar[tuple[str, ...]] = ("count",)

    def __post_init__(self) -> None:
        require_grid("penalty_grid", self.penalty_grid)

    @classmethod
    def example(cls) -> "PoissonGlm":
        """A small member for the law suite."""
        return cls(penalty_grid=(0.1, 10.0))

    @classmethod
    def from_protocol(cls, protocol: Protocol, backbone: Backbone) -> "PoissonGlm":
        """As it is: backbone, penalties and schedules of networks play no part."""
        return cls()

    def fit(
        self,
        splits: "Sequence[Split]",
        seeds: Sequence[int],
        *,
        host: Fit | None = None,
        progress: Watcher | None = None,
    ) -> PoissonGlmFit:
        """Fit one model a split and penalty, one after another."""
        require_task(self, splits)
        require_one_seed_a_split(splits, seeds)
        started = time.perf_counter()
        found: list[tuple[PoissonLine | None, float, FitStatus]] = []
        for split in splits:
            found.append(self._fit_one(split))
            if progress is not None:
                progress(len(found), len(splits) - len(found), float("nan"))
        return PoissonGlmFit(
            method=self.name,
            seeds=tuple(seeds),
            statuses=tuple(status for *_, status in found),
            lines=tuple(line for line, *_ in found),
            validation_nlls=tuple(nll for _, nll, _ in found),
            trace=Trace(np.zeros(0)),
            seconds=time.perf_counter() - started,
        )

    def _fit_one(self, split: "Split") -> tuple[PoissonLine | None, float, FitStatus]:
        if not split.train.targets.any():
            detail = "all training counts are zero: the intercept is minus infinity; count_map keeps it finite"
            return None, float("nan"), FitStatus("failed", detail)
        standardiser = Standardiser.fit(split.train, False, codes=True)
        inputs = standardiser.inputs(split.train.inputs)
        lines = [_line(standardiser, inputs, split.train.targets, penalty) for penalty in self.penalty_grid]
        scores = np.array([line.validation_nll(split) for line in lines])
        best = best_candidate(scores)
        if best is None:
            return None, float("nan"), FitStatus("failed", NOT_FINITE)
        remarks = choice_remarks([{"penalty": penalty} for penalty in self.penalty_grid], scores, best)
        status = FitStatus("converged" if lines[best].converged else "unfinished", "Newton's method", remarks)
        return lines[best], float(scores[best]), status


def _line(
    standardiser: Standardiser, inputs: Float[Array, "N D"], counts: Float[Array, " N"], penalty: float
) -> PoissonLine:
    """scikit-learn's regressor at one penalty."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import PoissonRegressor

    model = PoissonRegressor(alpha=penalty / len(counts), solver="newton-cholesky", tol=1e-8, max_iter=STEPS)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(inputs, counts)
    converged = not any(issubclass(each.category, ConvergenceWarning) for each in said)
    return PoissonLine(standardiser, model.coef_, float(model.intercept_), penalty, converged)
