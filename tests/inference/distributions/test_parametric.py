"""The unchecked way in, and indexing with several arrays at once."""

import numpy as np
import pytest

from inference.distributions import Gamma, LogNormal, MvNormal, Normal, PointMass


def test_the_trusted_way_gives_the_same_values_without_copies():
    shape, rate = np.array([0.7, 3.3]), np.array([0.4, 2.9])
    gamma = Gamma._trusted(shape=shape, rate=rate)
    np.testing.assert_array_equal(gamma.entropy(), Gamma(shape, rate).entropy())
    assert np.shares_memory(gamma.shape, shape)
    assert shape.flags.writeable and not gamma.shape.flags.writeable


def test_the_trusted_way_checks_nothing():
    assert np.isnan(Normal._trusted(mean=np.array(np.nan), var=np.array(-1.0)).mean())
    assert PointMass._trusted(value=np.zeros((2, 3)), event_ndim=1).batch_shape == (2,)


@pytest.mark.parametrize(
    "index",
    [(0, 1), (slice(None), 1), (..., 0), (np.array([0, 1]), np.array([2, 0])), (np.array([[0], [1]]), slice(1))],
)
def test_two_plates_are_indexed_as_numpy_does(index):
    mean = np.arange(6.0).reshape(2, 3)
    scalar = Normal(mean, 1.0)[index]
    np.testing.assert_array_equal(scalar.mean(), mean[index])
    centres = np.stack([mean, -mean], axis=-1)
    vector = MvNormal(centres, np.broadcast_to(np.eye(2), (2, 3, 2, 2)))[index]
    np.testing.assert_array_equal(vector.mean(), np.stack([mean[index], -mean[index]], axis=-1))
    assert vector.covariance.shape == (*mean[index].shape, 2, 2)


def test_iteration_goes_over_the_first_plate():
    assert [float(each.mean()) for each in Gamma([1.0, 2.0], 4.0)] == [0.25, 0.5]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Gamma(2.0, 0.125), "Gamma(shape=2, rate=0.125)"),
        (LogNormal(0.0, 1e-9), "LogNormal(log_mean=0, log_var=1e-09)"),
        (Gamma(np.ones((3, 4)), 1.0), "Gamma(batch=(3, 4))"),
        (MvNormal(np.zeros((7, 65)), diag=np.ones(65)), "MvNormal(batch=(7,), event=(65,))"),
        (PointMass(np.zeros((7, 2)), event_ndim=1), "PointMass(batch=(7,), event=(2,))"),
        (PointMass(3.0), "PointMass(value=3)"),
    ],
)
def test_repr(value, text):
    assert repr(value) == text
