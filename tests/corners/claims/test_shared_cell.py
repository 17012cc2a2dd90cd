"""The oracle of the shared cell against golden values and closed forms."""

import math

import numpy as np
import pytest

from corners.claims._problems import Problem
from corners.claims._shared_cell import end_slope, feature_norm_cv, point_profile, rows_of_one_length, shared_cell
from corners.errors import SpecError
from tests.support.golden import assert_golden, golden_cases


@pytest.mark.parametrize("case", golden_cases("unbounded", "feature_rescaling"))
def test_shared_cell_has_the_golden_objective(case):
    features, targets, mean, covariance = (np.asarray(case["inputs"][name]) for name in ("Psi", "y", "mu", "Sigma"))
    found = shared_cell(features, targets, mean, covariance, case["inputs"]["alpha"], case["inputs"]["sigma2"])
    assert_golden("unbounded", found.total, case["expected"]["before"])


def test_point_profile_in_one_dimension():
    """One row ``ψ = 1``: the best mean is ``y/(1 + ασ²)``."""
    mean = 4.0 / (1.0 + 2.0 * 0.5)
    density = 0.5 * (math.log(2.0 * math.pi / 2.0) + 2.0 * mean**2 + math.log(2.0 * math.pi * 0.5))
    expected = density + 0.5 * (4.0 - mean) ** 2 / 0.5
    np.testing.assert_allclose(
        point_profile(np.ones((1, 1)), np.array([4.0]), np.array([2.0]), 0.5), [expected], rtol=1e-14
    )


def test_rows_of_zeros_are_left_out():
    problem = Problem("one empty row", np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), np.array([1.0, 2.0, 3.0]))
    scaled = rows_of_one_length(problem)
    assert scaled.targets.tolist() == [2.0, 3.0]
    assert feature_norm_cv(scaled.features) < 1e-15
    np.testing.assert_allclose((scaled.features**2).sum(axis=1), 6.5)


def test_only_rows_of_zeros_are_refused():
    with pytest.raises(SpecError, match="zero"):
        rows_of_one_length(Problem("empty rows", np.zeros((2, 2)), np.ones(2)))


def test_end_slope_is_that_of_the_last_two():
    assert end_slope(np.array([0.0, 1.0, 5.0]), [7.0, 3.0, 1.0]) == -0.5
