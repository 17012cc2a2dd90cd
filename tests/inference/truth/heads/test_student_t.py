import mpmath
import numpy as np
import pytest
from scipy import stats

from inference.errors import SpecError
from inference.truth import Gamma, HalfNormal, Hyperpriors, StudentT, sample_last_layer
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

PRECISION, DF = 0.6, 4.0
FREE = StudentT(scale=HalfNormal(1.0), df=DF)


def exact(y, f, scale, df):
    with mpmath.workdps(60):
        z, df, scale = (mpmath.mpf(y) - mpmath.mpf(f)) / mpmath.mpf(scale), mpmath.mpf(df), mpmath.mpf(scale)
        constant = mpmath.loggamma((df + 1) / 2) - mpmath.loggamma(df / 2) - mpmath.log(mpmath.pi * df) / 2
        return float(constant - mpmath.log(scale) - (df + 1) / 2 * mpmath.log1p(z * z / df))


@pytest.fixture(scope="module")
def data(features, latent):
    return features, latent + 0.3 * np.random.default_rng(8).standard_t(DF, size=15)


def log_data(features, targets, scale=None):
    def at(points):
        s = np.exp(points[:, 2, None]) if scale is None else scale
        return stats.t.logpdf(targets, DF, points[:, :2] @ features.T, s)

    return at


def free_prior(at):
    return weight_prior(PRECISION)(at) + stats.halfnorm.logpdf(np.exp(at[:, 2])) + at[:, 2]


def test_both_formulas_are_exact_for_outliers_and_all_tails():
    graph = compiled(StudentT, {"scale": 1.0, "df": DF})
    targets = np.array([-1e6, -3.0, 0.0, 0.2, 1e-9, 50.0])
    latent = np.array([0.1, -0.5, 0.0, 0.2, 0.0, -50.0])
    for scale, df in ((1e-4, 2.1), (0.5, 4.0), (1.0, 30.0), (1e3, 200.0)):
        expected = np.array([exact(y, f, scale, df) for y, f in zip(targets, latent, strict=True)])
        found = StudentT.log_prob(targets, latent[None], {"scale": scale, "df": df})[0]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        value, slope = graph(targets, latent, [scale, df])
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        residual = targets - latent
        np.testing.assert_allclose(slope, (df + 1.0) * residual / (df * scale**2 + residual**2), rtol=1e-11)


@pytest.mark.parametrize("free", [True, False])
def test_the_log_density_is_the_dense_one(data, generator, free):
    problem = head_problem(*data, FREE if free else StudentT(0.4, DF), prior_precision=PRECISION)
    dense, prior = (log_data(*data), free_prior) if free else (log_data(*data, 0.4), weight_prior(PRECISION))
    assert_log_joint_is_dense(problem, dense, prior, generator)


def test_draws_with_the_scale_sampled_agree_with_the_grid(data):
    run = sample_last_layer(*data, likelihood=FREE, prior_precision=PRECISION, **SETTINGS)
    reference = grid(log_data(*data), free_prior, [1.0, -0.6, -1.0], 49, 10.0)
    assert_posterior(run, reference)
    assert_coordinate(run, "log_scale", reference.mean[2], np.sqrt(reference.cov[2, 2]))


def test_draws_with_the_scale_fixed_agree_with_the_grid(data):
    run = sample_last_layer(*data, likelihood=StudentT(0.4, DF), prior_precision=PRECISION, **SETTINGS)
    assert_posterior(run, grid(log_data(*data, 0.4), weight_prior(PRECISION), [1.0, -0.6]))


def test_the_unit_of_the_targets_is_no_matter(data):
    """Targets in thousandths: whitening finds its own scales."""
    features, targets = data
    run = sample_last_layer(
        features,
        1e3 * targets,
        likelihood=StudentT(400.0, DF),
        hyperpriors=Hyperpriors(prior_precision=Gamma(2.0, 1e6)),
        **SETTINGS,
    )
    assert run.passed and run.provenance.leapfrog_steps_per_draw < 10.0
    assert 1e-7 < run.prior_precision().mean() < 1e-5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StudentT(-1.0), "scale must be finite and positive but got -1.0"),
        (lambda: StudentT(1.0, 0.0), "df must be finite and positive but got 0.0"),
    ],
)
def test_wrong_parameters_are_named(make, message):
    with pytest.raises(SpecError, match=message):
        make()
