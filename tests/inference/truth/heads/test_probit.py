import mpmath
import numpy as np
import pytest
from scipy import stats

from inference.errors import DataError
from inference.truth import Probit, sample_last_layer
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

LATENT = np.array([-40.0, -12.5, -5.0001, -1.0, -1e-9, 0.0, 0.7, 5.0, 12.0, 40.0])


def exact(t):
    with mpmath.workdps(80):
        return float(mpmath.log(mpmath.ncdf(mpmath.mpf(t))))


@pytest.fixture(scope="module")
def case():
    return golden_case("probit_fixed_hyper")


@pytest.fixture(scope="module")
def data(case):
    """Golden labels are ±1, ours 0 and 1."""
    return as_array(case["inputs"]["Psi"]), 0.5 * (as_array(case["inputs"]["y"]) + 1.0)


@pytest.fixture(scope="module")
def run(data, case):
    return sample_last_layer(*data, likelihood=Probit(), prior_precision=case["inputs"]["alpha"], **SETTINGS)


@pytest.fixture(scope="module")
def reference(data, case):
    return grid(log_data(*data), weight_prior(case["inputs"]["alpha"]), np.zeros(2))


def log_data(features, labels):
    return lambda at: stats.norm.logcdf((2.0 * labels - 1.0) * (at[:, :2] @ features.T))


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_both_formulas_are_exact_far_into_the_tails(label):
    labels, sign = np.full(LATENT.size, label), 2.0 * label - 1.0
    expected = np.array([exact(sign * t) for t in LATENT])
    value, slope = compiled(Probit, {})(labels, LATENT, [])
    np.testing.assert_allclose(Probit.log_prob(labels, LATENT[None], {})[0], expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-300)
    density = stats.norm.logpdf(LATENT)
    np.testing.assert_allclose(slope, sign * np.exp(density - expected), rtol=1e-11, atol=1e-300)


def test_the_log_density_is_the_dense_one(data, case, generator):
    problem = head_problem(*data, Probit(), prior_precision=case["inputs"]["alpha"])
    assert_log_joint_is_dense(problem, log_data(*data), weight_prior(case["inputs"]["alpha"]), generator)


def test_the_grid_is_the_golden_reference(reference, case):
    """The oracle of the other heads, against numbers of another program."""
    expected = case["expected"]
    np.testing.assert_allclose(reference.mean, expected["post_mean"], rtol=1e-7)
    np.testing.assert_allclose(reference.cov, as_array(expected["post_cov"]), rtol=1e-7)
    np.testing.assert_allclose(reference.log_evidence, expected["log_evidence"], rtol=1e-7)
    np.testing.assert_allclose(reference.leave_one_out(), expected["loo_lpd"], rtol=1e-7)


def test_draws_agree_with_the_golden_posterior(run, reference):
    assert_posterior(run, reference)


def test_log_predictive_of_the_training_points(run, data, case):
    """At 4.5 of its Monte Carlo standard errors."""
    value, error = run.log_predictive(*data)
    assert np.abs((value - as_array(case["expected"]["train_lpd"])) / error).max() <= 4.5


def test_leave_one_out_is_that_of_exact_refits(run, case):
    """Golden numbers of refits; the flagged points are replaced by them."""
    exact_lpd = as_array(case["expected"]["loo_lpd"])
    assert_leave_one_out(run.loo, exact_lpd)
    refitted = run.loo.refitted(lambda n: exact_lpd[n])
    np.testing.assert_array_equal(refitted.lpd[run.loo.flagged], exact_lpd[run.loo.flagged])
    assert len(run.loo.flagged) <= 3 and len(refitted.flagged) == 0


def test_labels_other_than_0_and_1_are_refused():
    with pytest.raises(DataError, match=r"labels of probit must be 0 to 1; 2 of 3 are not .first in row 0: -1"):
        sample_last_layer(np.ones((3, 1)), [-1.0, 1.0, -1.0], likelihood=Probit(), prior_precision=1.0)
