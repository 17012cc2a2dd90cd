"""The Gamma marginal of an exp link, exactly: ``gamma = e^z`` is Ga(a, b), and what is said of z follows from it.

The edge is the one of the Gaussian form, in the same measure of z, so that free energies of the two forms compare.
"""

from dataclasses import dataclass

import numpy as np

from inference.errors import InferenceError, SpecError
from inference.links import gaussian
from inference.links._edges import Edges, Equation, bracket, equation, read_edges
from inference.links._newton import MAX_STEPS, bracketed_newton
from inference.links.gaussian import rate_times_exp
from inference.links.polygamma import kappa_terms, log_gamma_entropy, log_minus_digamma, trigamma
from inference.types import Array

SLACK = 1.0

SHAPE_TOLERANCE = 1e-7
"""Relative size of the last step of the shape: Newton squares it, which is below rounding."""

LOG_LARGEST = 700.0

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class GammaLink:
    """``q(gamma) = Ga(shape, rate)`` of every edge, shape-rate."""

    shape: Array
    rate: Array


def solve_gamma(
    precision: Array | float,
    center: Array | float,
    log_coefficient: Array | float,
    rate: Array | float,
    *,
    tolerance: float = 1e-10,
    start: Array | None = None,
) -> GammaLink:
    """Minimise the free energy of every edge over Gammas on ``gamma = e^z`` (message_passing 2.2).

    With ``lam = c a/b``: ``a - p kap(a) = lam`` and ``E z = psi(a) - log b = mu + (s - lam)/p``; ``x = log lam`` is the
    only root of ``x + (e^x - s)/p - (log a - psi(a)) - log c - mu``.

    Parameters
    ----------
    precision, center
        ``p >= 0`` and ``mu`` of the Gaussian message; the arrays of all four broadcast, and so is the result's shape.
    log_coefficient, rate
        ``s`` and ``c >= 0`` of the far side.
    tolerance
        On ``x``, relative to ``1 + |x|``.
    start
        ``lam`` of an earlier solution; without it, or where it is not positive, the Gaussian solution is the start.

    Raises
    ------
    ImproperMarginal
        Where ``p = 0`` (or below 1e-140) without both ``s > 0`` and ``c > 0``.
    SpecError
        A number that is not finite, is negative where it may not be, or leads beyond float64.

    Example
    -------
    >>> link = solve_gamma(precision=0.0, center=0.0, log_coefficient=2.0, rate=4.0)
    >>> float(link.shape), float(link.rate)
    (2.0, 4.0)
    """
    edges, shape = read_edges((precision, center, log_coefficient, rate), SLACK)
    parts = _degenerate(edges)
    regular = edges.regular
    if regular.any():
        guess = None if start is None else np.broadcast_to(start, shape).ravel()[regular]
        found, _ = solve_regular(edges.take(regular), guess, tolerance)
        for part, values in zip(parts, found, strict=True):
            part[regular] = values
    return GammaLink(*(part.reshape(shape) for part in parts))


def gamma_free_energy(
    shape: Array | float,
    rate: Array | float,
    p: Array | float,
    mu: Array | float,
    s: Array | float,
    c: Array | float,
) -> Array:
    """``p/2 [(g-mu)^2 + psi1(a)] - s g + c a/b - (a + lgamma(a) - a psi(a))``, ``g = psi(a) - log b`` (2.2).

    Of the marginal ``Ga(a, b)``, for every edge. At least ``-log`` of the integral of the edge over z, with equality
    where ``p = 0`` and the marginal is ``Ga(s, c)``.

    Example
    -------
    >>> float(gamma_free_energy(1.0, 1.0, 0.0, 0.0, 1.0, 1.0).round(15)) == 0.0  # the integral of e^(z - e^z) is 1
    True
    """
    a, b, p, mu, s, c = (np.asarray(each, dtype=np.float64) for each in (shape, rate, p, mu, s, c))
    g = np.log(a) - log_minus_digamma(a) - np.log(b)
    energy = 0.5 * p * ((g - mu) ** 2 + trigamma(a)) - s * g + rate_times_exp(c, np.log(a) - np.log(b))
    return np.asarray(energy - log_gamma_entropy(a))


