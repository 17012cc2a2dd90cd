"""What every score rule must satisfy; run over the whole registry."""

from collections.abc import Callable

import numpy as np

from corners.comparison.scores import Score, ScoreRule
from corners.predictive._base import Predictive
from corners.predictive.categorical import CategoricalPredictive
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.mixture import MixturePredictive
from tests.support.forecasts import PoissonPredictive, softmax

Forecast = tuple[Predictive | CategoricalPredictive, np.ndarray]
STANDARD_ERRORS = 5.0


def gaussian_forecast(count: int, seed: int, *, scale: float = 1.0, order: np.ndarray | None = None) -> Forecast:
    """Heteroscedastic Gaussian predictives, somewhat too narrow, and targets; the same numbers for the same seed."""
    generator = np.random.default_rng(seed)
    mean, variance = generator.normal(2.0, 3.0, count), generator.uniform(0.2, 2.0, count)
    targets = mean + 1.4 * np.sqrt(variance) * generator.standard_normal(count)
    order = np.arange(count) if order is None else order
    mean, variance, targets = scale * mean[order], scale**2 * variance[order], scale * targets[order]
    return GaussianPredictive(mean, variance), targets


def mixture_forecast(count: int, seed: int, *, scale: float = 1.0, order: np.ndarray | None = None) -> Forecast:
    """Skewed mixtures of three Gaussians and targets far too dispersed for them."""
    generator = np.random.default_rng(seed)
    means, variances = generator.exponential(2.0, (3, count)), generator.uniform(0.2, 2.0, (3, count))
    targets = generator.normal(2.0, 5.0, count)
    order = np.arange(count) if order is None else order
    return MixturePredictive(scale * means[:, order], scale**2 * variances[:, order]), scale * targets[order]


def class_forecast(
    count: int, seed: int, *, classes: int = 3, sureness: float = 3.0, order: np.ndarray | None = None
) -> Forecast:
    """Class probabilities, over-confident where ``sureness`` is above 1, and labels."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(0.0, 1.5, (count, classes))
    labels = (generator.random((count, 1)) > softmax(logits).cumsum(axis=1)).sum(axis=1).astype(float)
    order = np.arange(count) if order is None else order
    return CategoricalPredictive(softmax(sureness * logits)[order]), labels[order]


def two_class_forecast(count: int, seed: int, *, sureness: float = 3.0, order: np.ndarray | None = None) -> Forecast:
    """The same with two classes."""
    return class_forecast(count, seed, classes=2, sureness=sureness, order=order)


def count_forecast(count: int, seed: int, *, factor: float = 1.6, order: np.ndarray | None = None) -> Forecast:
    """Poisson predictives with rates wrong by ``factor``, and counts."""
    generator = np.random.default_rng(seed)
    rates = generator.lognormal(1.0, 0.8, count)
    targets = generator.poisson(rates).astype(float)
    order = np.arange(count) if order is None else order
    return PoissonPredictive(factor * rates[order]), targets[order]


FORECASTS: dict[str, Callable[..., Forecast]] = {
    "gaussian": gaussian_forecast,
    "mixture": mixture_forecast,
    "classes": class_forecast,
    "two classes": two_class_forecast,
    "counts": count_forecast,
}
TASKS = {
    "gaussian": "regression",
    "mixture": "regression",
    "classes": "classification",
    "two classes": "classification",
    "counts": "count",
}


def takes(rule: ScoreRule, forecast: str) -> bool:
    """Whether a rule scores a forecast of ``FORECASTS``."""
    return TASKS[forecast] in rule.tasks and (forecast, type(rule).__name__) != ("classes", "BrierBinary")


def randomises(rule: ScoreRule, forecast: str) -> bool:
    """Whether the score depends on random numbers that belong to the rows: of counts, with a seed."""
    return TASKS[forecast] == "count" and hasattr(rule, "seed")


def check_promises(rule: ScoreRule, name: str, forecast: Callable[..., Forecast]) -> None:
    """One finite value a point, the registry's name, a direction with its nominal value where it needs one."""
    score = rule(*forecast(40, 1))
    assert score.name == name
    assert score.pointwise.shape == (40,) and score.n == 40
    assert score.pointwise.dtype == np.float64 and np.isfinite(score.pointwise).all()
    assert np.isfinite(score.mean) and score.se > 0.0
    assert (score.nominal is not None) == (score.direction == "nominal")
    assert name in str(score) and score.unit in str(score)
    (row,) = score.records()
    assert row["score"] == name and row["mean"] == score.mean and row["se"] == score.se


