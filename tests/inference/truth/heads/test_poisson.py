import mpmath
import numpy as np
import pytest
from scipy import stats

from inference.errors import DataError, SpecError
from inference.truth import Poisson, sample_last_layer
from inference.truth.head_problem import head_problem
from tests.inference.truth.conftest import golden_case
from tests.inference.truth.heads.conftest import SETTINGS
from tests.inference.truth.heads.grids import grid, weight_prior
from tests.inference.truth.heads.judging import (
    assert_leave_one_out,
    assert_log_joint_is_dense,
    assert_posterior,
    compiled,
)
from tests.support.golden import as_array

EXPOSURE = np.geomspace(0.3, 4.0, 15)


def exact(y, f):
    with mpmath.workdps(60):
        y, f = mpmath.mpf(y), mpmath.mpf(f)
        return float(y * f - mpmath.exp(f) - mpmath.loggamma(y + 1))


@pytest.fixture(scope="module")
def case():
    return golden_case("poisson_fixed_hyper")


@pytest.fixture(scope="module")
def data(case):
    return as_array(case["inputs"]["Psi"]), as_array(case["inputs"]["y"])


@pytest.fixture(scope="module")
def run(data, case):
    return sample_last_layer(*data, likelihood=Poisson(), prior_precision=case["inputs"]["alpha"], **SETTINGS)


@pytest.fixture(scope="module")
def reference(data, case):
    return grid(log_data(*data), weight_prior(case["inputs"]["alpha"]), np.zeros(2))


def log_data(features, counts, offset=0.0):
    return lambda at: stats.poisson.logpmf(counts, np.exp(at[:, :2] @ features.T + offset))


def test_both_formulas_are_exact_at_any_rate():
    counts, latent = (each.ravel() for each in np.meshgrid([0.0, 1.0, 7.0, 1000.0], [-20.0, -3.0, 0.0, 6.9, 20.0]))
    expected = np.array([exact(y, f) for y, f in zip(counts, latent, strict=True)])
    np.testing.assert_allclose(Poisson.log_prob(counts, latent[None], {})[0], expected, rtol=1e-12)
    value, slope = compiled(Poisson, {})(counts, latent, [])
    base = np.array([Poisson().log_base(counts[i : i + 1]) for i in range(counts.size)])
    np.testing.assert_allclose(value + base, expected, rtol=1e-12)
    np.testing.assert_allclose(slope, counts - np.exp(latent), rtol=1e-12)


@pytest.mark.parametrize("exposed", [False, True])
def test_the_log_density_is_the_dense_one(data, case, generator, exposed):
    offset = np.log(EXPOSURE) if exposed else None
    problem = head_problem(*data, Poisson(), offset=offset, prior_precision=case["inputs"]["alpha"])
    dense = log_data(*data, np.log(EXPOSURE) if exposed else 0.0)
    assert_log_joint_is_dense(problem, dense, weight_prior(case["inputs"]["alpha"]), generator)


def test_the_grid_is_the_golden_reference(reference, case):
    expected = case["expected"]
    np.testing.assert_allclose(reference.mean, expected["post_mean"], rtol=1e-7)
    np.testing.assert_allclose(reference.cov, as_array(expected["post_cov"]), rtol=1e-7)
    np.testing.assert_allclose(reference.log_evidence, expected["log_evidence"], rtol=1e-7)
    np.testing.assert_allclose(reference.leave_one_out(), expected["loo_lpd"], rtol=1e-7)


def test_draws_agree_with_the_golden_posterior(run, reference):
    assert_posterior(run, reference)


def test_log_predictive_of_the_training_points(run, data, case):
    value, error = run.log_predictive(*data)
    assert np.abs((value - as_array(case["expected"]["train_lpd"])) / error).max() <= 4.5


def test_leave_one_out_is_that_of_exact_refits(run, case):
    """Golden numbers of refits; the flagged points are replaced by them."""
    exact_lpd = as_array(case["expected"]["loo_lpd"])
    assert_leave_one_out(run.loo, exact_lpd)
    refitted = run.loo.refitted(lambda n: exact_lpd[n])
    np.testing.assert_array_equal(refitted.lpd[run.loo.flagged], exact_lpd[run.loo.flagged])
    assert len(run.loo.flagged) <= 3 and len(refitted.flagged) == 0


def test_an_exposure_moves_the_posterior_as_the_grid_says(data, case):
    """The counts of data seen longer say more, and their rate is the exposure's multiple."""
    offset = np.log(EXPOSURE)
    run = sample_last_layer(
        *data, likelihood=Poisson(), offset=offset, prior_precision=case["inputs"]["alpha"], **SETTINGS
    )
    assert_posterior(run, grid(log_data(*data, offset), weight_prior(case["inputs"]["alpha"]), np.zeros(2)))
    with_offset, _ = run.log_predictive(*data, offset)
    latent = run.latent_draws(data[0]) + offset
    np.testing.assert_allclose(with_offset, np.log(stats.poisson.pmf(data[1], np.exp(latent)).mean(axis=0)), rtol=1e-9)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"targets": [1.0, -1.0]}, DataError, "must be counts 0, 1, 2, ...; 1 of 2 are not .first in row 1: -1"),
        ({"targets": [0.5, 1.0]}, DataError, "must be counts .* .first in row 0: 0.5"),
        ({"offset": [1.0]}, DataError, r"offset must be finite with shape \(2,\)"),
        ({"noise_scale": 1.0}, SpecError, "noise_scale belongs to Gaussian noise"),
        ({"form": "collapsed"}, SpecError, "Gaussian noise alone allows; poisson needs form='whitened'"),
        ({"prior_precision": None}, SpecError, "prior_precision needs either a number or a density"),
    ],
)
def test_wrong_arguments_are_named(changes, error, message):
    arguments = {"targets": [1.0, 2.0], "likelihood": Poisson(), "prior_precision": 1.0} | changes
    with pytest.raises(error, match=message):
        sample_last_layer(np.ones((2, 1)), arguments.pop("targets"), **arguments)


def test_an_offset_with_gaussian_noise_is_refused():
    with pytest.raises(SpecError, match="subtract it from the targets"):
        sample_last_layer(np.ones((2, 1)), [1.0, 2.0], offset=[0.0, 1.0], prior_precision=1.0, noise_scale=1.0)
