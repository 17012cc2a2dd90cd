"""Constructors refuse what is no distribution, and say which entry it was."""

import numpy as np
import pytest

from inference.distributions import (
    Bernoulli,
    Beta,
    Gamma,
    LogGamma,
    LogNormal,
    Normal,
    NormalGamma,
    PointMass,
    StudentT,
)
from inference.errors import SpecError


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Normal(np.nan, 1.0), "Normal: mean must be finite but mean is nan"),
        (lambda: Normal(0.0, 0.0), "Normal: var must be positive and finite but var is 0.0"),
        (lambda: Normal([0.0, np.inf], 1.0), r"mean\[1\] is inf \(1 of 2 entries are not\)"),
        (lambda: Gamma([[1.0, 2.0], [3.0, -4.0]], 1.0), r"Gamma: shape must be .* shape\[1, 1\] is -4.0"),
        (lambda: Gamma(1.0, np.inf), "Gamma: rate must be positive and finite but rate is inf"),
        (lambda: Gamma(np.ones(3), np.ones(2)), r"Gamma: batch shapes do not broadcast: shape \(3,\), rate \(2,\)"),
        (lambda: Gamma("two", 1.0), "Gamma: shape must be an array of real numbers"),
        (lambda: Gamma(np.array([1j]), 1.0), "complex"),
        (lambda: LogNormal(0.0, -1.0), "LogNormal: log_var must be positive"),
        (lambda: LogGamma(0.0, 1.0), "LogGamma: scale must be positive"),
        (lambda: StudentT(0.0, 1.0, 1.0), "StudentT: df must be positive"),
        (lambda: StudentT(1.0, 1.0, -1.0), "StudentT: scale must be positive"),
        (lambda: Beta(1.0, 0.0), "Beta: b must be positive"),
        (
            lambda: Bernoulli([0.5, 1.01]),
            r"Bernoulli: probability must be between 0 and 1 but probability\[1\] is 1.01",
        ),
        (lambda: PointMass([1.0, np.nan]), r"PointMass: value must be finite but value\[1\] is nan"),
        (lambda: PointMass(1.0, event_ndim=1), "event_ndim must be 0, or 1 with a value of an axis or more"),
        (lambda: NormalGamma([1.0], [[0.0]], 1.0, 1.0), "NormalGamma: precision must be positive definite"),
        (lambda: NormalGamma([1.0], [[1.0]], 1.0, -1.0), "NormalGamma: rate must be positive"),
        (lambda: NormalGamma([1.0], np.eye(2), 1.0, 1.0), r"precision must have shape \(..., 1, 1\) but got \(2, 2\)"),
    ],
)
def test_refusals(build, words):
    with pytest.raises(SpecError, match=words):
        build()


def test_what_was_given_may_change_afterwards():
    shape = np.array([1.0, 2.0])
    gamma = Gamma(shape, 3.0)
    shape[0] = 7.0
    assert gamma.shape.tolist() == [1.0, 2.0]


def test_integers_and_booleans_become_floats():
    assert Gamma(np.arange(1, 3), True).mean().dtype == np.float64


def test_parameters_broadcast_to_one_batch():
    gamma = Gamma(np.ones((3, 1)), np.ones(2))
    assert gamma.batch_shape == gamma.shape.shape == gamma.rate.shape == (3, 2)
