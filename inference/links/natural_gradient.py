"""Natural-gradient steps on an exp link, for damped and stochastic schedules (message_passing 2.4).

A full step from a distant start may overshoot; ``damped_gaussian`` and ``damped_gamma`` halve the step of every edge
whose free energy would rise, and solve that edge exactly when twenty halvings do not help.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from inference.links.gamma import gamma_free_energy, solve_gamma
from inference.links.gaussian import gaussian_free_energy, rate_times_exp, solve_gaussian
from inference.links.polygamma import kappa, log_minus_digamma
from inference.types import Array

HALVINGS = 20

ROUNDING = 1e-14
"""By how much, relative to ``1 + |F|``, two sums that should be equal may differ."""

Pair = tuple[Array, Array]


def gaussian_site(mean: Array | float, var: Array | float, s: Array | float, c: Array | float) -> Pair:
    """The message of the link to z at ``N(mean, var)``: linear ``s - lam + lam m``, precision ``lam`` (2.4).

    With ``lam = c exp(m + v/2)``. At the solution it is the marginal divided by the incoming message.

    Example
    -------
    >>> linear, precision = gaussian_site(mean=0.0, var=0.0, s=0.5, c=2.0)
    >>> float(linear), float(precision)
    (-1.5, 2.0)
    """
    m, v, s, c = _floats(mean, var, s, c)
    lam = rate_times_exp(c, m + 0.5 * v)
    return np.asarray(s - lam + lam * m), np.asarray(lam)


def gaussian_target(
    mean: Array | float, var: Array | float, p: Array | float, mu: Array | float, s: Array | float, c: Array | float
) -> Pair:
    """Where a full step leads, as naturals: ``h* = p mu + s - lam + lam m``, ``L* = p + lam`` (2.4).

    Example
    -------
    >>> linear, precision = gaussian_target(mean=0.0, var=0.0, p=1.0, mu=3.0, s=0.5, c=2.0)
    >>> float(linear), float(precision)
    (1.5, 3.0)
    """
    linear, precision = gaussian_site(mean, var, s, c)
    p, mu = _floats(p, mu)
    return np.asarray(p * mu + linear), np.asarray(p + precision)


def gamma_target(
    shape: Array | float, rate: Array | float, p: Array | float, mu: Array | float, s: Array | float, c: Array | float
) -> Pair:
    """Where a full step leads: shape ``s - p (g - mu) + p kap(a)``, rate ``c + p kap(a) b/a`` (2.4).

    It is ``Fisher^-1`` times the gradient of the expected log edge, written out; ``g = psi(a) - log b``. The shape may
    come out negative: then the step must be damped.

    Example
    -------
    >>> target_shape, target_rate = gamma_target(shape=7.0, rate=3.0, p=0.0, mu=0.0, s=2.0, c=4.0)
    >>> float(target_shape), float(target_rate)
    (2.0, 4.0)
    """
    a, b, p, mu, s, c = _floats(shape, rate, p, mu, s, c)
    g = np.log(a) - log_minus_digamma(a) - np.log(b)
    pull = p * kappa(a)
    return np.asarray(s - p * (g - mu) + pull), np.asarray(c + pull * b / a)


def damped_gaussian(
    mean: Array | float,
    var: Array | float,
    p: Array | float,
    mu: Array | float,
    s: Array | float,
    c: Array | float,
    *,
    step: float = 1.0,
) -> Pair:
    """``(mean, var)`` after ``(h, L) <- (1-r)(h, L) + r (h*, L*)``, ``r`` at most ``step``; F does not rise (2.4).

    Example
    -------
    >>> m, v = damped_gaussian(mean=9.0, var=9.0, p=4.0, mu=1.0, s=2.0, c=0.0)  # without a far side one step is enough
    >>> float(m), float(v)
    (1.5, 0.25)
    """
    (m, v, *edge), shape = _one_axis(mean, var, p, mu, s, c)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what leaves float64 is not accepted
        target = gaussian_target(m, v, *edge)

        def candidate(r: Array) -> Pair:
            precision = (1.0 - r) / v + r * target[1]
            return ((1.0 - r) * (m / v) + r * target[0]) / precision, 1.0 / precision

        accepted = _guarded(_GAUSSIAN, (m, v), candidate, edge, step)
    return accepted[0].reshape(shape), accepted[1].reshape(shape)


def damped_gamma(
    shape: Array | float,
    rate: Array | float,
    p: Array | float,
    mu: Array | float,
    s: Array | float,
    c: Array | float,
    *,
    step: float = 1.0,
) -> Pair:
    """``(shape, rate)`` after ``(a, b) <- (1-r)(a, b) + r (a*, b*)``, ``r`` at most ``step``; F does not rise (2.4).

    Example
    -------
    >>> a, b = damped_gamma(shape=7.0, rate=3.0, p=0.0, mu=0.0, s=2.0, c=4.0)
    >>> float(a), float(b)
    (2.0, 4.0)
    """
    (a, b, *edge), out = _one_axis(shape, rate, p, mu, s, c)
    target = gamma_target(a, b, *edge)

    def candidate(r: Array) -> Pair:
        return (1.0 - r) * a + r * target[0], (1.0 - r) * b + r * target[1]

    accepted = _guarded(_GAMMA, (a, b), candidate, edge, step)
    return accepted[0].reshape(out), accepted[1].reshape(out)


def _floats(*values: Array | float) -> list[Array]:
    return [np.asarray(each, dtype=np.float64) for each in values]


def _one_axis(*values: Array | float) -> tuple[list[Array], tuple[int, ...]]:
    shaped = np.broadcast_arrays(*_floats(*values))
    return [each.ravel() for each in shaped], shaped[0].shape


class _Form(NamedTuple):
    """What the guard must know of a form of marginal, whose second parameter is always positive."""

    energy: Callable[..., Array]
    solve: Callable[..., Pair]
    first_is_positive: bool


def _guarded(form: _Form, current: Pair, candidate: Callable[[Array], Pair], edge: list[Array], step: float) -> Pair:
    """The candidate at the largest ``step / 2^k`` that is proper and does not raise F; the exact solution if none."""
    before = form.energy(*current, *edge)
    ceiling = before + ROUNDING * (1.0 + np.abs(before))
    r = np.full(before.shape, float(step))
    first, second, bad = *current, np.ones(before.shape, dtype=bool)
    for _ in range(HALVINGS + 1):
        first, second = candidate(r)
        proper = (second > 0.0) & np.isfinite(first) & np.isfinite(second)
        if form.first_is_positive:
            proper &= first > 0.0
        first, second = np.where(proper, first, current[0]), np.where(proper, second, current[1])
        bad = ~(proper & (form.energy(first, second, *edge) <= ceiling))
        if not bad.any():
            break
        r = np.where(bad, 0.5 * r, r)
    if bad.any():
        first[bad], second[bad] = form.solve(*(each[bad] for each in edge))
    return first, second


def _solved_gaussian(*edge: Array) -> Pair:
    link = solve_gaussian(*edge)
    return link.mean, link.var


def _solved_gamma(*edge: Array) -> Pair:
    link = solve_gamma(*edge)
    return link.shape, link.rate


_GAUSSIAN = _Form(gaussian_free_energy, _solved_gaussian, first_is_positive=False)
_GAMMA = _Form(gamma_free_energy, _solved_gamma, first_is_positive=True)
