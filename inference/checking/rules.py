"""The rules of a factor in one place: messages, energies, potentials of clusters, forward messages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from inference.checking.density import moments_of
from inference.checking.draws import length, random_points
from inference.checking.moments import POINTS as POINTS_OF
from inference.checking.moments import REACH, port_moments
from inference.checking.places import ROWS, Place
from inference.checking.quadrature import expected
from inference.checking.report import Judge
from inference.distributions import Distribution, Normal
from inference.errors import NoRule
from inference.nodes._base import Linear, Message
from inference.terms import full
from inference.types import Values

POINTS = 6


def check_apart(place: Place, judge: Judge, rng: Any) -> None:
    """Every rule where all latent ports are independent."""
    for port in place.latent:
        _check_message(place, port, judge, rng)
        if port in place.node.matches and isinstance(place.marginals[port], Normal):
            _check_match(place, port, judge)
    _check_energy(place, judge)
    for port in place.factor.ports:
        _check_forward(place, port, judge)


def check_together(place: Place, judge: Judge, rng: Any) -> None:
    """The potential on the two ports of the place's group, and what the other rules make of their joint moments."""
    if place.joint is None:
        linear = _check_linear(place, judge, rng)
        if linear is None:
            return
        place = place.with_pair(linear)
    else:
        _check_joint_message(place, judge, rng)
        for port in place.node.outputs:
            if port not in place.group:
                _check_forward(place, port, judge)
    for port in place.latent:
        if port not in place.group:
            _check_message(place, port, judge, rng)
    _check_energy(place, judge)


def log_message(kind: str, coefficients: Sequence[Values], x: Values) -> Values:
    """The log of a message at points: coefficients times sufficient statistics (see inference/families.py).

    Example
    -------
    >>> log_message("positive", (np.array(1.0), np.array(2.0)), np.array([1.0]))
    array([-2.])
    """
    if kind == "real":
        linear, precision = coefficients
        if np.ndim(linear):
            return x @ linear - 0.5 * np.einsum("...i,ij,...j->...", x, precision, x)
        return linear * x - 0.5 * precision * x**2
    if kind == "positive":
        return coefficients[0] * np.log(x) - coefficients[1] * x
    if kind == "probability":
        return coefficients[0] * np.log(x) + coefficients[1] * np.log1p(-x)
    return coefficients[0] * x


def _check_message(place: Place, port: str, judge: Judge, rng: Any) -> None:
    held = place.factor.ports[port]
    x = random_points(held.type, (POINTS,), held.event, rng)
    ndims = (1, 2) if held.event else (0, 0)

    def by_rule() -> Values:
        message = _spread(
            place.node.message(port, place.inbox()), ndims[: 1 if held.type == "binary" else 2], held.event
        )
        return _rows(lambda row: log_message(held.type, [c[row] for c in message], x))

    judge.compare("message", f"toward {port}", place.given, by_rule, _expectation(place, {port: x}))


def _check_match(place: Place, port: str, judge: Judge) -> None:
    """log Z, mean and variance of factor times cavity, the marginal of the port standing for the cavity."""
    density = place.node.log_density

    def by_rule() -> Values:
        q = place.inbox()
        mean, var = q[port].mean, q[port].var
        sent = place.node.match(port, q, mean, var)
        precision = 1.0 / var + sent.precision
        moments = (sent.log_normaliser, (mean / var + sent.linear) / precision, 1.0 / precision)
        return np.stack([np.broadcast_to(part, (ROWS.size,)) for part in moments])

    def quadrature(coarse: bool) -> Values:
        found = []
        for row in range(ROWS.size):
            axes = place.axes(row, (), coarse)
            z, first, second = (
                float(expected(lambda v, k=k: np.exp(density(v)) * v[port] ** k, axes, {})[0]) for k in range(3)
            )
            found.append([np.log(z), first / z, second / z - (first / z) ** 2])
        return np.array(found).T

    judge.compare("match", f"toward {port}", place.given, by_rule, quadrature)


def _check_energy(place: Place, judge: Judge) -> None:
    def by_rule() -> Values:
        return _spread((place.node.average_energy(place.inbox()),), (0,), ())[0]

    def quadrature(coarse: bool) -> Values:
        axes = [place.axes(row, (), coarse) for row in range(ROWS.size)]
        return -np.concatenate([expected(place.node.log_density, a, {}) for a in axes])

    judge.compare("average_energy", "of all", place.given, by_rule, quadrature)


def _check_linear(place: Place, judge: Judge, rng: Any) -> Linear | None:
    """The Gaussian potential on the group; returned where it can be used to go on."""
    ports = f"of ({', '.join(place.group)})"
    points = {p: random_points("real", (POINTS,), place.factor.ports[p].event, rng) for p in place.group}
    found: list[Linear] = []

    def by_rule() -> Values:
        found.append(place.node.linear(frozenset(place.group), place.inbox()))
        return _rows(lambda row: _log_potential(found[0], points, row))

    before = len(judge.absent)
    judge.compare("linear", ports, place.given, by_rule, _expectation(place, points))
    if len(judge.absent) > before:
        judge.fail("linear", ports, place.given, "couples declares this pair, but there is no rule for it")
    return found[0] if found and judge.rows[-1].passed else None


