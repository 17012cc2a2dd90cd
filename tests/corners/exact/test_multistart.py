"""Multistart minimisation: counts, distinct values, admission, and nothing to move."""

import numpy as np
import pytest

from corners.errors import SpecError
from corners.exact.bracketing import root_between
from corners.exact.multistart import minimise


def two_wells(x):
    """``(x² − 1)² + 0.1 x``: minima near −1 (lower) and +1."""
    return float(((x**2 - 1.0) ** 2 + 0.1 * x).sum()), 4.0 * x * (x**2 - 1.0) + 0.1


STARTS = [np.array([-2.0]), np.array([2.0]), np.array([-0.5])]


def test_the_lower_well_wins_and_both_are_listed():
    found = minimise(two_wells, STARTS)
    roots = np.sort(np.roots([4.0, 0.0, -4.0, 0.1]).real)
    assert found.parameters[0] == pytest.approx(roots[0], abs=1e-6)
    assert (found.hits, found.starts, found.excluded) == (2, 3, 0)
    np.testing.assert_allclose(found.local_values, [two_wells(roots[i : i + 1])[0] for i in (0, 2)], rtol=1e-9)


def test_minima_that_are_not_admitted_are_set_aside():
    found = minimise(two_wells, STARTS, admits=lambda x: x[0] > 0.0)
    assert found.parameters[0] > 0.0
    assert (found.hits, found.excluded) == (1, 2)
    assert minimise(two_wells, STARTS, admits=lambda _: False).excluded == 3


def test_bounds_hold():
    found = minimise(two_wells, STARTS, bounds=[(-0.5, 3.0)])
    assert found.parameters[0] >= -0.5


def test_nothing_to_move_is_a_minimum():
    found = minimise(lambda x: (3.0, x), [np.empty(0)] * 8)
    assert (found.value, found.hits) == (3.0, 8)


def test_no_finite_start_is_an_error():
    with pytest.raises(SpecError, match="none of the 1 starts"):
        minimise(lambda x: (float("nan"), 0.0 * x), [np.zeros(1)])


def test_a_root_needs_a_change_of_sign():
    with pytest.raises(ValueError, match="different signs"):
        root_between(lambda x: x * x + 1.0, -1.0, 1.0)