def solve_regular(edges: Edges, start: Array | None, tolerance: float) -> tuple[tuple[Array, Array], int]:
    """``(shape, rate)`` of edges with ``p > 0`` and ``c > 0``, and the outer Newton steps of the slowest one."""
    e = equation(edges)
    low, high, _ = bracket(e, SLACK)
    lam = np.zeros_like(low) if start is None else start
    if not (lam > 0.0).all():
        (_, _, nearby), _ = gaussian.solve_regular(edges, lam, tolerance)
        lam = np.where(lam > 0.0, lam, nearby)
    x, steps = bracketed_newton(_residual, low, high, np.log(np.maximum(lam, TINY)), e, tolerance=tolerance)
    lam = np.exp(x)
    shape, _ = _shape(e.p, lam)
    mean_log = np.where(lam > e.p, x - e.log_c - log_minus_digamma(shape), e.mu + (e.s - lam) / e.p)
    return (shape, _rate(shape, mean_log)), steps


def _residual(x: Array, *parameters: Array) -> tuple[Array, Array, Array]:
    e = Equation(*parameters)
    lam = np.exp(x)
    a, bend = _shape(e.p, lam)
    slope = 1.0 + lam / e.p + bend
    term = log_minus_digamma(a)
    return e.left(x, lam) - term, slope, e.noise(lam, term, slope)


def _shape(p: Array, lam: Array) -> tuple[Array, Array]:
    """The root of ``a - p kap(a) = lam`` (2.2), and minus the slope of ``log a - psi(a)`` along ``log lam`` there.

    ``kap = 1 + r/a`` with ``r`` from 1 (small ``a``) to 2/3 (large ``a``) gives the start. The left side increases and
    is concave: a step from above the root lands below it, steps from below never pass it.
    """
    total = lam + p
    a = 0.5 * (total + np.hypot(total, 2.0 * np.sqrt(p)))
    a = 0.5 * (total + np.hypot(total, 2.0 * np.sqrt(p * (2.0 + 1.0 / (1.0 + 0.7 * a)) / 3.0)))
    for _ in range(MAX_STEPS):
        value, slope, excess = kappa_terms(a)
        growth = 1.0 - p * slope
        step = (a - p * value - lam) / growth
        a = a - step
        if (np.abs(step) <= SHAPE_TOLERANCE * a).all():
            return a, excess * (lam / a) / growth
    raise InferenceError(f"the shape of a Gamma link has no root after {MAX_STEPS} Newton steps: are inputs finite?")


def _rate(shape: Array, mean_log: Array) -> Array:
    """``b`` with ``psi(a) - log b = mean_log``."""
    log_rate = np.log(shape) - log_minus_digamma(shape) - mean_log
    if (np.abs(log_rate) > LOG_LARGEST).any():
        worst = float(log_rate[np.argmax(np.abs(log_rate))])
        raise SpecError(
            f"the rate of a Gamma marginal would be exp({worst:g}), beyond float64: shift or rescale z, "
            "or use the Gaussian form of the link, which works on the scale of z"
        )
    return np.exp(log_rate)


def _degenerate(edges: Edges) -> tuple[Array, Array]:
    """``Ga(s, c)`` for ``p = 0``; ``lam = 0`` for ``c = 0``; regular edges are left at 0."""
    shape, rate = np.zeros(edges.p.size), np.zeros(edges.p.size)
    flat, linear = edges.flat, edges.linear
    shape[flat], rate[flat] = edges.s[flat], edges.c[flat]
    if linear.any():
        p = edges.p[linear]
        shape[linear], _ = _shape(p, np.zeros_like(p))
        rate[linear] = _rate(shape[linear], edges.mu[linear] + edges.s[linear] / p)
    return shape, rate
