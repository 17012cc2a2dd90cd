"""What every score rule must satisfy; run over the whole registry."""

from collections.abc import Callable

import numpy as np

from corners.comparison.scores import Score, ScoreRule
from corners.predictive._base import Predictive
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.mixture import MixturePredictive

Forecast = tuple[Predictive, np.ndarray]
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


FORECASTS: dict[str, Callable[..., Forecast]] = {"gaussian": gaussian_forecast, "mixture": mixture_forecast}


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
    predictive, targets = forecast(count, 4)
    score = rule(predictive, targets)
    replicates = np.array([rule(*_without(predictive, targets, n)).mean for n in range(count)])
    jackknife = np.sqrt((count - 1) * replicates.var())
    np.testing.assert_allclose(score.se, jackknife, rtol=0.03)


def check_standard_error_shrinks(rule: ScoreRule, forecast: Callable[..., Forecast]) -> None:
    """Every point twice: the same score, and the error of ``n`` independent points divided by about √2."""
    predictive, targets = forecast(100, 5)
    twice = forecast(100, 5, order=np.tile(np.arange(100), 2))
    once, doubled = rule(predictive, targets), rule(*twice)
    np.testing.assert_allclose(doubled.mean, once.mean, rtol=1e-12)
    np.testing.assert_allclose(doubled.se, once.se * np.sqrt(99.0 / 199.0), rtol=1e-12)


def check_the_truth_wins(rule: ScoreRule) -> None:
    """A rule that is better low scores the true predictive below wrong ones, by five paired standard errors.

    Sharpness is excepted by its own words: it is better low only at equal calibration.
    """
    generator = np.random.default_rng(6)
    mean, variance = generator.normal(0.0, 3.0, 4000), generator.uniform(0.2, 2.0, 4000)
    targets = mean + np.sqrt(variance) * generator.standard_normal(4000)
    truth = rule(GaussianPredictive(mean, variance), targets)
    for wrong in (GaussianPredictive(mean + 1.0, variance), GaussianPredictive(mean + 1.0, 4.0 * variance)):
        other = rule(wrong, targets)
        error = np.std(other.slope * other.pointwise - truth.slope * truth.pointwise) / np.sqrt(4000)
        assert other.mean - truth.mean > STANDARD_ERRORS * error


def check_nominal_is_the_truths_value(score: Score) -> None:
    """A rule with a nominal value reaches it, within five standard errors, if the predictive is the truth."""
    assert score.nominal is not None
    assert abs(score.mean - score.nominal) < STANDARD_ERRORS * score.se


def true_forecast(count: int = 4000, seed: int = 8) -> Forecast:
    """Gaussian predictives that are exactly the targets' own distributions."""
    generator = np.random.default_rng(seed)
    mean, variance = generator.normal(0.0, 3.0, count), generator.uniform(0.2, 2.0, count)
    return GaussianPredictive(mean, variance), mean + np.sqrt(variance) * generator.standard_normal(count)


def _without(predictive: Predictive, targets: np.ndarray, n: int) -> Forecast:
    if isinstance(predictive, GaussianPredictive):
        return GaussianPredictive(np.delete(predictive.means, n), np.delete(predictive.variances, n)), np.delete(
            targets, n
        )
    assert isinstance(predictive, MixturePredictive)
    means, variances = np.delete(predictive.means, n, axis=1), np.delete(predictive.variances, n, axis=1)
    return MixturePredictive(means, variances), np.delete(targets, n)
