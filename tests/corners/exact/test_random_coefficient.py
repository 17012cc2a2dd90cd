"""Hildreth-Houck fits: golden optima, the link to the free cell, and the singularity of the dense family."""

from functools import cache

import numpy as np
import pytest

from corners.errors import DataError
from corners.exact import fit_random_coefficients, gaussian_plates, shared_free_terms
from tests.support.golden import as_array, golden, golden_cases

NAMES = {"diag": "diagonal", "full": "dense"}


def unpack(case):
    inputs = case["inputs"]
    return as_array(inputs["X"]), as_array(inputs["y"]), NAMES[inputs["family"]]


@cache
def fitted(family):
    """The golden problem of one family, fitted once for every test."""
    case = next(c for c in golden("random_coefficient")["cases"] if NAMES[c["inputs"]["family"]] == family)
    features, targets, _ = unpack(case)
    return fit_random_coefficients(features, targets, np.random.default_rng(0), family=family)


@pytest.mark.parametrize("case", golden_cases("random_coefficient"))
def test_golden_optimum(case):
    features, _, family = unpack(case)
    fit = fitted(family)
    tolerance, expected = golden("random_coefficient")["tolerance"], case["expected"]
    assert fit.neg_log_likelihood == pytest.approx(expected["neg_loglik"], abs=tolerance["value_abs"])
    assert fit.ordinary_neg_log_likelihood == pytest.approx(expected["ols_neg_loglik"], abs=tolerance["value_abs"])
    close = {"rtol": tolerance["param_rel"], "atol": tolerance["param_abs"]}
    np.testing.assert_allclose(fit.mean, as_array(expected["beta"]), **close)
    np.testing.assert_allclose(fit.covariance.matrix(features.shape[1]), as_array(expected["Sigma"]), **close)
    np.testing.assert_allclose(fit.noise_var, expected["sigma2"], **close)


@pytest.mark.parametrize("case", golden_cases("random_coefficient"))
def test_likelihood_is_the_data_term_of_the_free_cell(case):
    features, targets, family = unpack(case)
    fit = fitted(family)
    limit = float(case["inputs"]["alpha_limit"])
    cell = shared_free_terms(features, targets, fit.mean, fit.covariance, limit, fit.noise_var**0.5)
    assert fit.neg_log_likelihood == pytest.approx(float(cell.data_terms.sum()), rel=1e-10)


@pytest.mark.parametrize("family", ["diagonal", "dense"])
def test_the_mean_is_weighted_least_squares_and_nothing_nearby_is_better(family):
    generator = np.random.default_rng(5)
    features = generator.standard_normal((60, 2))
    coefficients = np.array([1.0, -0.5]) + generator.standard_normal((60, 2)) * np.array([0.6, 0.2])
    targets = (features * coefficients).sum(axis=1) + 0.3 * generator.standard_normal(60)
    fit = fit_random_coefficients(features, targets, generator, family=family, starts=4)
    variances = fit.noise_var + fit.covariance.variances(features)
    normal = features.T @ ((targets - features @ fit.mean) / variances)
    np.testing.assert_allclose(normal, 0.0, atol=1e-5)
    for shift in 0.02 * generator.standard_normal((20, 2)):
        moved = gaussian_plates(targets, features @ (fit.mean + shift), variances - fit.noise_var, fit.noise_var**0.5)
        assert moved.value.sum() > fit.neg_log_likelihood


def test_dense_likelihood_has_degenerate_optima_below_the_regular_one():
    """Golden data: with ``Σ`` orthogonal to one interpolated plate the likelihood exceeds the published optimum's."""
    case = golden_cases("random_coefficient", "hildreth_houck_full")[0].values[0]
    features, targets, family = unpack(case)
    regular, rng = fitted(family), np.random.default_rng(0)
    free = fit_random_coefficients(features, targets, rng, family=family, smallest_variance=0.0)
    assert "1 degenerate optima set aside" in regular.status
    assert free.neg_log_likelihood < regular.neg_log_likelihood - 0.5
    assert (free.noise_var + free.covariance.variances(features)).min() < 1e-3


def test_the_singularity_itself():
    """Interpolate plate 0 and let ``Σ`` see only the orthogonal direction: ``½ log σ²`` falls without bound (theory
    7.1.4).
    """
    case = golden_cases("random_coefficient", "hildreth_houck_full")[0].values[0]
    features, targets, _ = unpack(case)
    row = features[0]
    mean = row * targets[0] / float(row @ row)
    across = np.array([-row[1], row[0]])
    spread = np.outer(across, across)
    values = []
    for noise_var in (1e-4, 1e-8, 1e-12):
        variances = np.einsum("nh,hk,nk->n", features, spread, features)
        variances[0] = 0.0
        means = features @ mean
        means[0] = targets[0]
        values.append(gaussian_plates(targets, means, variances, noise_var**0.5).value.sum())
    np.testing.assert_allclose(np.diff(values), 0.5 * np.log(1e-4), atol=0.05)


def test_targets_that_are_reproduced_have_no_likelihood():
    features = np.random.default_rng(0).standard_normal((6, 2))
    with pytest.raises(DataError, match="unbounded"):
        fit_random_coefficients(features, features @ np.ones(2), np.random.default_rng(0))
