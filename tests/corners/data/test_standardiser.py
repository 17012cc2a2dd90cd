import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from corners.data import Part, Standardiser
from corners.errors import DataError

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
COLUMN = arrays(np.float64, st.integers(2, 30), elements=NUMBERS)


def fitted(x, y, scale_targets=True):
    return Standardiser.fit(Part(x, y), scale_targets)


def example(n=40):
    generator = np.random.default_rng(3)
    return generator.normal([5.0, -300.0], [0.1, 70.0], (n, 2)), generator.normal(12.0, 4.0, n)


def test_training_part_has_mean_zero_and_standard_deviation_one():
    x, y = example()
    s = fitted(x, y)
    for z in (s.inputs(x), s.targets(y)):
        np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(np.sqrt((z**2).mean(axis=0)), 1.0, rtol=1e-12)
    np.testing.assert_allclose(s.input_scale, np.std(x, axis=0, ddof=0), rtol=1e-14)


def test_centred_targets_are_not_scaled():
    x, y = example()
    s = fitted(x, y, scale_targets=False)
    assert (s.target_scale, s.log_scale) == (1.0, 0.0)
    np.testing.assert_array_equal(s.targets(y), y - y.mean())


@given(COLUMN)
def test_there_and_back(y):
    s = fitted(y, y)
    np.testing.assert_allclose(s.original_mean(s.targets(y)), y, rtol=1e-12, atol=1e-12 * np.abs(y).max())


@given(COLUMN, st.sampled_from([-20, 20, -1, 1, 37, -300, 300]), st.booleans())
def test_a_power_of_two_changes_no_bit_of_the_scaled_targets(y, k, also_inputs):
    y = np.round(y, 3)
    factor = math.ldexp(1.0, k)
    one, two = fitted(y, y), fitted(y * factor if also_inputs else y, y * factor)
    np.testing.assert_array_equal(two.targets(y * factor), one.targets(y))
    assert two.target_mean == one.target_mean * factor
    assert two.constant_target == one.constant_target
    if not one.constant_target:
        assert two.target_scale == one.target_scale * factor
        assert two.log_scale == pytest.approx(one.log_scale + k * math.log(2.0), rel=1e-12, abs=1e-12)
    if also_inputs:
        np.testing.assert_array_equal(two.inputs(y * factor), one.inputs(y))


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_another_unit_of_the_targets_changes_rounding_only(factor):
    x, y = example()
    one, two = fitted(x, y), fitted(x, y * factor)
    np.testing.assert_allclose(two.targets(y * factor), one.targets(y), rtol=1e-12, atol=1e-12)
    assert two.log_scale == pytest.approx(one.log_scale + math.log(factor), rel=1e-12)


def test_squares_neither_overflow_nor_vanish():
    y = np.array([-1.0, 0.0, 1.0])
    for unit in (1e-250, 1e250):
        assert fitted(y, y * unit).target_scale == pytest.approx(math.sqrt(2.0 / 3.0) * unit, rel=1e-14)


def test_a_constant_column_has_scale_one_whatever_the_rounding_of_its_mean():
    x = np.column_stack([np.full(7, 0.1), np.full(7, 1e9 + 0.1), np.zeros(7), np.arange(7) * 1e-12])
    s = fitted(x, np.arange(7.0))
    np.testing.assert_array_equal(s.input_scale[:3], 1.0)
    np.testing.assert_array_equal(s.inputs(x)[:, :3], 0.0)
    np.testing.assert_array_equal(s.input_mean[:3], x[0, :3])
    np.testing.assert_allclose(s.inputs(x)[:, 3], (np.arange(7) - 3) / 2.0, atol=1e-12)
    assert s.inputs([[0.1, 1e9 + 0.1, 2.0, 0.0]])[0, 2] == 2.0


@pytest.mark.parametrize("scale_targets", [True, False])
def test_a_constant_target_is_said_and_not_scaled(scale_targets):
    s = fitted(np.arange(5.0), np.full(5, 0.1), scale_targets)
    assert (s.constant_target, s.target_mean, s.target_scale, s.log_scale) == (True, 0.1, 1.0, 0.0)
    np.testing.assert_array_equal(s.targets(np.full(5, 0.1)), 0.0)
    assert not fitted(np.arange(5.0), np.arange(5.0), scale_targets).constant_target


def test_one_row_is_a_constant():
    s = fitted([[3.0, 4.0]], [5.0])
    assert s.constant_target
    assert s.inputs([[4.0, 6.0]]).tolist() == [[1.0, 2.0]]


def test_densities_and_moments_return_to_original_units():
    x, y = example()
    s = fitted(x, y)
    mean, var, point = 0.3, 0.7, 11.0
    scaled = -0.5 * (np.log(2 * np.pi * var) + (s.targets(np.array([point]))[0] - mean) ** 2 / var)
    m, v = (float(f(np.array([a]))[0]) for f, a in ((s.original_mean, mean), (s.original_var, var)))
    original = -0.5 * (np.log(2 * np.pi * v) + (point - m) ** 2 / v)
    assert -original == pytest.approx(-scaled + s.log_scale, rel=1e-12)
    assert s.original_mean(np.zeros((2, 3))).shape == (2, 3)


def test_both_shapes_are_taken_and_others_refused():
    s = fitted(np.arange(4.0), np.arange(4.0))
    np.testing.assert_array_equal(s.inputs(np.arange(4)), s.inputs(np.arange(4.0)[:, None]))
    np.testing.assert_array_equal(s.targets(np.arange(4)), s.targets(np.arange(4.0)[:, None]))
    with pytest.raises(DataError, match=r"inputs have shape \(4, 2\); the standardiser was fitted on \(N, 1\)"):
        s.inputs(np.zeros((4, 2)))
    with pytest.raises(DataError, match=r"inputs have shape \(4,\); the standardiser was fitted on \(N, 2\)"):
        fitted(*example()).inputs(np.zeros(4))
    with pytest.raises(DataError, match=r"targets have shape \(4, 2\)"):
        s.targets(np.zeros((4, 2)))


def test_it_is_frozen_and_refuses_a_scale_of_zero_and_a_part_without_rows():
    s = copy.deepcopy(fitted(*example()))
    with pytest.raises(ValueError, match="read-only"):
        s.input_mean[0] = 0.0
    with pytest.raises(DataError, match="scales must be positive"):
        Standardiser(np.zeros(1), np.zeros(1), 0.0, 1.0)
    with pytest.raises(DataError, match="a part without rows has no mean"):
        fitted(np.zeros((0, 1)), np.zeros(0))
