"""The exact posterior and evidence of linear-Gaussian factors on scalars, by one dense solve in information form."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

Array = np.ndarray

LOG_2PI = float(np.log(2.0 * np.pi))


class Scalar(NamedTuple):
    """``N(coefficients' x; target, 1/precision)`` for latent x; coefficients by their place in x."""

    coefficients: dict[int, float]
    target: float
    precision: float


class Exact(NamedTuple):
    """Mean (n,), covariance (n, n) and log evidence."""

    mean: Array
    cov: Array
    log_evidence: float


def solved(size: int, factors: Iterable[Scalar]) -> Exact:
    """Multiply the factors and integrate x out."""
    h, P, constant = np.zeros(size), np.zeros((size, size)), 0.0
    for coefficients, target, precision in factors:
        c = np.zeros(size)
        for place, value in coefficients.items():
            c[place] += value
        h += precision * target * c
        P += precision * np.outer(c, c)
        constant += 0.5 * (np.log(precision) - LOG_2PI - precision * target**2)
    cov = np.linalg.inv(P)
    mean = np.linalg.solve(P, h)
    log_det = np.linalg.slogdet(P)[1]
    return Exact(mean, cov, float(constant + 0.5 * (h @ mean - log_det + size * LOG_2PI)))


def prior(place: int, mean: float, precision: float) -> Scalar:
    """``N(x_place; mean, 1/precision)``."""
    return Scalar({place: 1.0}, mean, precision)


def link(child: int, parent: int, precision: float, weight: float = 1.0) -> Scalar:
    """``N(x_child; weight x_parent, 1/precision)``."""
    return Scalar({child: 1.0, parent: -weight}, 0.0, precision)


def dot(child: int, places: Sequence[int], weights: Array, precision: float) -> Scalar:
    """``N(x_child; weights' x_places, 1/precision)``."""
    return Scalar({child: 1.0} | {p: -float(w) for p, w in zip(places, weights, strict=True)}, 0.0, precision)


def seen(place: int, value: float, precision: float) -> Scalar:
    """``N(value; x_place, 1/precision)``; nothing where the value is missing."""
    return Scalar({place: 1.0}, value, precision)
