"""The mixture of counts: probabilities that add up, moments, quantiles, CRPS by its sum, degenerate mixtures."""

import numpy as np
import pytest
from scipy import stats

from corners.errors import DataError
from corners.predictive.count_mixture import CountMixturePredictive, _panels

GENERATOR = np.random.default_rng(4)
LOG_RATES = GENERATOR.normal(size=(20, 3)) + np.array([-1.0, 1.0, 3.0])
SIZES = GENERATOR.uniform(1.0, 4.0, size=20)
COUNTS = np.arange(3000.0)


@pytest.fixture(params=[None, SIZES], ids=["poisson", "negative_binomial"])
def predictive(request) -> CountMixturePredictive:
    return CountMixturePredictive(LOG_RATES, request.param)


def probabilities(predictive: CountMixturePredictive) -> np.ndarray:
    """(K, 3) from scipy's own distributions."""
    rates = np.exp(LOG_RATES)
    if predictive.sizes is None:
        return np.stack([stats.poisson.pmf(k, rates).mean(axis=0) for k in COUNTS])
    size = predictive.sizes[:, None]
    return np.stack([stats.nbinom.pmf(k, size, size / (size + rates)).mean(axis=0) for k in COUNTS])


def test_log_prob_cdf_and_moments_are_those_of_the_summed_probabilities(predictive):
    pmf = probabilities(predictive)
    for k in (0, 1, 7, 60):
        at = np.full(3, float(k))
        np.testing.assert_allclose(np.exp(predictive.log_prob(at)), pmf[k], rtol=1e-9)
        np.testing.assert_allclose(predictive.cdf(at + 0.4), pmf[: k + 1].sum(axis=0), rtol=1e-11)
    mean = COUNTS @ pmf
    np.testing.assert_allclose(predictive.mean, mean, rtol=1e-8)
    np.testing.assert_allclose(predictive.variance, (COUNTS**2) @ pmf - mean**2, rtol=1e-6)
    assert (predictive.cdf(np.full(3, -0.5)) == 0.0).all()


@pytest.mark.parametrize("level", [1e-6, 0.1, 0.5, 0.975, 1 - 1e-6])
def test_quantiles_are_the_smallest_counts_that_reach_the_level(predictive, level):
    found = predictive.quantile(level)
    assert (predictive.cdf(found) >= level).all()
    assert ((found == 0.0) | (predictive.cdf(found - 1.0) < level)).all()


def test_crps_is_the_sum_over_counts(predictive):
    below = probabilities(predictive).cumsum(axis=0)
    for targets in (np.array([0.0, 9.0, 40.0]), np.array([-2.0, 0.0, 400.0])):
        expected = [((below[:, n] - (y <= COUNTS)) ** 2).sum() + max(-y, 0.0) for n, y in enumerate(targets)]
        np.testing.assert_allclose(predictive.crps(targets), expected, rtol=1e-9, atol=1e-11)


def test_large_rates_are_summed_by_panels():
    """A negative binomial of size 1 and mean λ is geometric: CRPS at 0 is ``Σ (1-F)² = q²/(1 - q²)``, q = λ/(1 + λ)."""
    rate = 2e5
    predictive = CountMixturePredictive(np.log([[rate], [rate]]), np.ones(2))
    q = rate / (1.0 + rate)
    np.testing.assert_allclose(predictive.crps(np.zeros(1)), q**2 / (1.0 - q**2), rtol=1e-7)
    geometric = _panels(lambda k: np.exp(-k / 500.0), np.array([2048.0]), np.array([9000.0]))
    np.testing.assert_allclose(geometric, np.exp(-np.arange(2048, 9000) / 500.0).sum(), rtol=1e-9)


def test_samples_have_the_moments(predictive):
    draws = predictive.sample(40_000, np.random.default_rng(5))
    for values, expected in ((draws, predictive.mean), ((draws - predictive.mean) ** 2, predictive.variance)):
        error = values.std(axis=0, ddof=1) / np.sqrt(len(draws))
        assert (np.abs(values.mean(axis=0) - expected) < 5.0 * error).all()


@pytest.mark.parametrize(
    ("log_rates", "sizes", "message"),
    [
        (np.array([[np.nan]]), None, "log rates must have shape"),
        (np.array([[701.0]]), None, "at most 700"),
        (np.zeros((0, 3)), None, "log rates must have shape"),
        (np.zeros((1, 1)), np.array([0.0]), "sizes must be positive"),
    ],
)
def test_draws_that_are_no_counts_are_refused(log_rates, sizes, message):
    with pytest.raises(DataError, match=message):
        CountMixturePredictive(log_rates, sizes)


def test_a_target_that_is_no_count_is_refused(predictive):
    with pytest.raises(DataError, match=r"1 of 3 are not .first at point 1: 0.5"):
        predictive.log_prob(np.array([1.0, 0.5, 2.0]))
