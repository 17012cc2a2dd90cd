"""Moments of a port under its factor, by quadrature on a grid that moves to where the mass is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from inference.checking.draws import length
from inference.checking.quadrature import Axis, LogDensity, log_mixture
from inference.types import Values

Events = Mapping[str, tuple[int, ...]]
POINTS = {1: 241, 2: 81, 3: 61}
REACH = {1: 5.0, 2: 4.0, 3: 4.4}
PASSES = 6


@dataclass(frozen=True, eq=False)
class PortMoments:
    """The log integral over some ports, and mean and covariance of their coordinates side by side."""

    log_integral: float
    mean: Values
    covariance: Values


def port_moments(
    log_density: LogDensity, types: Mapping[str, str], events: Events, axes: Sequence[Axis], coarse: bool = False
) -> PortMoments:
    """Moments of the ports in ``types`` under E f, the expectation over ``axes``.

    Reals are integrated as they are, positive ports in their log, probabilities in their logit, on a grid
    centre + root sinh(t); each pass centres it on the moments of the one before.

    Example
    -------
    >>> normal = lambda v: -0.5 * (v["x"] - 3.0) ** 2 / 4.0
    >>> found = port_moments(normal, {"x": "real"}, {"x": ()}, [])
    >>> round(float(found.mean[0]), 9), round(float(found.covariance[0, 0]), 9)
    (3.0, 4.0)
    """
    if set(types.values()) == {"binary"}:
        return _binary(log_density, next(iter(types)), axes)
    d = sum(length(events[p]) for p in types)
    centre, root = np.zeros(d), 3.0 * np.eye(d)
    for k in range(PASSES):
        u, log_jacobian, spacing = _grid(centre, root, 7.0 if k == 0 and d == 1 else REACH[d], coarse)
        points, log_slope = _onto_support(u, types, events)
        log_mass = log_mixture(log_density, axes, points) + log_slope + log_jacobian
        total = _log_sum(log_mass)
        mass = np.exp(log_mass - total)
        centre, covariance = _moments(u, mass)
        if k > 0 and np.allclose(covariance, root @ root.T, rtol=0.05, atol=0.05 * np.trace(covariance)):
            break
        root = np.linalg.cholesky(covariance + np.diag(spacing[np.argmax(mass)] ** 2) / 4.0**k)
    values = np.concatenate([a.reshape(len(u), -1) for a in points.values()], axis=1)
    return PortMoments(total, *_moments(values, mass))


def _binary(log_density: LogDensity, port: str, axes: Sequence[Axis]) -> PortMoments:
    log_mass = log_mixture(log_density, axes, {port: np.array([0.0, 1.0])})
    total = _log_sum(log_mass)
    p = np.exp(log_mass[1:] - total)
    return PortMoments(total, p, (p * (1.0 - p))[:, None])


def _grid(centre: Values, root: Values, reach: float, coarse: bool) -> tuple[Values, Values, Values]:
    """Points, their log volumes, and the spacing along each coordinate."""
    d = len(centre)
    t, step = np.linspace(-reach, reach, int(POINTS[d] * (0.7 if coarse else 1.0)), retstep=True)
    grid = np.stack(np.meshgrid(*[t] * d, indexing="ij"), axis=-1).reshape(-1, d)
    log_slope = np.log(np.cosh(grid)) + np.log(step)
    log_volume = log_slope.sum(axis=1) + np.linalg.slogdet(root)[1]
    return centre + np.sinh(grid) @ root.T, log_volume, np.exp(log_slope) * np.sqrt((root**2).sum(axis=1))


def _onto_support(u: Values, types: Mapping[str, str], events: Events) -> tuple[dict[str, Values], Values]:
    points, log_slope, start = {}, np.zeros(len(u)), 0
    for port, kind in types.items():
        part = u[:, start : start + length(events[port])]
        start += part.shape[1]
        if kind == "positive":
            part = np.clip(part, -300.0, 300.0)
            log_slope, part = log_slope + part[:, 0], np.exp(part)
        elif kind == "probability":
            part = np.clip(part, -36.0, 36.0)
            log_slope = log_slope - np.logaddexp(0.0, part[:, 0]) - np.logaddexp(0.0, -part[:, 0])
            part = expit(part)
        points[port] = part if events[port] else part[:, 0]
    return points, log_slope


def _log_sum(log_mass: Values) -> float:
    top = float(log_mass.max())
    return top + float(np.log(np.exp(log_mass - top).sum()))


def _moments(values: Values, mass: Values) -> tuple[Values, Values]:
    mean = mass @ values
    deviation = values - mean
    return mean, (mass[:, None] * deviation).T @ deviation
