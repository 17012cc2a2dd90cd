import mpmath
import numpy as np
import pytest
from scipy import stats

from inference.errors import SpecError
from inference.truth import Gamma, NegativeBinomial, Normal, Poisson, sample_last_layer
from inference.truth.head_problem import head_problem
from tests.inference.truth.heads.conftest import SETTINGS
from tests.inference.truth.heads.grids import grid, weight_prior
from tests.inference.truth.heads.judging import (
    assert_coordinate,
    assert_log_joint_is_dense,
    assert_posterior,
    compiled,
)

pytestmark = pytest.mark.unchecked

PRECISION = 0.6
FREE = NegativeBinomial(size=Gamma(3.0, 1.5))


def exact(y, f, r):
    with mpmath.workdps(60):
        y, f, r = mpmath.mpf(y), mpmath.mpf(f), mpmath.mpf(r)
        coefficient = mpmath.loggamma(y + r) - mpmath.loggamma(r) - mpmath.loggamma(y + 1)
        return float(coefficient + y * f + r * mpmath.log(r) - (y + r) * mpmath.log(r + mpmath.exp(f)))


@pytest.fixture(scope="module")
def data(features, latent):
    size = 2.0
    return features, np.random.default_rng(6).negative_binomial(size, size / (size + np.exp(latent))).astype(float)


def log_data(features, counts, size=None):
    def at(points):
        rates = np.exp(points[:, :2] @ features.T)
        r = np.exp(points[:, 2, None]) if size is None else size
        return stats.nbinom.logpmf(counts, r, r / (r + rates))

    return at


def free_prior(at):
    return weight_prior(PRECISION)(at) + stats.gamma.logpdf(np.exp(at[:, 2]), 3.0, scale=1.0 / 1.5) + at[:, 2]


def test_both_formulas_are_exact_from_small_sizes_to_nearly_poisson():
    graph = compiled(NegativeBinomial, {"size": 1.0})
    counts, latent = (each.ravel() for each in np.meshgrid([0.0, 1.0, 7.0, 1000.0], [-20.0, -3.0, 0.0, 6.9, 20.0]))
    base = np.array([NegativeBinomial().log_base(counts[i : i + 1]) for i in range(counts.size)])
    for size in (1e-3, 0.7, 31.999, 32.001, 1e3, 2e4, 1e8):
        expected = np.array([exact(y, f, size) for y, f in zip(counts, latent, strict=True)])
        found = NegativeBinomial.log_prob(counts, latent[None], {"size": size})[0]
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
        value, slope = graph(counts, latent, [size])
        np.testing.assert_allclose(value + base, expected, rtol=1e-11, atol=1e-11)
        expected_slope = (counts - np.exp(latent)) / (1.0 + np.exp(latent) / size)
        np.testing.assert_allclose(slope, expected_slope, rtol=1e-10, atol=1e-9 * (1.0 + counts.max()))


def test_a_large_size_is_the_poisson():
    counts, latent = np.array([0.0, 3.0, 9.0]), np.array([[0.2, 1.0, 2.0]])
    found = NegativeBinomial.log_prob(counts, latent, {"size": 1e10})
    np.testing.assert_allclose(found, Poisson.log_prob(counts, latent, {}), rtol=1e-7)


@pytest.mark.parametrize("free", [True, False])
def test_the_log_density_is_the_dense_one(data, generator, free):
    problem = head_problem(*data, FREE if free else NegativeBinomial(1.7), prior_precision=PRECISION)
    dense, prior = (log_data(*data), free_prior) if free else (log_data(*data, 1.7), weight_prior(PRECISION))
    assert_log_joint_is_dense(problem, dense, prior, generator)


def test_draws_with_the_size_sampled_agree_with_the_grid(data):
    run = sample_last_layer(*data, likelihood=FREE, prior_precision=PRECISION, **SETTINGS)
    reference = grid(log_data(*data), free_prior, np.zeros(3), 41, 10.0)
    assert_posterior(run, reference)
    assert_coordinate(run, "log_size", reference.mean[2], np.sqrt(reference.cov[2, 2]))


def test_draws_with_the_size_fixed_agree_with_the_grid(data):
    run = sample_last_layer(*data, likelihood=NegativeBinomial(1.7), prior_precision=PRECISION, **SETTINGS)
    assert_posterior(run, grid(log_data(*data, 1.7), weight_prior(PRECISION), np.zeros(2)))


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (0.0, "size must be finite and positive but got 0.0"),
        (Normal(0.0, 1.0), "size takes a density on the positive numbers"),
    ],
)
def test_wrong_sizes_are_named(size, message):
    with pytest.raises(SpecError, match=message):
        NegativeBinomial(size)
