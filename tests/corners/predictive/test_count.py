"""The count predictive: golden values, laws of a discrete distribution, both rules of its distribution function."""

import numpy as np
import pytest
import torch
from scipy import special, stats

from corners.beliefs import Marginals
from corners.errors import DataError, SpecError
from corners.likelihoods.negative_binomial import NegativeBinomial
from corners.likelihoods.poisson import Poisson
from corners.predictive.count import CountPredictive
from tests.support.golden import as_array, assert_golden, golden_cases

pytestmark = pytest.mark.unchecked

MEANS = np.array([-1.0, 0.4, 1.5, 3.0])
VARIANCES = np.array([0.3, 0.0, 0.8, 1.9])
DRAWS = 60_000


def predictive(size: float, means: np.ndarray = MEANS, variances: np.ndarray = VARIANCES) -> CountPredictive:
    at = Marginals(torch.tensor(means), torch.tensor(variances))
    if np.isinf(size):
        return Poisson(nodes=64).predictive({}, at, 0.0, 1.0)
    return NegativeBinomial(nodes=64).predictive({"log_size": torch.tensor(np.log(size))}, at, 0.0, 1.0)


@pytest.fixture(params=[np.inf, 0.4, 3.0])
def counts(request) -> CountPredictive:
    return predictive(request.param)


@pytest.mark.parametrize("case", golden_cases("head_predictives", "pred_poisson"))
def test_golden_poisson(case):
    inputs, expected = case["inputs"], case["expected"]
    own = predictive(np.inf, as_array([inputs["mean"]]), as_array([inputs["var"]]))
    assert_golden("head_predictives", own.mean, [expected["pred_mean"]])
    assert_golden("head_predictives", own.variance, [expected["pred_var"]])
    assert [int(own.quantile(level)[0]) for level in inputs["quantile_levels"]] == expected["quantiles"]
    assert_golden("head_predictives", [own.cdf(as_array([k]))[0] for k in inputs["cdf_at"]], expected["cdf"])


@pytest.mark.parametrize("case", golden_cases("head_predictives", "pred_negbin"))
def test_golden_negative_binomial(case):
    inputs, expected = case["inputs"], case["expected"]
    size = inputs["head_params"]["r"]
    own = predictive(size, as_array([inputs["mean"]]), as_array([inputs["var"]]))
    assert_golden("head_predictives", own.mean, [expected["pred_mean"]])
    assert_golden("head_predictives", own.variance, [expected["pred_var"]])


def test_probabilities_add_up_to_the_distribution_function(counts):
    """Two computations: the likelihood's quadrature, summed, and the trapezoid rule of the distribution function."""
    total = np.zeros(MEANS.size)
    for k in range(60):
        at = np.full(MEANS.size, float(k))
        total += np.exp(counts.log_prob(at))
        np.testing.assert_allclose(counts.cdf(at), total, rtol=0, atol=1e-8)


@pytest.mark.parametrize("size", [np.inf, 0.3, 3.0, 50.0])
@pytest.mark.parametrize("variance", [0.0, 1e-12, 0.3, 1.7, 6.0, 100.0])
def test_the_distribution_function_is_its_integral(size, variance):
    """Either side of where the two rules meet, for small counts and large ones, to 1e-12."""
    grid = np.linspace(-12.0, 12.0, 24_001)
    weights = np.exp(-0.5 * grid**2)
    for mean in (-8.0, 0.5, 3.0, 7.0):
        f = mean + np.sqrt(variance) * grid
        for count in (0.0, 1.0, 3.0, 20.0, 500.0):
            if np.isinf(size):
                given = special.gammaincc(count + 1.0, np.exp(f))
            else:
                given = stats.nbinom.cdf(count, size, special.expit(np.log(size) - f))
            expected = (weights * given).sum() / weights.sum()
            actual = CountPredictive(np.array([mean]), np.array([variance]), np.zeros_like, size).cdf(np.array([count]))
            np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-12)


def test_at_a_point_it_is_scipys(counts):
    rates = np.exp(MEANS)
    own = predictive(counts.size, MEANS, np.zeros(4))
    r = counts.size
    truth = stats.poisson(rates) if np.isinf(r) else stats.nbinom(r, r / (r + rates))
    k = np.array([0.0, 3.0, 1.0, 30.0])
    np.testing.assert_allclose(own.cdf(k), truth.cdf(k), rtol=1e-12)
    np.testing.assert_allclose(own.log_prob(k), truth.logpmf(k), rtol=1e-10)
    np.testing.assert_allclose(own.variance, truth.var(), rtol=1e-12)
    for level in (0.01, 0.4, 0.9, 0.999):
        np.testing.assert_array_equal(own.quantile(level), truth.ppf(level))


