"""Problems: what is refused, and how a user's table becomes one."""

import numpy as np
import pytest

import corners
from corners.claims._problems import ROWS_AT_MOST, Problem, checked_arrays, drawn_problem, problem_of
from corners.data import Dataset
from corners.errors import DataError, SpecError
from corners.exact import Evidence


@pytest.mark.parametrize(
    ("features", "targets", "said"),
    [
        (np.ones((3, 2)), np.ones(4), "got \\(3, 2\\) and \\(4,\\)"),
        (np.ones(3), np.ones(3), "features \\(N, H\\)"),
        (np.ones((0, 2)), np.ones(0), "at least one"),
        (np.array([[np.nan]]), np.ones(1), "finite"),
    ],
)
def test_what_is_no_problem_is_refused(features, targets, said):
    with pytest.raises(SpecError, match=said):
        checked_arrays(features, targets)


@pytest.mark.parametrize("bad", [{"prior_precision": 0.0}, {"noise_scale": -1.0}, {"noise_scale": np.inf}])
def test_hyperparameters_are_positive_and_finite(bad):
    with pytest.raises(SpecError, match="positive and finite"):
        Problem("bad", np.ones((2, 1)), np.ones(2), **bad)


def test_a_problem_keeps_its_own_copy():
    features = np.ones((2, 1))
    problem = Problem("copy", features, np.ones(2))
    features[0, 0] = 7.0
    assert problem.features[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        problem.features[0, 0] = 7.0


def test_drawn_targets_have_the_spread_of_the_model():
    problem = drawn_problem("many", rows=20000, width=3, seed=3, noise_scale=0.5)
    posterior = Evidence(problem.features, problem.targets).posterior(1.0, 0.5)
    residuals = problem.targets - problem.features @ posterior.mean
    # Five standard errors of a standard deviation from 20,000 draws.
    assert abs(residuals.std() / 0.5 - 1.0) < 5.0 / np.sqrt(2.0 * 20000)


def test_a_table_is_standardised_and_has_the_hyperparameters_of_its_evidence():
    problem = problem_of(corners.load("diabetes"))
    assert problem.features.shape == (ROWS_AT_MOST, 10)
    np.testing.assert_allclose(problem.features.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(problem.targets.std(), 1.0)
    best = Evidence(problem.features, problem.targets)
    here = best.log_evidence(problem.prior_precision, problem.noise_scale)
    for factor in (0.9, 1.1):
        assert best.log_evidence(factor * problem.prior_precision, problem.noise_scale) < here
        assert best.log_evidence(problem.prior_precision, factor * problem.noise_scale) < here


def test_units_are_fixed_by_the_seed():
    table = corners.load("diabetes")
    first, second = problem_of(table, units=7, seed=2), problem_of(table, units=7, seed=2)
    np.testing.assert_array_equal(first.features, second.features)
    assert first.features.shape[1] == 7 and np.abs(first.features).max() < 1.0


def test_a_target_that_nothing_explains_keeps_stated_hyperparameters():
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(50, 2))
    centred = inputs - inputs.mean(axis=0)
    noise = generator.normal(size=50)
    noise -= noise.mean() + centred @ np.linalg.lstsq(centred, noise - noise.mean(), rcond=None)[0]
    problem = problem_of(Dataset(inputs, noise, name="noise"))
    assert (problem.prior_precision, problem.noise_scale) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (lambda: corners.load("iris"), "classification"),
        (lambda: Dataset([[1.0], [2.0]], [3.0, 3.0], name="flat"), "constant targets"),
        (lambda: Dataset([[1.0], [1.0]], [3.0, 4.0], name="still"), "no column that varies"),
    ],
)
def test_a_table_that_cannot_be_a_problem_is_refused(table, said):
    with pytest.raises(DataError, match=said):
        problem_of(table())
