"""Mean-closed routing: the checks of theory 3.10 and its definition."""

import numpy as np
import pytest
from hypothesis import given

from corners.errors import SpecError
from corners.exact import Evidence, MatrixCovariance, mean_closed_terms
from tests.corners.exact.problems import EVERY_SHAPE, problem
from tests.support import oracles
from tests.support.strategies import layers


@pytest.mark.parametrize("residual", ["leave_one_out", "shared"])
@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_terms_are_the_definition(given_problem, residual):
    features, targets, precision, noise_var = given_problem
    root = 0.4 * np.random.default_rng(1).standard_normal((features.shape[1],) * 2)
    covariance = root @ root.T
    scorer = oracles.leave_one_out if residual == "leave_one_out" else oracles.shared
    means = scorer(*given_problem).means
    variances = np.array([noise_var + row @ covariance @ row for row in features])
    ridge, scale = precision * noise_var, noise_var**0.5
    cell = mean_closed_terms(features, targets, ridge, MatrixCovariance(covariance), scale, residual=residual)
    np.testing.assert_allclose(cell.means, means, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(cell.data_terms, oracles.plate_terms(targets, means, variances), rtol=1e-8, atol=1e-9)
    expected = oracles.prior_term(oracles.posterior(*given_problem)[0], covariance, precision)
    assert cell.prior_term == pytest.approx(expected, rel=1e-9)


@given(layers())
def test_with_the_posterior_covariance_and_shared_residuals_it_is_the_closed_cell(layer):
    evidence, scale = Evidence(layer.features, layer.targets), layer.noise_var**0.5
    covariance = evidence.posterior(layer.precision, scale).covariance
    ridge = layer.precision * layer.noise_var
    cell = mean_closed_terms(layer.features, layer.targets, ridge, covariance, scale, residual="shared")
    closed = evidence.shared_closed(layer.precision, scale)
    np.testing.assert_allclose(cell.data_terms, closed.data_terms, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(cell.prior_term, closed.prior_term, rtol=1e-6, atol=1e-6)


def test_without_covariance_the_best_constant_gives_press():
    """``Σ = 0``: the total at ``σ² = mean e²`` is a function of the PRESS statistic alone."""
    features, targets, precision, noise_var = problem(12, 3)
    errors = targets - oracles.leave_one_out(features, targets, precision, noise_var).means
    level = float(np.mean(errors**2))
    cell = mean_closed_terms(features, targets, precision * noise_var, None, level**0.5, with_prior_term=False)
    assert cell.prior_term == 0.0
    assert cell.total == pytest.approx(6.0 * (np.log(2 * np.pi * level) + 1.0), rel=1e-10)


def test_unknown_residuals_are_refused():
    with pytest.raises(SpecError, match="'leave_one_out', 'shared'"):
        mean_closed_terms(np.ones((2, 1)), np.ones(2), 1.0, None, 1.0, residual="held_out")
