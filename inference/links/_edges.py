"""What both forms of the exp link share: the inputs of every edge, which of them are degenerate, and the bracket."""

from typing import NamedTuple

import numpy as np
from scipy.special import wrightomega

from inference.errors import ImproperMarginal, SpecError
from inference.types import Array

FLAT = 1e-140
"""A precision below this counts as 0: its inverse powers leave float64, and what it would change is below rounding."""

LARGEST = 1e290
"""Sums of the coefficients beyond this leave float64 in the solution."""

LOG_SMALLEST = -700.0
"""``c e^z`` whose logarithm stays below this everywhere is 0 in float64."""

EPSILON = float(np.finfo(np.float64).eps)


class Edges(NamedTuple):
    """Edges ``exp(-p/2 (z-mu)^2 + s z - c e^z)`` on one axis, and where they are flat or linear, which is disjoint.

    Flat: no Gaussian message, ``p = 0``. Linear: no far side, ``c e^z = 0``. All others are regular.
    """

    p: Array
    mu: Array
    s: Array
    c: Array
    flat: Array
    linear: Array

    @property
    def regular(self) -> Array:
        """Edges that need the solver."""
        return ~(self.flat | self.linear)

    def take(self, chosen: Array) -> "Edges":
        """Some of the edges; all of them without a copy."""
        return self if chosen.all() else Edges(*(each[chosen] for each in self))


def read_edges(arrays: tuple[Array | float, ...], slack: float) -> tuple[Edges, tuple[int, ...]]:
    """The checked edges on one axis, and the shape they came in; ``slack/p`` bounds what the linear case neglects."""
    shaped = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in arrays))
    p, mu, s, c = (each.ravel() for each in shaped)
    _refuse_unusable(p, mu, s, c)
    flat = p < FLAT
    _refuse_improper(p, s, c, flat)
    informed = np.where(flat, 1.0, p)
    with np.errstate(divide="ignore", over="ignore"):
        size = (np.abs(mu) + (np.abs(s) + 1.0) / informed) * (1.0 + informed)
        exponent = np.log(c) + np.clip(mu + (s + slack) / informed, -LARGEST, LARGEST)
    if (size > LARGEST).any():
        raise SpecError(
            "center or log_coefficient/precision is beyond 1e290, where the marginal leaves float64: rescale"
        )
    return Edges(p, mu, s, c, flat, ~flat & (exponent < LOG_SMALLEST)), shaped[0].shape


def _refuse_unusable(p: Array, mu: Array, s: Array, c: Array) -> None:
    for name, each in (("precision", p), ("center", mu), ("log_coefficient", s), ("rate", c)):
        finite = np.isfinite(each)
        if not finite.all():
            raise SpecError(f"{name} holds NaN or infinity in {int((~finite).sum())} edges; give finite numbers")
    for name, each in (("precision", p), ("rate", c)):
        if (each < 0.0).any():
            raise SpecError(f"{name} is negative (smallest {each.min():g}); it must be >= 0")


def _refuse_improper(p: Array, s: Array, c: Array, flat: Array) -> None:
    improper = flat & ~((s > 0.0) & (c > 0.0))
    if improper.any():
        first = int(np.argmax(improper))
        raise ImproperMarginal(
            f"{int(improper.sum())} of {p.size} exp links have no proper marginal (the first at flat index {first}: "
            f"precision {p[first]:g}, log_coefficient {s[first]:g}, rate {c[first]:g}). A link without a Gaussian "
            "message (precision below 1e-140) needs log_coefficient > 0 and rate > 0: give it a prior"
        )


class Equation(NamedTuple):
    """``x + (e^x - s)/p - log c - mu`` = a term in ``(0, slack/p)``, for ``x = log lam`` of regular edges (2.1)."""

    p: Array
    mu: Array
    s: Array
    log_c: Array
    rounding: Array

    def left(self, x: Array, lam: Array) -> Array:
        """The left side."""
        return x + (lam - self.s) / self.p - self.log_c - self.mu

    def noise(self, lam: Array, term: Array, slope: Array) -> Array:
        """How far rounding can move the root, where the equation's other side is ``term``."""
        return (self.rounding + 4.0 * EPSILON * (lam / self.p + term)) / slope


def equation(edges: Edges) -> Equation:
    """The equation of regular edges."""
    log_c = np.log(edges.c)
    scale = np.abs(log_c) + np.abs(edges.mu) + np.abs(edges.s) / edges.p
    return Equation(edges.p, edges.mu, edges.s, log_c, 4.0 * EPSILON * scale)


def bracket(e: Equation, slack: float) -> tuple[Array, Array, Array]:
    """``(low, high, start)``: the roots with the term at 0, at its bound, and at its bound for ``low`` (2.1).

    Both ends are widened by what rounding can do. For the Gaussian (slack 1/2) the start is never below the root.
    """
    log_p = np.log(e.p)
    ell = e.log_c + e.mu + e.s / e.p
    rounding = e.rounding + 4.0 * EPSILON * slack / e.p
    low, low_margin = _omega_root(ell, log_p, rounding)
    high, high_margin = _omega_root(ell + slack / e.p, log_p, rounding)
    start, _ = _omega_root(ell + slack / (e.p + np.exp(low)), log_p, rounding)
    return low - low_margin, high + high_margin, start


def _omega_root(total: Array, log_p: Array, rounding: Array) -> tuple[Array, Array]:
    """The root of ``x + e^x / p = total``, that is ``total - W(e^(total - log p))``, and its rounding error.

    Where W is large, ``total - W = log p + log W`` avoids the cancellation.
    """
    argument = total - log_p
    omega = wrightomega(argument)
    root = np.where(argument > 0.0, log_p + np.log(np.maximum(omega, 0.5)), total - omega)
    return root, rounding / (1.0 + omega) + 4.0 * EPSILON * (1.0 + np.abs(log_p) + np.abs(root))
