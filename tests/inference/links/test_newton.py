"""Bracketed Newton: a cubic everywhere, a function that throws Newton out of its bracket, and one without a root."""

import numpy as np
import pytest

from inference.errors import InferenceError
from inference.links._newton import MAX_STEPS, bracketed_newton


def cubic(x, target):
    return x**3 + x - target, 3.0 * x**2 + 1.0, np.zeros_like(x)


def test_every_edge_gets_its_own_root():
    roots = np.linspace(-50.0, 50.0, 1001)
    found, steps = bracketed_newton(
        cubic, roots - 7.0, roots + 90.0, np.zeros_like(roots), (roots**3 + roots,), tolerance=1e-13
    )
    np.testing.assert_allclose(found, roots, rtol=1e-12, atol=1e-12)
    assert steps < 20


def test_a_step_that_leaves_the_bracket_halves_it():
    """Newton on the arctangent diverges from 3; inside its bracket it cannot."""

    def arctangent(x, center):
        return np.arctan(x - center), 1.0 / (1.0 + (x - center) ** 2), np.zeros_like(x)

    center = np.array([0.25, -4.0])
    found, _ = bracketed_newton(arctangent, center - 50.0, center + 60.0, center + 3.0, (center,), tolerance=1e-12)
    np.testing.assert_allclose(found, center, atol=1e-12)


def test_steps_below_the_noise_are_not_chased():
    def noisy(x, scale):
        return x + scale * np.sin(1e9 * x), np.ones_like(x), 2.0 * scale

    scale = np.array([1e-6])
    found, steps = bracketed_newton(noisy, -np.ones(1), np.ones(1), np.full(1, 0.5), (scale,), tolerance=1e-15)
    assert abs(found[0]) <= 1e-6
    assert steps <= 3


def test_a_function_of_nan_is_an_error():
    def broken(x, _):
        return np.full_like(x, np.nan), np.ones_like(x), np.zeros_like(x)

    with pytest.raises(InferenceError, match=f"1 link equations have no root after {MAX_STEPS}"):
        bracketed_newton(broken, np.zeros(1), np.full(1, 2.0), np.ones(1), (np.ones(1),), tolerance=1e-10)