def check_permutation(rule: ScoreRule, forecast: Callable[..., Forecast]) -> None:
    """The order of the data points permutes the per-point values and changes nothing else."""
    order = np.random.default_rng(7).permutation(60)
    straight, permuted = rule(*forecast(60, 2)), rule(*forecast(60, 2, order=order))
    np.testing.assert_allclose(permuted.pointwise, straight.pointwise[order], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose([permuted.mean, permuted.se], [straight.mean, straight.se], rtol=1e-11)


def check_units(rule: ScoreRule, forecast: Callable[..., Forecast], factor: float = 64.0) -> None:
    """Targets in another unit: nats shift by ``log factor``, target units scale, fractions and ratios stay."""
    small, large = rule(*forecast(60, 3)), rule(*forecast(60, 3, scale=factor))
    shift = np.log(factor) if small.unit == "nats per observation" else 0.0
    scale = factor if small.unit == "target units" else 1.0
    np.testing.assert_allclose(large.mean, scale * small.mean + shift, rtol=1e-9)
    np.testing.assert_allclose(large.se, scale * small.se, rtol=1e-9)


def check_standard_error(rule: ScoreRule, forecast: Callable[..., Forecast]) -> None:
    """The standard error agrees with the leave-one-out jackknife of the whole score."""
    count = 600
    score, rows = rule(*forecast(count, 4)), np.arange(count)
    replicates = np.array([rule(*forecast(count, 4, order=np.delete(rows, n))).mean for n in rows])
    jackknife = np.sqrt((count - 1) * replicates.var())
    np.testing.assert_allclose(score.se, jackknife, rtol=0.03)


def check_standard_error_shrinks(rule: ScoreRule, forecast: Callable[..., Forecast]) -> None:
    """Every point twice: the same score, and the error of ``n`` independent points divided by about √2."""
    predictive, targets = forecast(100, 5)
    twice = forecast(100, 5, order=np.tile(np.arange(100), 2))
    once, doubled = rule(predictive, targets), rule(*twice)
    np.testing.assert_allclose(doubled.mean, once.mean, rtol=1e-12)
    np.testing.assert_allclose(doubled.se, once.se * np.sqrt(99.0 / 199.0), rtol=1e-12)


def check_the_truth_wins(rule: ScoreRule, forecast: str) -> None:
    """A rule that is better low scores the true predictive below wrong ones, by five paired standard errors.

    Sharpness is excepted by its own words: it is better low only at equal calibration.
    """
    truth, targets = true_forecast(forecast=forecast)
    right = rule(truth, targets)
    for wrong in wrong_forecasts(forecast):
        other = rule(wrong, targets)
        error = np.std(other.slope * other.pointwise - right.slope * right.pointwise) / np.sqrt(right.n)
        assert other.mean - right.mean > STANDARD_ERRORS * error


def check_nominal_is_the_truths_value(score: Score) -> None:
    """A rule with a nominal value reaches it, within five standard errors, if the predictive is the truth."""
    assert score.nominal is not None
    assert abs(score.mean - score.nominal) < STANDARD_ERRORS * score.se


def true_forecast(count: int = 4000, seed: int = 8, forecast: str = "gaussian") -> Forecast:
    """Predictives that are exactly the targets' own distributions."""
    if TASKS[forecast] == "count":
        return count_forecast(count, seed, factor=1.0)
    if TASKS[forecast] == "classification":
        return class_forecast(count, seed, classes=2 if forecast == "two classes" else 3, sureness=1.0)
    generator = np.random.default_rng(seed)
    mean, variance = generator.normal(0.0, 3.0, count), generator.uniform(0.2, 2.0, count)
    return GaussianPredictive(mean, variance), mean + np.sqrt(variance) * generator.standard_normal(count)


def wrong_forecasts(forecast: str) -> list[Predictive | CategoricalPredictive]:
    """Wrong predictives of the same targets: shifted, or too sure and not sure enough of their classes."""
    truth, _ = true_forecast(forecast=forecast)
    if TASKS[forecast] == "count":
        return [count_forecast(4000, 8, factor=factor)[0] for factor in (0.7, 1.5)]
    if isinstance(truth, CategoricalPredictive):
        return [CategoricalPredictive(softmax(sureness * truth.log_probabilities)) for sureness in (2.5, 0.4)]
    shifted = truth.mean + 1.0
    return [GaussianPredictive(shifted, truth.variance), GaussianPredictive(shifted, 4.0 * truth.variance)]
