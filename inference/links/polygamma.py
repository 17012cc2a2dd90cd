"""The digamma family of message_passing 2.2 on arrays, without the cancellations of its textbook combinations.

Everything is built from the residue ``d(a) = psi1(a) - 1/a > 0``: its recurrence ``d(a) = d(a+1) + 1/(a^2 (a+1))`` and
its derivatives add terms of one sign only. Below 14 fourteen such terms are added to the asymptotic series. Relative
accuracy is near 1e-14 for ``a`` in 1e-5..1e7; nothing overflows down to ``a = 1e-70``.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.special import gammaln

from inference.types import Array

SHIFT = 14
"""Where the asymptotic series are good to rounding, and how many recurrence terms lead there."""

_BERNOULLI = [
    Fraction(*each)
    for each in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798))
]


def _coefficients(weight) -> list[float]:
    """``weight(2k) B_2k`` for k = 1, 2, ..., highest power first."""
    return [float(weight(2 * k) * value) for k, value in reversed(list(enumerate(_BERNOULLI, start=1)))]


_LOG = _coefficients(lambda n: Fraction(1, n))
_BINET = _coefficients(lambda n: Fraction(1, n * (n - 1)))
_RESIDUE = _coefficients(lambda _: 1)
_SLOPE = _coefficients(lambda n: n + 1)
_BEND = _coefficients(lambda n: (n + 1) * (n + 2))
_NUMERATOR_SLOPE = _coefficients(lambda n: n * (n + 1))
_DENOMINATOR_SLOPE = _coefficients(lambda n: 2 * (n - 1))


def trigamma(a: Array) -> Array:
    """``psi1(a)``, elementwise for ``a > 0``.

    Example
    -------
    >>> bool(np.isclose(trigamma(np.array(1.0)), np.pi**2 / 6, rtol=1e-14))
    True
    """
    return _shaped(a, lambda x: 1.0 / x + _residues(x)[0])


def tetragamma(a: Array) -> Array:
    """``psi2(a) < 0``, elementwise for ``a > 0``."""
    return _shaped(a, lambda x: _residues(x)[1] - 1.0 / x**2)


def pentagamma(a: Array) -> Array:
    """``psi3(a)``, elementwise for ``a > 0``."""
    return _shaped(a, lambda x: _residues(x)[2] + 2.0 / x**3)


def trigamma_excess(a: Array) -> Array:
    """``a psi1(a) - 1 > 0``, elementwise for ``a > 0``; about ``1/(2a)`` for large ``a``."""
    return _shaped(a, lambda x: x * _residues(x)[0])


def log_minus_digamma(a: Array) -> Array:
    """``log a - psi(a) > 0``, elementwise for ``a > 0``; about ``1/(2a)`` for large ``a``.

    Example
    -------
    >>> bool(np.isclose(log_minus_digamma(np.array(1.0)), np.euler_gamma, rtol=1e-14))
    True
    """
    return _shaped(a, _log_minus_digamma)


def kappa(a: Array) -> Array:
    """``kap(a) = a (-psi2) / (2 (a psi1 - 1))``, elementwise for ``a > 0`` (2.2).

    Decreasing and convex, between ``1 + 2/(3a)`` and ``1 + 1/a``.
    """
    return kappa_terms(a)[0]


def kappa_terms(a: Array) -> tuple[Array, Array, Array]:
    """``kap(a)``, ``kap'(a) < 0`` and ``a psi1(a) - 1`` at the price of one: what a Newton step of 2.2 asks for."""
    flat = np.atleast_1d(np.asarray(a, dtype=np.float64)).ravel()
    small = flat < SHIFT
    terms = _large_kappa(np.where(small, SHIFT, flat))
    if small.any():
        for term, values in zip(terms, _small_kappa(flat[small]), strict=True):
            term[small] = values
    value, slope, excess = (term.reshape(np.shape(a)) for term in terms)
    return value, slope, excess


