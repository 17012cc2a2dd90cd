"""The Gaussian marginal of an exp link, exactly: one convex problem in two unknowns an edge, all edges at once.

The edge is ``exp(-p/2 (z-mu)^2 + s z - c e^z)`` in the measure of z: a Gaussian message ``N(mu, 1/p)`` and a far side
that is the sum of its log-gamma coefficients ``s`` and gamma coefficients ``c`` (message_passing 1.6).
"""

from dataclasses import dataclass

import numpy as np

from inference.links._edges import EPSILON, Edges, Equation, bracket, equation, read_edges
from inference.links._newton import bracketed_newton
from inference.types import Array

SLACK = 0.5

NEAR = 4.0
"""How far in log lam an earlier solution may be to be worth starting from."""


@dataclass(frozen=True, eq=False)
class GaussianLink:
    """``q(z) = N(mean, var)`` of every edge, and ``lam = c E[e^z]``, the precision of the link's site."""

    mean: Array
    var: Array
    lam: Array


def solve_gaussian(
    precision: Array | float,
    center: Array | float,
    log_coefficient: Array | float,
    rate: Array | float,
    *,
    tolerance: float = 1e-10,
    start: Array | None = None,
) -> GaussianLink:
    """Minimise the free energy of every edge over Gaussians on z (message_passing 2.1).

    With ``lam = c exp(m + v/2)``: ``1/v = p + lam``, ``m = mu + (s - lam)/p``; ``x = log lam`` is the only root of
    ``x + (e^x - s)/p - 1/(2(p + e^x)) - log c - mu``, found by Newton steps inside a Wright-omega bracket.

    Parameters
    ----------
    precision, center
        ``p >= 0`` and ``mu`` of the Gaussian message; the arrays of all four broadcast, and so is the result's shape.
    log_coefficient, rate
        ``s`` and ``c >= 0`` of the far side.
    tolerance
        On ``x``, relative to ``1 + |x|``.
    start
        ``lam`` of an earlier solution; entries that are not positive start afresh.

    Raises
    ------
    ImproperMarginal
        Where ``p = 0`` (or below 1e-140) without both ``s > 0`` and ``c > 0``.
    SpecError
        A number that is not finite, is negative where it may not be, or leads beyond float64.

    Example
    -------
    >>> link = solve_gaussian(precision=0.0, center=0.0, log_coefficient=2.0, rate=4.0)
    >>> float(link.var), float(link.lam), bool(np.isclose(link.mean, np.log(2.0 / 4.0) - 0.25))
    (0.5, 2.0, True)
    """
    edges, shape = read_edges((precision, center, log_coefficient, rate), SLACK)
    parts = _degenerate(edges)
    regular = edges.regular
    if regular.any():
        guess = None if start is None else np.broadcast_to(start, shape).ravel()[regular]
        found, _ = solve_regular(edges.take(regular), guess, tolerance)
        for part, values in zip(parts, found, strict=True):
            part[regular] = values
    return GaussianLink(*(part.reshape(shape) for part in parts))


def gaussian_free_energy(
    mean: Array | float,
    var: Array | float,
    p: Array | float,
    mu: Array | float,
    s: Array | float,
    c: Array | float,
) -> Array:
    """``p/2 [(m-mu)^2 + v] - s m + c exp(m + v/2) - 1/2 log v - 1/2 (log 2 pi + 1)`` of every edge (2.1).

    At least ``-log`` of the integral of the edge over z, with equality where ``c = 0``.

    Example
    -------
    >>> bool(np.isclose(gaussian_free_energy(0.0, 1.0, 1.0, 0.0, 0.0, 0.0), -0.5 * np.log(2.0 * np.pi), rtol=1e-15))
    True
    """
    m, v, p, mu, s, c = (np.asarray(each, dtype=np.float64) for each in (mean, var, p, mu, s, c))
    energy = 0.5 * p * ((m - mu) ** 2 + v) - s * m + rate_times_exp(c, m + 0.5 * v)
    return np.asarray(energy - 0.5 * np.log(v) - 0.5 * (np.log(2.0 * np.pi) + 1.0))


def rate_times_exp(c: Array | float, exponent: Array | float) -> Array:
    """``c e^exponent``: 0 where ``c`` is 0, infinity where it leaves float64, as an upper bound may."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.exp(np.log(c) + exponent))


def solve_regular(edges: Edges, start: Array | None, tolerance: float) -> tuple[tuple[Array, Array, Array], int]:
    """``(mean, var, lam)`` of edges with ``p > 0`` and ``c > 0``, and the Newton steps of the slowest one."""
    e = equation(edges)
    around = None if start is None else _bracket_around(e, start)
    low, high, first = bracket(e, SLACK) if around is None else around
    x, steps = bracketed_newton(_residual, low, high, first, e, tolerance=tolerance)
    lam = np.exp(x)
    var = 1.0 / (e.p + lam)
    mean = np.where(lam > e.p, x - e.log_c - 0.5 * var, e.mu + (e.s - lam) / e.p)
    return (mean, var, lam), steps


def _bracket_around(e: Equation, start: Array) -> tuple[Array, Array, Array] | None:
    """``(low, high, start)`` from an earlier solution, or None where one of them is too far off to help.

    The equation's slope is at least 1, so the root is no further from a point than the equation's value there; this
    costs one evaluation where the bracket of 2.1 costs three Wright omegas.
    """
    if not (start > 0.0).all():
        return None
    x = np.log(start)
    value, _, noise = _residual(x, *e)
    if not (np.abs(value) <= NEAR).all():
        return None
    margin = 2.0 * noise + 4.0 * EPSILON * np.abs(x)
    return x - np.maximum(value, 0.0) - margin, x - np.minimum(value, 0.0) + margin, x


def _residual(x: Array, *parameters: Array) -> tuple[Array, Array, Array]:
    e = Equation(*parameters)
    lam = np.exp(x)
    var = 1.0 / (e.p + lam)
    slope = 1.0 + lam / e.p + 0.5 * (lam * var) * var
    return e.left(x, lam) - 0.5 * var, slope, e.noise(lam, 0.5 * var, slope)


def _degenerate(edges: Edges) -> tuple[Array, Array, Array]:
    """The closed forms for ``p = 0`` and for ``c = 0``; regular edges are left at 0."""
    mean, var, lam = (np.zeros(edges.p.size) for _ in range(3))
    flat, linear = edges.flat, edges.linear
    s, c = edges.s[flat], edges.c[flat]
    mean[flat], var[flat], lam[flat] = np.log(s / c) - 0.5 / s, 1.0 / s, s
    p = edges.p[linear]
    mean[linear], var[linear] = edges.mu[linear] + edges.s[linear] / p, 1.0 / p
    return mean, var, lam