def _log_potential(linear: Linear, points: Mapping[str, Values], row: int) -> Values:
    """-(out - C in - o)' W (out - C in - o) / 2 - in' extra in / 2, less its value at the first point."""

    def at(array: Values | None, event_ndim: int) -> Any:
        if array is None:
            return 0.0
        return np.broadcast_to(array, (ROWS.size, *array.shape[array.ndim - event_ndim :]))[row]

    x, u = points[linear.output], points[linear.input]
    C = at(linear.coefficient, 2 if linear.vector_output else int(linear.vector_input))
    extra, W = at(linear.extra, 2 * int(linear.vector_input)), at(linear.precision, 2 * int(linear.vector_output))
    mapped = u @ C.T if linear.vector_output else u @ C if linear.vector_input else C * u
    deviation = x - mapped - at(linear.offset, int(linear.vector_output))
    form = np.einsum("ki,ij,kj->k", deviation, W, deviation) if linear.vector_output else W * deviation**2
    own = np.einsum("ki,ij,kj->k", u, extra * np.ones((1, 1)), u) if linear.vector_input else extra * u**2
    return -0.5 * (form + own)


def _check_joint_message(place: Place, judge: Judge, rng: Any) -> None:
    w, tau = place.group
    event = place.factor.ports[w].event
    d = length(event)
    points = {w: random_points("real", (POINTS,), event, rng), tau: random_points("positive", (POINTS,), (), rng)}
    u, t = points[w].reshape(POINTS, d), points[tau]
    # the prior of a pair sends the exponent of tau without the d/2 that belongs to w given tau
    own = 0.5 * d if set(place.group) <= set(place.node.outputs) else 0.0

    def by_rule() -> Values:
        message = place.node.joint_message(frozenset(place.group), place.inbox())
        h, L, log, rate = _spread(message, (1, 2, 0, 0), (d,))
        return _rows(lambda k: t * log_message("real", (h[k], L[k]), u) + (log[k] + own) * np.log(t) - rate[k] * t)

    judge.compare("joint_message", f"toward ({w}, {tau})", place.given, by_rule, _expectation(place, points))


def _check_forward(place: Place, port: str, judge: Judge) -> None:
    """Mean and covariance of the message, with the ports that are no Gaussians at their mean or averaged too."""
    held, node = place.factor.ports[port], place.node
    if length(held.event) not in REACH:
        return
    without = node.outputs if port in node.outputs else ()
    try:
        q = node.forward(port, place.inbox(tuple(without))).broadcast_to((ROWS.size,))
    except NoRule:
        judge.absent.append(f"forward toward {port}")
        return
    except Exception as error:  # an author's rule may raise anything; what it raised is the finding
        judge.fail("forward", f"toward {port}", place.given, f"raised {type(error).__name__}: {error}")
        return
    _compare_forward(place, port, q, judge)


def _compare_forward(place: Place, port: str, q: Distribution, judge: Judge) -> None:
    types = {p: place.factor.ports[p].type for p in (port,)}
    events = {port: place.factor.ports[port].event}
    gaussian = [p for p in place.factor.ports if place.factor.ports[p].type == "real" or p in place.group]

    size = POINTS_OF[length(events[port])] ** length(events[port])

    def quadrature(coarse: bool, only: Sequence[str] | None) -> Values:
        found = [
            port_moments(place.node.log_density, types, events, place.axes(row, (port,), coarse, size, only), coarse)
            for row in range(ROWS.size)
        ]
        return np.stack([np.concatenate([m.mean, m.covariance.ravel()]) for m in found])

    stated = moments_of(q, events[port])
    plugged = quadrature(False, gaussian)
    averaged = np.max(np.abs(stated - plugged)) > judge.tolerance * (1.0 + np.max(np.abs(plugged)))
    close = averaged and set(place.latent) - set(gaussian) - {port} and _near(stated, quadrature(False, None), judge)
    only = None if close else gaussian
    judge.compare("forward", f"toward {port}", place.given, lambda: stated, lambda coarse: quadrature(coarse, only))


def _near(stated: Values, wanted: Values, judge: Judge) -> bool:
    return bool(np.max(np.abs(stated - wanted)) <= judge.tolerance * (1.0 + np.max(np.abs(wanted))))


def _expectation(place: Place, points: Mapping[str, Values]) -> Callable[[bool], Values]:
    """E log f over the ports that are not among the points, less its value at the first, one line a row."""

    def quadrature(coarse: bool) -> Values:
        return _rows(
            lambda row: expected(place.node.log_density, place.axes(row, tuple(points), coarse, POINTS), points)
        )

    return quadrature


def _rows(at: Callable[[int], Values]) -> Values:
    values = np.stack([np.asarray(at(row), dtype=np.float64) for row in range(ROWS.size)])
    return values - values[:, :1]


def _spread(message: Message, ndims: Sequence[int], event: tuple[int, ...]) -> list[Values]:
    """Coefficients formed and over both rows; a shape that does not fit raises."""
    if len(message) != len(ndims):
        raise ValueError(f"{len(message)} coefficients where {len(ndims)} are due")
    return [
        np.broadcast_to(full(c) if not np.isscalar(c) else np.asarray(c), (ROWS.size, *event * n))
        for c, n in zip(message, ndims, strict=True)
    ]