@pytest.mark.parametrize("level", [1e-6, 0.05, 0.25, 0.5, 0.75, 0.95, 1 - 1e-6])
def test_a_quantile_is_the_smallest_count_that_reaches_its_level(counts, level):
    quantile = counts.quantile(level)
    assert (quantile == np.floor(quantile)).all() and (quantile >= 0.0).all()
    assert (counts.cdf(quantile) >= level).all()
    assert (counts.cdf(quantile - 1.0) < level).all()


def test_the_distribution_function_is_a_step_function(counts):
    np.testing.assert_array_equal(counts.cdf(np.full(4, 2.0)), counts.cdf(np.full(4, 2.999)))
    np.testing.assert_array_equal(counts.cdf(np.full(4, -0.5)), 0.0)
    np.testing.assert_array_equal(counts.median, counts.quantile(0.5))


def test_moments_against_samples(counts):
    draws = counts.sample(DRAWS, np.random.default_rng(1))
    assert draws.shape == (DRAWS, 4) and (draws == np.floor(draws)).all()
    error = draws.std(axis=0) / np.sqrt(DRAWS)
    assert (np.abs(draws.mean(axis=0) - counts.mean) < 5.0 * error).all()
    for level in (0.2, 0.8):
        quantile = counts.quantile(level)
        share, expected = (draws <= quantile).mean(axis=0), counts.cdf(quantile)
        assert (np.abs(share - expected) < 5.0 * np.sqrt(expected * (1.0 - expected) / DRAWS) + 1e-12).all()


def test_moments_are_the_sums(counts):
    own = predictive(counts.size, MEANS[:3] - 1.0, np.array([0.3, 0.0, 0.1]))
    k = np.arange(800.0)
    p = np.exp([own.log_prob(np.full(3, each)) for each in k])
    mean = k @ p
    np.testing.assert_allclose(own.mean, mean, rtol=1e-7)
    np.testing.assert_allclose(own.variance, (k**2) @ p - mean**2, rtol=1e-6)


@pytest.mark.parametrize("targets", [np.zeros(4), np.array([5.0, 0.0, 40.0, 3.0])])
def test_crps_is_its_sum(counts, targets):
    own, total = predictive(counts.size, MEANS - 0.5, np.array([0.3, 0.0, 0.4, 0.2])), 0.0
    for k in range(2500):
        total = total + (own.cdf(np.full(4, float(k))) - (targets <= k)) ** 2
    assert (1.0 - own.cdf(np.full(4, 2499.0)) < 1e-6).all()
    np.testing.assert_allclose(own.crps(targets), total, rtol=2e-7)


def test_crps_of_large_counts_is_the_log_normals():
    """At a mean of e²⁰ a count is as good as continuous: CRPS of the log-normal, in closed form."""
    m, v, y = 20.0, 0.3, 6e8
    own = predictive(np.inf, np.array([m]), np.array([v]))
    z, s = (np.log(y) - m) / np.sqrt(v), np.sqrt(v)
    expected = y * (2.0 * special.ndtr(z) - 1.0) - 2.0 * np.exp(m + 0.5 * v) * (
        special.ndtr(z - s) + special.ndtr(s / np.sqrt(2.0)) - 1.0
    )
    np.testing.assert_allclose(own.crps(np.array([y])), expected, rtol=1e-6)


@pytest.mark.parametrize(("mean", "variance"), [(1e4, 1e-12), (1e4, 100.0), (-1e4, 1.0), (0.0, 100.0), (12.0, 0.2)])
def test_extremes_are_numbers_or_honest_infinities(mean, variance):
    own = CountPredictive(np.array([mean]), np.array([variance]), np.zeros_like)
    values = (
        own.mean,
        own.variance,
        own.median,
        own.quantile(0.99),
        own.cdf(np.array([5.0])),
        own.crps(np.array([3.0])),
    )
    assert not any(np.isnan(each).any() for each in values)
    assert np.isinf(own.mean).all() == (mean + 0.5 * variance > 709.8)


@pytest.mark.parametrize("wrong", [-1.0, 0.5, np.nan])
def test_log_prob_of_no_count_is_refused(counts, wrong):
    with pytest.raises(DataError, match=r"counts must be whole numbers .* 1 of 4 .*point 2"):
        counts.log_prob(np.array([0.0, 1.0, wrong, 2.0]))


def test_bad_moments_and_sizes_are_refused():
    with pytest.raises(DataError, match=r"variances finite and not negative; 1 of 2 .*point 1"):
        CountPredictive(np.zeros(2), np.array([0.0, -1.0]), np.zeros_like)
    with pytest.raises(SpecError, match="size must be positive"):
        CountPredictive(np.zeros(1), np.zeros(1), np.zeros_like, 0.0)
    with pytest.raises(SpecError, match="strictly between 0 and 1"):
        CountPredictive(np.zeros(1), np.zeros(1), np.zeros_like).quantile(1.0)