def log_gamma_entropy(a: Array) -> Array:
    """Entropy of ``log gamma`` where gamma is Ga(a, b): ``a + lgamma(a) - a psi(a)``, whatever ``b`` (1.1).

    Example
    -------
    >>> bool(np.isclose(log_gamma_entropy(np.array(1.0)), 1.0 + np.euler_gamma, rtol=1e-14))
    True
    """
    return _shaped(a, _log_gamma_entropy)


def _shaped(a: Array, function) -> Array:
    a = np.asarray(a, dtype=np.float64)
    return function(np.atleast_1d(a).ravel()).reshape(a.shape)


def _polynomial(coefficients: list[float], t: Array) -> Array:
    total = np.full_like(t, coefficients[0])
    for each in coefficients[1:]:
        total *= t
        total += each
    return total


def _residues(a: Array) -> tuple[Array, Array, Array]:
    """``psi1 - 1/a`` and its first two derivatives."""
    small = a < SHIFT
    u = 1.0 / np.where(small, a + SHIFT, a)
    t = u * u
    value = t * (0.5 + u * _polynomial(_RESIDUE, t))
    slope = -t * u * (1.0 + u * _polynomial(_SLOPE, t))
    bend = t * t * (3.0 + u * _polynomial(_BEND, t))
    if small.any():
        heads = _recurrence(a[small])
        value[small] += heads[0]
        slope[small] -= heads[1]
        bend[small] += heads[2]
    return value, slope, bend


def _recurrence(a: Array) -> tuple[Array, Array, Array]:
    """The sums over k < 14 of ``1/(x^2 (x+1))`` at ``x = a + k``, of its slope (sign changed) and of its bend."""
    value, slope, bend = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    reciprocals = [1.0 / (a + k) for k in range(SHIFT, -1, -1)]
    for right, left in pairwise(reciprocals):  # smallest terms first
        term, ratio = left * left * right, 2.0 * left + right
        value += term
        slope += term * ratio
        bend += term * (ratio * ratio + 2.0 * left * left + right * right)
    return value, slope, bend


def _log_minus_digamma(a: Array) -> Array:
    small = a < SHIFT
    u = 1.0 / np.where(small, a + SHIFT, a)
    value = u * (0.5 + u * _polynomial(_LOG, u * u))
    if small.any():
        x = a[small]
        harmonic = sum(1.0 / (x + k) for k in range(SHIFT - 1, -1, -1))
        value[small] += harmonic - np.log1p(SHIFT / x)
    return value


def _small_kappa(a: Array) -> tuple[Array, Array, Array]:
    """By the residue: ``kap = (1/a^2 - d') / (2 d)``; ratios come first, so that no power overflows."""
    residue, slope, bend = _residues(a)
    u = 1.0 / a
    value = 0.5 * (u * u - slope) / residue
    return value, -0.5 * (2.0 * u**3 + bend) / residue - value * (slope / residue), a * residue


def _large_kappa(a: Array) -> tuple[Array, Array, Array]:
    """By ``kap = N/E``, ``N = 1 + u + sum (2k+1) B_2k u^2k``, ``E = 1 + sum 2 B_2k u^(2k-1)``, ``u = 1/a``."""
    u = 1.0 / a
    t = u * u
    denominator = 1.0 + 2.0 * u * _polynomial(_RESIDUE, t)
    value = (1.0 + u + t * _polynomial(_SLOPE, t)) / denominator
    along_u = 1.0 + u * _polynomial(_NUMERATOR_SLOPE, t) - value * _polynomial(_DENOMINATOR_SLOPE, t)
    return value, -t * along_u / denominator, 0.5 * u * denominator


def _log_gamma_entropy(a: Array) -> Array:
    small = a < SHIFT
    x = np.where(small, SHIFT, a)
    u = 1.0 / x
    value = 0.5 * np.log(2.0 * np.pi * u) + x * _log_minus_digamma(x) + u * _polynomial(_BINET, u * u)
    if small.any():
        x = a[small]
        value[small] = x + gammaln(x) - x * (np.log(x) - _log_minus_digamma(x))
    return value
