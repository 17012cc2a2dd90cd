"""What the figures show, as plain arrays: slices, bands, calibration, marginals and training curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from corners.comparison.scores._central import LEVELS, inside_central, randomised_transform
from corners.method import Fit
from corners.predictive._base import Predictive
from corners.types import Array, Float

if TYPE_CHECKING:
    from corners.data.split import Split

GRID_POINTS = 160
GRID_MARGIN = 0.05
CURVE_POINTS = 300
OUTER_LEVEL, INNER_LEVEL = 0.95, 0.5


@dataclass(frozen=True)
class Slice:
    """One line through the input space: column ``column`` moves, every other input stays at its training median."""

    column: int
    label: str
    correlation: float
    whole: bool
    inputs: Float[Array, "G D"]
    shown_inputs: Float[Array, " N"]
    shown_targets: Float[Array, " N"]

    @property
    def grid(self) -> Float[Array, " G"]:
        """Values of the moving input."""
        return self.inputs[:, self.column]

    @property
    def sentence(self) -> str:
        """Which slice it is, for a caption."""
        if self.whole:
            return f"The data have one input, {self.label}; the points are the test part."
        return (
            f"Slice along {self.label}, the input most correlated with the target (r = {self.correlation:.2f}), "
            "every other input at its training median. The points are the test part, whose other inputs are not "
            "at their medians, so their scatter is wider than the bands need to cover."
        )


def slice_inputs(split: "Split", points: int = GRID_POINTS) -> Slice:
    """The slice along the input most correlated with the target on the training part, through the median point.

    Constant inputs count as uncorrelated; of equal correlations the first column is taken.
    """
    train, test = split.train, split.test
    correlations = _correlations(train.inputs, train.targets)
    column = int(np.argmax(np.abs(correlations)))
    low, high = train.inputs[:, column].min(), train.inputs[:, column].max()
    margin = GRID_MARGIN * (high - low)
    inputs = np.tile(np.median(train.inputs, axis=0), (points, 1))
    inputs[:, column] = np.linspace(low - margin, high + margin, points)
    return Slice(
        column=column,
        label=str(split.feature_names[column]),
        correlation=float(correlations[column]),
        whole=train.inputs.shape[1] == 1,
        inputs=inputs,
        shown_inputs=test.inputs[:, column],
        shown_targets=test.targets,
    )


def _correlations(inputs: Float[Array, "N D"], targets: Float[Array, " N"]) -> Float[Array, " D"]:
    centred, centred_targets = inputs - inputs.mean(axis=0), targets - targets.mean()
    scale = np.linalg.norm(centred, axis=0) * np.linalg.norm(centred_targets)
    product = centred.T @ centred_targets
    return np.divide(product, scale, out=np.zeros_like(product), where=scale > 0.0)


@dataclass(frozen=True)
class Bands:
    """Predictive mean with the central 50 % and 95 % intervals along a slice."""

    mean: Float[Array, " G"]
    outer: tuple[Float[Array, " G"], Float[Array, " G"]]
    inner: tuple[Float[Array, " G"], Float[Array, " G"]]


def predictive_bands(predictive: Predictive) -> Bands:
    """Central intervals by the predictive's own quantiles."""
    return Bands(predictive.mean, _central(predictive, OUTER_LEVEL), _central(predictive, INNER_LEVEL))


def _central(predictive: Predictive, level: float) -> tuple[Array, Array]:
    return predictive.quantile(0.5 * (1.0 - level)), predictive.quantile(0.5 * (1.0 + level))


@dataclass(frozen=True)
class Calibration:
    """Probability integral transforms of one method, seeds pooled, and what central intervals of ``LEVELS`` covered.

    ``points`` is the number of test points of one seed: test parts of different seeds overlap, so the pooled points
    are not independent and the bands are drawn for one seed.
    """

    pit: Float[Array, " N"]
    coverage: Float[Array, " L"]
    points: int

    def coverage_band(self, confidence: float = 0.95) -> tuple[Float[Array, " L"], Float[Array, " L"]]:
        """Binomial range of one seed's coverage at each level if the predictive were right."""
        low, high = stats.binom.interval(confidence, self.points, LEVELS)
        return low / self.points, high / self.points

    def histogram_band(self, bins: int, confidence: float = 0.95) -> tuple[float, float]:
        """Binomial range of one seed's histogram density in each of ``bins`` equal bins."""
        low, high = stats.binom.interval(confidence, self.points, 1.0 / bins)
        return float(low) * bins / self.points, float(high) * bins / self.points


def calibration(fit: Fit, splits: "Sequence[Split]", replicates: Sequence[int]) -> Calibration:
    """Pool the given replicates of a fit, at least one, over their own test parts."""
    targets = [splits[k].test.targets for k in replicates]
    predictives = [fit.predict(splits[k].test.inputs, replicate=k) for k in replicates]
    pairs = list(zip(predictives, targets, strict=True))
    inside = np.concatenate([inside_central(predictive, y, LEVELS) for predictive, y in pairs], axis=1)
    pit = np.concatenate([transform(predictive, y) for predictive, y in pairs])
    return Calibration(pit, inside.mean(axis=1), min(y.size for y in targets))


def transform(predictive: Predictive, targets: Float[Array, " N"]) -> Float[Array, " N"]:
    """The PIT, uniform if the predictive is right; of counts the randomised one, with seed 0 as the scores have it."""
    return randomised_transform(predictive, targets, seed=0) if predictive.task == "count" else predictive.cdf(targets)


@dataclass(frozen=True)
class Marginal:
    """One weight: the sampler's draws and the belief's Gaussian."""

    weight: int
    draws: Float[Array, " S"]
    mean: float
    scale: float


def marginals(draws: Float[Array, "S H"], mean: Float[Array, " H"], variance: Float[Array, " H"], count: int = 3):
    """The ``count`` weights whose draws lie farthest from zero in their own standard deviations, ``|mean|/sd``."""
    spread = np.maximum(draws.std(axis=0), np.finfo(float).tiny)
    chosen = np.argsort(-np.abs(draws.mean(axis=0)) / spread, kind="stable")[:count]
    return [Marginal(int(d), draws[:, d], float(mean[d]), float(np.sqrt(max(variance[d], 0.0)))) for d in chosen]


@dataclass(frozen=True)
class TrainingCurve:
    """Validation NLL of one replicate, thinned for drawing, and the step whose state was kept."""

    steps: Float[Array, " T"]
    values: Float[Array, " T"]
    selected_step: float
    selected_value: float


def training_curves(fit: Fit) -> list[TrainingCurve]:
    """One curve a replicate that recorded a validation NLL; the kept step is the lowest one (theory 11)."""
    recorded = fit.trace.values.get("validation_nll")
    if recorded is None:
        return []
    return [_curve(np.asarray(fit.trace.steps), row) for row in np.asarray(recorded) if np.isfinite(row).any()]


def _curve(steps: Float[Array, " T"], values: Float[Array, " T"]) -> TrainingCurve:
    finite = np.isfinite(values)
    steps, values = steps[finite], values[finite]
    best = int(np.argmin(values))
    thin = np.unique(np.linspace(0, len(steps) - 1, min(CURVE_POINTS, len(steps))).round().astype(int))
    return TrainingCurve(steps[thin], values[thin], float(steps[best]), float(values[best]))
