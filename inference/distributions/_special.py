"""Entropy terms of the gamma and Student families without the cancellation of their textbook forms."""

import numpy as np
from scipy import special

from inference.types import Array

LOG_2PI = float(np.log(2.0 * np.pi))
SERIES_FROM = 40.0


def trigamma(x: Array) -> Array:
    """``psi1(x)``, x > 0."""
    return np.asarray(special.polygamma(1, x))


def standard_gamma_entropy(shape: Array) -> Array:
    """``a + lgamma(a) + (1-a) psi(a)``; where a > 40 its Stirling series, as the three terms then grow and cancel.

    ``1/2 (log(2 pi a) + 1) - 1/(3a) - 1/(12a^2) - 1/(90a^3) + 1/(120a^4) + 1/(210a^5) - 1/(252a^6) - 1/(210a^7)``
    follows from the series of lgamma and psi.
    """
    small, large = np.minimum(shape, SERIES_FROM), np.maximum(shape, SERIES_FROM)
    exact = small + special.gammaln(small) + (1.0 - small) * special.digamma(small)
    u = 1.0 / large
    series = u * (-1 / 3 + u * (-1 / 12 + u * (-1 / 90 + u * (1 / 120 + u * (1 / 210 + u * (-1 / 252 - u / 210))))))
    return np.where(shape <= SERIES_FROM, exact, 0.5 * (LOG_2PI + np.log(large) + 1.0) + series)


def log_student_normaliser(df: Array) -> Array:
    """``log(sqrt(df) B(1/2, df/2))``: minus the log density of a standard Student-t at zero.

    Where ``x = df/2 > 40`` by the series of ``lgamma(x) - lgamma(x + 1/2) + 1/2 log x``, which is
    ``1/(8x) - 1/(192x^3) + 1/(640x^5) - 17/(14336x^7)``.
    """
    small, large = np.minimum(0.5 * df, SERIES_FROM), np.maximum(0.5 * df, SERIES_FROM)
    exact = 0.5 * np.log(2.0 * small) + special.betaln(0.5, small)
    u = 1.0 / large
    series = u * (1 / 8 + u * u * (-1 / 192 + u * u * (1 / 640 - u * u * 17 / 14336)))
    return np.where(0.5 * df <= SERIES_FROM, exact, 0.5 * LOG_2PI + series)


def half_step_digamma(x: Array) -> Array:
    """``psi(x + 1/2) - psi(x)``; where x > 1000 the series ``1/(2x) + 1/(8x^2) - 1/(64x^4)``."""
    small, large = np.minimum(x, 1e3), np.maximum(x, 1e3)
    exact = special.digamma(small + 0.5) - special.digamma(small)
    u = 1.0 / large
    return np.where(x <= 1e3, exact, u * (0.5 + u * (0.125 - u * u / 64.0)))
