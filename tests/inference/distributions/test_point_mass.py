"""PointMass: certain moments, entropy treated as absent, vectors as events."""

import numpy as np
import pytest

from inference.distributions import Distribution, PointMass
from inference.errors import SpecError


def test_moments_of_a_known_value():
    c = PointMass([0.5, 4.0])
    np.testing.assert_array_equal(c.mean_log(), np.log([0.5, 4.0]))
    np.testing.assert_array_equal(c.var_log(), [0.0, 0.0])
    np.testing.assert_array_equal(c.mean_inverse(), [2.0, 0.25])
    np.testing.assert_array_equal(c.entropy(), [0.0, 0.0])


def test_zero_and_below_have_no_finite_logarithm_and_no_warning():
    c = PointMass([0.0, -1.0])
    np.testing.assert_array_equal(c.mean_log(), [-np.inf, np.nan])
    np.testing.assert_array_equal(c.mean_inverse(), [np.inf, -1.0])


def test_a_vector_event():
    c = PointMass(np.arange(6.0).reshape(3, 2), event_ndim=1)
    assert c.batch_shape == (3,) and c.event_shape == (2,)
    np.testing.assert_array_equal(c.logpdf([2.0, 3.0]), [-np.inf, 0.0, -np.inf])
    np.testing.assert_array_equal(c.logpdf([2.0, 9.0]), [-np.inf] * 3)
    assert c.entropy().shape == (3,)
    assert c.quantile([0.1, 0.9]).shape == (2, 3, 2)
    assert c[1].mean().tolist() == [2.0, 3.0]
    assert c.broadcast_to((4, 3)).event_shape == (2,)
    again = Distribution.named("PointMass").from_arrays(c.arrays())
    assert again.batch_shape == (3,) and again.event_shape == (2,)


def test_points_of_the_wrong_length_are_refused():
    with pytest.raises(SpecError, match=r"points must have shape \(\.\.\., 2\) but got \(3,\)"):
        PointMass(np.zeros(2), event_ndim=1).logpdf(np.zeros(3))
