import mpmath
import numpy as np
import pytest
from scipy import special, stats

from inference.errors import DataError, SpecError
from inference.truth import Gamma, Normal, Ordinal, Probit, sample_last_layer
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

THRESHOLDS = (-0.7, 0.6)
PRECISION = 0.6
FREE = Ordinal(first_threshold=Normal(-0.5, 1.5), gaps=(Gamma(3.0, 2.0),))


def exact(latent, gap):
    """``log(Φ(gap - f) - Φ(-f))`` to 60 digits, the distance not rounded."""
    with mpmath.workdps(60):
        a, b = -mpmath.mpf(latent), mpmath.mpf(gap) - mpmath.mpf(latent)
        if a > 0:
            a, b = -b, -a
        return float(mpmath.log((mpmath.erfc(-b / mpmath.sqrt(2)) - mpmath.erfc(-a / mpmath.sqrt(2))) / 2))


@pytest.fixture(scope="module")
def data(features, latent):
    noisy = latent + np.random.default_rng(5).normal(size=15)
    return features, np.digitize(noisy, THRESHOLDS).astype(float)


def log_data(features, labels, thresholds=None):
    """Classes by differences of scipy's distribution function; sampled thresholds are columns 2 and 3 (a log gap)."""

    def at(points):
        latent = points[:, :2] @ features.T
        first = points[:, 2, None] if thresholds is None else thresholds[0]
        second = first + np.exp(points[:, 3, None]) if thresholds is None else thresholds[1]
        low, high = special.ndtr(first - latent), special.ndtr(latent - second)
        return np.log(np.select([labels == 0.0, labels == 2.0], [low, high], special.ndtr(second - latent) - low))

    return at


def free_prior(at):
    thresholds = stats.norm.logpdf(at[:, 2], -0.5, 1.5) + stats.gamma.logpdf(np.exp(at[:, 3]), 3.0, scale=0.5)
    return weight_prior(PRECISION)(at) + thresholds + at[:, 3]


@pytest.mark.parametrize("gap", [1e-10, 1e-4, 0.03, 1.0, 25.0])
def test_both_formulas_keep_their_digits(gap):
    """Far thresholds, thin classes and both mirror images; the middle class has the stable difference."""
    latent = np.array([-38.0, -12.0, -1.0, -0.4 * gap, 0.5 * gap, gap + 0.01, gap + 7.0, gap + 38.0])
    head = Ordinal(0.0, (gap,))
    names = head.parameters()
    expected = np.array([exact(f, gap) for f in latent])
    labels = np.ones(latent.size)
    np.testing.assert_allclose(head.log_prob(labels, latent[None], names)[0], expected, rtol=1e-10, atol=1e-12)
    value, slope = GRAPH(labels, latent, list(names.values()))
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
    with mpmath.workdps(60):
        density = [mpmath.npdf(-f) - mpmath.npdf(mpmath.mpf(gap) - mpmath.mpf(f)) for f in latent]
        slopes = [float(d / mpmath.exp(mpmath.mpf(e))) for d, e in zip(density, expected, strict=True)]
    np.testing.assert_allclose(slope, slopes, rtol=1e-7, atol=1e-7)


class _Graph:
    """Compiled when first used."""

    call = None

    def __call__(self, *arguments):
        self.call = self.call or compiled(Ordinal, Ordinal(0.0, (1.0,)).parameters())
        return self.call(*arguments)


GRAPH = _Graph()


def test_the_ends_are_one_sided_and_all_classes_sum_to_one():
    latent = np.linspace(-6.0, 6.0, 9)
    names = Ordinal.at([-1.0, 0.5]).parameters()
    logs = [Ordinal.log_prob(np.full(9, float(k)), latent[None], names)[0] for k in range(3)]
    np.testing.assert_allclose(logs[0], stats.norm.logcdf(-1.0 - latent), rtol=1e-12)
    np.testing.assert_allclose(logs[2], stats.norm.logcdf(latent - 0.5), rtol=1e-12)
    np.testing.assert_allclose(np.exp(logs).sum(axis=0), 1.0, rtol=1e-12)
    for k in range(3):
        np.testing.assert_allclose(GRAPH(np.full(9, k), latent, list(names.values()))[0], logs[k], rtol=1e-11)


def test_two_classes_are_the_probit_with_a_shifted_margin():
    labels, latent = np.array([0.0, 1.0, 1.0]), np.array([[0.3, -2.0, 9.0]])
    found = Ordinal.log_prob(labels, latent, Ordinal.at([0.4]).parameters())
    np.testing.assert_allclose(found, Probit.log_prob(labels, latent - 0.4, {}), rtol=1e-13)


def test_the_log_density_is_the_dense_one(data, generator):
    problem = head_problem(*data, FREE, prior_precision=PRECISION)
    assert_log_joint_is_dense(problem, log_data(*data), free_prior, 0.5 * _Scaled(generator))


class _Scaled:
    """Standard normals times a factor, so that scipy's plain differences keep their digits."""

    def __init__(self, generator, factor=1.0):
        self.generator, self.factor = generator, factor

    def __rmul__(self, factor):
        return _Scaled(self.generator, factor)

    def normal(self, size):
        return self.factor * self.generator.normal(size=size)


def test_draws_with_thresholds_sampled_agree_with_the_grid(data):
    run = sample_last_layer(*data, likelihood=FREE, prior_precision=PRECISION, **SETTINGS)
    reference = grid(log_data(*data), free_prior, [0.0, 0.0, -0.5, 0.0], 21, 9.0)
    assert_posterior(run, reference)
    sd = np.sqrt(np.diag(reference.cov))
    assert_coordinate(run, "first_threshold", reference.mean[2], sd[2])
    assert_coordinate(run, "log_gap_1", reference.mean[3], sd[3])


def test_draws_with_thresholds_fixed_agree_with_the_grid(data):
    run = sample_last_layer(*data, likelihood=Ordinal.at(THRESHOLDS), prior_precision=PRECISION, **SETTINGS)
    assert_posterior(run, grid(log_data(*data, THRESHOLDS), weight_prior(PRECISION), np.zeros(2)))
    assert not run.hyperparameters and run.parameters()["gap_1"].shape == (2000,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ordinal.at([1.0, 0.5]), "gap_1 must be finite and positive but got -0.5"),
        (lambda: Ordinal.at([]), "needs the K-1 thresholds"),
        (lambda: Ordinal(Gamma(1.0, 1.0)), "first_threshold takes Normal"),
        (lambda: Ordinal(0.0, (Normal(0.0, 1.0),)), "gap_1 takes a density on the positive numbers"),
        (lambda: Ordinal.from_parameters({"size": 1.0}), "Ordinal has first_threshold, gap_1"),
    ],
)
def test_wrong_thresholds_are_named(make, message):
    with pytest.raises(SpecError, match=message):
        make()


def test_a_label_beyond_the_thresholds_is_refused():
    with pytest.raises(DataError, match=r"labels of ordinal must be 0 to 2; 1 of 2 are not .first in row 1: 3"):
        sample_last_layer(np.ones((2, 1)), [0.0, 3.0], likelihood=Ordinal.at([0.0, 1.0]), prior_precision=1.0)
