"""Random marginals and points for ports of every type, near the origin and of order one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from inference.distributions import (
    Bernoulli,
    Beta,
    Distribution,
    Gamma,
    LogGamma,
    LogNormal,
    MvNormal,
    Normal,
    PointMass,
)
from inference.types import Values


def random_marginal(kind: str, shape: tuple[int, ...], event: tuple[int, ...], rng: Any) -> Distribution:
    """A proper marginal near the origin; ``kind`` is a port type or the name of a special form.

    Example
    -------
    >>> random_marginal("positive", (2,), (), np.random.default_rng(0)).batch_shape
    (2,)
    """
    if kind in ("real", "diagonal"):
        mean, covariance = random_moments(shape, length(event), rng)
        if kind == "diagonal":
            return MvNormal(mean, diag=np.diagonal(covariance, axis1=-2, axis2=-1))
        return MvNormal(mean, cov=covariance) if event else Normal(mean[..., 0], covariance[..., 0, 0])
    if kind.startswith("point"):
        return PointMass(random_points(kind.removeprefix("point "), shape, event, rng), event_ndim=len(event))
    a, b = rng.uniform(4.0, 7.0, shape), rng.uniform(0.6, 1.6, shape)
    made: dict[str, Callable[[], Distribution]] = {
        "positive": lambda: Gamma(a, a * b),
        "log-gamma": lambda: LogGamma(1.0 / (a * b), a),
        "log-normal": lambda: LogNormal(b - 1.0, 0.05 * a),
        "probability": lambda: Beta(a, 4.0 * b),
        "binary": lambda: Bernoulli(b / 2.0),
    }
    return made[kind]()


def random_points(kind: str, shape: tuple[int, ...], event: tuple[int, ...], rng: Any) -> Values:
    """Points where a port of this type may be.

    Example
    -------
    >>> sorted(set(random_points("binary", (8,), (), np.random.default_rng(0)).tolist()))
    [0.0, 1.0]
    """
    if kind == "real":
        return rng.normal(0.0, 1.2, (*shape, *event))
    if kind == "positive":
        return np.asarray(np.exp(rng.normal(0.0, 0.6, shape)))
    if kind == "probability":
        return np.asarray(rng.uniform(0.1, 0.9, shape))
    return np.resize(np.array([0.0, 1.0]), shape)


def random_moments(shape: tuple[int, ...], d: int, rng: Any) -> tuple[Values, Values]:
    """A mean and a covariance with correlations.

    Example
    -------
    >>> [a.shape for a in random_moments((3,), 2, np.random.default_rng(0))]
    [(3, 2), (3, 2, 2)]
    """
    root = rng.normal(0.0, 0.6, (*shape, d, d))
    return rng.normal(0.0, 0.8, (*shape, d)), root @ root.swapaxes(-1, -2) / d + 0.2 * np.eye(d)


def length(event: tuple[int, ...]) -> int:
    """Coordinates of an event, 1 of a scalar.

    Example
    -------
    >>> length(()), length((3,))
    (1, 3)
    """
    return event[0] if event else 1
