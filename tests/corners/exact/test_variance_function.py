"""Fitting a variance function with the mean held: gradients, recovery, optimality of the cone, invariances."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from corners.errors import DataError, SpecError
from corners.exact import fit_variance
from corners.exact.variance_function import random_start, variance_objective
from tests.corners.exact.problems import problem

FAMILIES = ["diagonal", "dense"]


@pytest.mark.parametrize("family", FAMILIES)
def test_analytic_gradient(family):
    features, targets, _, _ = problem(12, 3)
    objective = variance_objective(features, targets**2, np.full(12, 1.0 / 12), family)
    for seed in range(4):
        start = random_start(3, family, np.random.default_rng(seed))
        slope = np.linalg.norm(objective(start)[1])
        assert check_grad(lambda p: objective(p)[0], lambda p: objective(p)[1], start) < 1e-5 * (1.0 + slope)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_variance_of_the_family_is_recovered(family):
    features = problem(30, 3).features
    truth = np.diag([0.5, 0.2, 1.0])
    if family == "dense":
        truth[0, 1] = truth[1, 0] = 0.25
    variances = 0.3 + np.einsum("nh,hk,nk->n", features, truth, features)
    fit = fit_variance(features, variances, np.random.default_rng(0), family=family)
    assert fit.noise_var == pytest.approx(0.3, rel=1e-4)
    np.testing.assert_allclose(fit.covariance.matrix(3), truth, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(fit.variances, variances, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_optimum_of_the_cone(family):
    """``σ²`` and ``Σ`` scale together, so at the optimum the mean of ``r²/V`` is 1, and no scaling of ``V`` improves
    it.
    """
    features, targets, _, _ = problem(25, 3)
    fit = fit_variance(features, targets**2, np.random.default_rng(1), family=family)
    assert abs(fit.stationarity) < 1e-5
    for factor in (0.9, 1.1):
        moved = factor * fit.variances
        assert 0.5 * np.mean(np.log(2 * np.pi * moved) + targets**2 / moved) > fit.nll
    assert fit.status.startswith("converged")
    assert 1 <= fit.hits <= fit.starts


def test_the_richer_family_is_never_worse():
    features, targets, _, _ = problem(25, 3, seed=2)
    fits = [fit_variance(features, targets**2, np.random.default_rng(1), family=family) for family in FAMILIES]
    constant = 0.5 * (np.log(2 * np.pi * np.mean(targets**2)) + 1.0)
    assert fits[1].nll <= fits[0].nll + 1e-7
    assert fits[0].nll <= constant + 1e-7


@pytest.mark.parametrize("family", FAMILIES)
def test_units_do_not_matter(family):
    features, targets, _, _ = problem(25, 3)
    one = fit_variance(features, targets**2, np.random.default_rng(1), family=family)
    units = np.array([1e3, 1e-2, 5.0])
    two = fit_variance(features * units, 1e6 * targets**2, np.random.default_rng(1), family=family)
    assert two.nll == pytest.approx(one.nll + np.log(1e3), abs=1e-6)
    np.testing.assert_allclose(two.variances, 1e6 * one.variances, rtol=1e-3)


def test_weights_are_repeated_plates():
    features, targets, _, _ = problem(10, 2)
    repeated = np.repeat(np.arange(10), np.arange(1, 11))
    one = fit_variance(features, targets**2, np.random.default_rng(0), weights=np.arange(1.0, 11.0))
    two = fit_variance(features[repeated], targets[repeated] ** 2, np.random.default_rng(0))
    assert one.nll == pytest.approx(two.nll, abs=1e-7)


def test_a_plate_fitted_exactly_is_said_to_be_unbounded():
    fit = fit_variance([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0], np.random.default_rng(0), family="diagonal")
    assert fit.status.startswith("unbounded")


def test_unusable_arguments_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="non-negative and not all zero"):
        fit_variance(np.ones((3, 1)), np.zeros(3), rng)
    with pytest.raises(DataError, match="weights"):
        fit_variance(np.ones((2, 1)), np.ones(2), rng, weights=[-1.0, 2.0])
    with pytest.raises(SpecError, match="starts must be at least 1"):
        fit_variance(np.ones((2, 1)), np.ones(2), rng, starts=0)
    with pytest.raises(SpecError, match="family"):
        fit_variance(np.ones((2, 1)), np.ones(2), rng, family="low_rank")
