"""Entropy terms against mpmath with forty digits, where float64 formulas cancel too."""

import mpmath
import numpy as np
import pytest

from inference.distributions._special import half_step_digamma, log_student_normaliser, standard_gamma_entropy, trigamma

POINTS = [1e-3, 0.4, 1.0, 7.3, 39.9, 40.1, 79.9, 80.1, 999.0, 1001.0, 1e6, 1e12]


def entropy(a):
    return a + mpmath.loggamma(a) + (1 - a) * mpmath.digamma(a)


def half_step(x):
    return mpmath.digamma(x + mpmath.mpf(1) / 2) - mpmath.digamma(x)


def normaliser(df):
    return mpmath.log(df) / 2 + mpmath.log(mpmath.pi) / 2 + mpmath.loggamma(df / 2) - mpmath.loggamma((df + 1) / 2)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    ("ours", "truth", "rel"),
    [
        (standard_gamma_entropy, entropy, 1e-13),
        (half_step_digamma, half_step, 2e-12),
        (log_student_normaliser, normaliser, 1e-13),
        (trigamma, lambda x: mpmath.psi(1, x), 1e-13),
    ],
    ids=["gamma_entropy", "half_step", "student", "trigamma"],
)
def test_against_forty_digits(ours, truth, rel, point):
    with mpmath.workdps(40):
        expected = float(truth(mpmath.mpf(point)))
    np.testing.assert_allclose(ours(np.array(point)), expected, rtol=rel, atol=rel)
