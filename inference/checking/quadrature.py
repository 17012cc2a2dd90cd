"""Expectations of a log density over the marginals of its ports, on tensor grids.

Gaussian ports take Gauss-Hermite points; positive ports and probabilities the trapezoid rule in log or logit, whose
integrands decay on both sides so fast that it converges geometrically. A grid is a list of axes; ports that are not
independent share an axis.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit, logit

from inference.distributions import (
    Bernoulli,
    Beta,
    Distribution,
    Gamma,
    LogGamma,
    LogNormal,
    MvNormal,
    Normal,
    NormalGamma,
    PointMass,
)
from inference.types import Values

LogDensity = Callable[[Mapping[str, Values]], Values]
TAIL = 30.0  # nats down to which the trapezoid rule follows a tail


@dataclass(frozen=True, eq=False)
class Axis:
    """Points of one or several ports, ``(n, event...)`` each, and their weights ``(n,)``."""

    values: Mapping[str, Values]
    weights: Values


def expected(log_density: LogDensity, axes: Sequence[Axis], points: Mapping[str, Values]) -> Values:
    """E log f over the axes at every one of the ``points``, ``(k, event...)`` arrays of the ports left out.

    Example
    -------
    >>> axis = Axis({"x": np.array([0.0, 2.0])}, np.array([0.5, 0.5]))
    >>> expected(lambda v: v["x"] * v["y"], [axis], {"y": np.array([1.0, 3.0])})
    array([1., 3.])
    """
    log_f = formed(log_density, axes, points)
    for axis in reversed(axes):
        log_f = log_f @ axis.weights
    return log_f


def log_mixture(log_density: LogDensity, axes: Sequence[Axis], points: Mapping[str, Values]) -> Values:
    """log E f over the axes at every one of the points.

    Example
    -------
    >>> axis = Axis({"x": np.array([0.0])}, np.array([1.0]))
    >>> log_mixture(lambda v: v["x"] - v["y"], [axis], {"y": np.array([1.0])})
    array([-1.])
    """
    log_f = formed(log_density, axes, points).reshape(len(next(iter(points.values()))), -1)
    weights = np.ones(1)
    for axis in axes:
        weights = np.multiply.outer(weights, axis.weights).ravel()
    top = log_f.max(axis=1)
    with np.errstate(divide="ignore"):
        return top + np.log(np.exp(log_f - top[:, None]) @ weights)


def formed(log_density: LogDensity, axes: Sequence[Axis], points: Mapping[str, Values]) -> Values:
    """log f on the whole grid, points first.

    Example
    -------
    >>> formed(lambda v: 2.0 * v["y"], [], {"y": np.array([1.0])})
    array([2.])
    """
    count = len(next(iter(points.values()))) if points else 1
    values = {port: array.reshape(count, *(1,) * len(axes), *array.shape[1:]) for port, array in points.items()}
    for k, axis in enumerate(axes):
        for port, array in axis.values.items():
            values[port] = array.reshape(*(1,) * (k + 1), -1, *(1,) * (len(axes) - 1 - k), *array.shape[1:])
    return np.broadcast_to(log_density(values), (count, *(len(axis.weights) for axis in axes)))


def marginal_axis(port: str, q: Distribution, order: int, widen: float = 1.0) -> Axis:
    """The points of one marginal without batch: ``order`` a Gaussian coordinate, else steps widened by ``widen``.

    Example
    -------
    >>> axis = marginal_axis("x", Normal(1.0, 4.0), 3)
    >>> round(float(axis.weights @ axis.values["x"] ** 2), 12)
    5.0
    """
    if isinstance(q, PointMass):
        return Axis({port: q.value[None]}, np.ones(1))
    if isinstance(q, MvNormal):
        return _axis(port, normal_points(q.mean(), q.covariance, order))
    if isinstance(q, Normal):
        return _axis(port, _scalar(normal_points(q.mean()[None], q.var()[None, None], order)))
    if isinstance(q, LogNormal):
        points, weights = _scalar(normal_points(q.mean_log()[None], q.var_log()[None, None], order))
        return Axis({port: np.exp(points)}, weights)
    if isinstance(q, Bernoulli):
        p = float(q.probability)
        return Axis({port: np.array([0.0, 1.0])}, np.array([1.0 - p, p]))
    return _axis(port, _trapezoid(q, widen))


def normal_points(mean: Values, covariance: Values, order: int) -> tuple[Values, Values]:
    """Gauss-Hermite points ``(order^d, d)`` of a Gaussian vector, and weights.

    Example
    -------
    >>> points, weights = normal_points(np.zeros(2), np.eye(2), 3)
    >>> points.shape, round(float(weights.sum()), 12)
    ((9, 2), 1.0)
    """
    nodes, weights = _gauss(order)
    d = len(mean)
    grid = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), axis=-1).reshape(-1, d)
    product = np.prod(np.stack(np.meshgrid(*[weights] * d, indexing="ij"), axis=-1).reshape(-1, d), axis=-1)
    return mean + grid @ np.linalg.cholesky(covariance).T, product / product.sum()


def normal_gamma_axis(ports: tuple[str, str], q: NormalGamma, scalar: bool, order: int, widen: float = 1.0) -> Axis:
    """Points of (w, tau) together: tau on its own grid, w Gauss-Hermite given it.

    Example
    -------
    >>> pair = NormalGamma(mean=[1.0], precision=[[4.0]], shape=3.0, rate=2.0)
    >>> axis = normal_gamma_axis(("w", "tau"), pair, True, 4)
    >>> round(float(axis.weights @ (axis.values["tau"] * axis.values["w"])), 9)
    1.5
    """
    tau, tau_weights = _trapezoid(q.marginal_precision(), widen)
    held = q.arrays()
    spread, weights = normal_points(np.zeros(q.event_shape), np.linalg.inv(held["precision"]), order)
    w = (held["mean"] + spread / np.sqrt(tau)[:, None, None]).reshape(-1, *q.event_shape)
    values = {ports[0]: w[:, 0] if scalar else w, ports[1]: np.repeat(tau, len(weights))}
    return Axis(values, np.outer(tau_weights, weights).ravel())


_gauss = cache(np.polynomial.hermite_e.hermegauss)


def _axis(port: str, points: tuple[Values, Values]) -> Axis:
    return Axis({port: points[0]}, points[1])


def _scalar(points: tuple[Values, Values]) -> tuple[Values, Values]:
    return points[0][:, 0], points[1]


def _trapezoid(q: Distribution, widen: float) -> tuple[Values, Values]:
    """In the log of a Gamma and in the logit of a Beta; these steps reach twelve digits."""
    if isinstance(q, Beta):
        a, b = float(q.a), float(q.b)
        u = _line(float(logit(a / (a + b))), 3.0 + TAIL / a, 3.0 + TAIL / b, 0.4 * widen)
        x = expit(u)
        return x, _normalised(a * np.log(x) + b * np.log1p(-x))
    if not isinstance(q, Gamma | LogGamma):
        raise TypeError(f"no quadrature for {type(q).__name__}")
    a, rate = float(q.shape), float(q.rate) if isinstance(q, Gamma) else 1.0 / float(q.scale)
    u = _line(float(np.log(a / rate)), 1.0 + TAIL / a, float(np.log(3.0 + 2.0 * TAIL / a)), 0.25 * widen)
    return np.exp(u) if isinstance(q, Gamma) else u, _normalised(a * u - rate * np.exp(u))


def _line(centre: float, left: float, right: float, step: float) -> Values:
    return centre + step * np.arange(-np.ceil(left / step), np.ceil(right / step) + 1.0)


def _normalised(log_weights: Values) -> Values:
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()
