"""The digamma family against 60 digits, where float64 formulas of the textbook cancel."""

import mpmath
import numpy as np
import pytest

from inference.links import polygamma

RNG = np.random.default_rng(0)
POINTS = np.concatenate(
    [10.0 ** RNG.uniform(-5, 7, 150), RNG.uniform(5, 20, 80), [1e-5, 1.0, 13.999999, 14.0, 14.000001, 27.9, 1e7]]
)


def excess(a):
    return a * mpmath.psi(1, a) - 1


def kappa(a):
    return -a * mpmath.psi(2, a) / (2 * excess(a))


def kappa_slope(a):
    rho = -mpmath.psi(2, a) / excess(a)
    rho_slope = (-mpmath.psi(3, a) - rho * (mpmath.psi(1, a) + a * mpmath.psi(2, a))) / excess(a)
    return (rho + a * rho_slope) / 2


DEFINITIONS = {
    "trigamma": (polygamma.trigamma, lambda a: mpmath.psi(1, a)),
    "tetragamma": (polygamma.tetragamma, lambda a: mpmath.psi(2, a)),
    "pentagamma": (polygamma.pentagamma, lambda a: mpmath.psi(3, a)),
    "trigamma_excess": (polygamma.trigamma_excess, excess),
    "log_minus_digamma": (polygamma.log_minus_digamma, lambda a: mpmath.log(a) - mpmath.psi(0, a)),
    "kappa": (polygamma.kappa, kappa),
    "kappa slope": (lambda a: polygamma.kappa_terms(a)[1], kappa_slope),
    "kappa excess": (lambda a: polygamma.kappa_terms(a)[2], excess),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_relative_accuracy(name):
    function, definition = DEFINITIONS[name]
    with mpmath.workdps(60):
        exact = [float(definition(mpmath.mpf(float(a)))) for a in POINTS]
    np.testing.assert_allclose(function(POINTS), exact, rtol=2e-14, atol=0.0)


def test_entropy_of_log_gamma():
    """It passes through zero, so its error is measured against one."""
    with mpmath.workdps(60):
        exact = [
            float(a + mpmath.loggamma(a) - a * mpmath.psi(0, a)) for a in (mpmath.mpf(float(each)) for each in POINTS)
        ]
    np.testing.assert_allclose(polygamma.log_gamma_entropy(POINTS), exact, rtol=2e-14, atol=2e-14)


def test_kappa_lies_between_its_two_hyperbolas():
    a = 10.0 ** np.linspace(-5, 7, 1000)
    below = a[a < 1e5]  # where the difference of kappa from one is not yet rounding
    ratio = below * (polygamma.kappa(below) - 1.0)
    assert (ratio > 2.0 / 3.0).all()
    assert (ratio < 1.0).all()
    assert (np.diff(polygamma.kappa(a)) < 0.0).all()


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_shapes_are_kept(shape):
    a = np.full(shape, 2.0)
    for function, _ in DEFINITIONS.values():
        assert function(a).shape == shape
    assert polygamma.log_gamma_entropy(a).shape == shape


def test_nothing_overflows_far_from_one():
    a = np.array([1e-70, 1e-40, 1e40, 1e200])
    np.testing.assert_allclose(polygamma.kappa(a), [1e70, 1e40, 1.0, 1.0], rtol=1e-14)
    assert np.isfinite(polygamma.kappa_terms(a)).all()
    assert np.isfinite(polygamma.log_gamma_entropy(a)).all()
