"""The shared cell from scipy's normal densities: an oracle that shares no formula with :mod:`corners.exact`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import multivariate_normal, norm

from corners.claims._problems import Problem
from corners.errors import SpecError
from corners.types import Array, Float


class SharedCell(NamedTuple):
    """The two parts of ``F = −log Z_w(μ, Σ) + Σ −log N(yₙ; μᵀψₙ, σ² + ψₙᵀΣψₙ)``, nats."""

    prior: float
    data: float

    @property
    def total(self) -> float:
        """``F``, nats."""
        return self.prior + self.data


def shared_cell(
    features: Float[Array, "N H"],
    targets: Float[Array, " N"],
    mean: Float[Array, " H"],
    covariance: Float[Array, "H H"],
    prior_precision: float,
    noise_var: float,
) -> SharedCell:
    """The objective of the shared cell, every density by scipy.

    Example
    -------
    >>> parts = shared_cell(np.ones((1, 1)), np.ones(1), np.zeros(1), np.zeros((1, 1)), 1.0, 1.0)
    >>> [round(part, 4) for part in parts]  # -log N(0; 0, 1), and half a nat more
    [0.9189, 1.4189]
    """
    overlap = covariance + np.eye(len(mean)) / prior_precision
    prior = -float(multivariate_normal(cov=overlap).logpdf(mean))  # pyright: ignore[reportArgumentType]
    spread = np.einsum("na,ab,nb->n", features, covariance, features)
    data = -float(norm.logpdf(targets, features @ mean, np.sqrt(noise_var + spread)).sum())
    return SharedCell(prior, data)


def point_profile(
    features: Float[Array, "N H"], targets: Float[Array, " N"], precisions: Float[Array, " G"], noise_var: float
) -> Float[Array, " G"]:
    """``F`` with ``Σ = 0`` at the best mean for each prior precision, by normal equations and scipy's densities, nats.

    Example
    -------
    >>> point_profile(np.ones((1, 1)), np.zeros(1), np.ones(1), 1.0).round(4).tolist()  # two standard normals at zero
    [1.8379]
    """
    width = features.shape[1]
    systems = precisions[:, None, None] * np.eye(width) + features.T @ features / noise_var
    right = np.broadcast_to((features.T @ targets / noise_var)[:, None], (len(precisions), width, 1))
    means = np.linalg.solve(systems, right)[..., 0]
    prior = -norm.logpdf(means, 0.0, precisions[:, None] ** -0.5).sum(axis=1)
    return prior - norm.logpdf(targets, means @ features.T, noise_var**0.5).sum(axis=1)


def end_slope(places: Float[Array, " P"], values: Sequence[float] | Float[Array, " P"]) -> float:
    """``Δvalue/Δplace`` between the last two places.

    Example
    -------
    >>> end_slope(np.array([0.0, 1.0, 3.0]), [9.0, 2.0, 8.0])
    3.0
    """
    return float(np.diff(values)[-1] / np.diff(places)[-1])


def rows_of_one_length(problem: Problem) -> Problem:
    """The problem with every row scaled to the root mean square length; rows of zeros are left out.

    Raises
    ------
    SpecError : every row is zero.

    Example
    -------
    >>> scaled = rows_of_one_length(Problem("two rows", np.array([[3.0, 4.0], [0.0, 5.0]]), np.zeros(2)))
    >>> (scaled.features**2).sum(axis=1).tolist()
    [25.0, 25.0]
    """
    length = np.sqrt((problem.features**2).sum(axis=1))
    kept = length > 0.0
    if not kept.any():
        raise SpecError("every row of the features is zero: there is no length to give them")
    common = float(np.sqrt((length[kept] ** 2).mean()))
    features = problem.features[kept] * (common / length[kept])[:, None]
    return replace(problem, features=features, targets=problem.targets[kept])


def feature_norm_cv(features: Float[Array, "N H"]) -> float:
    """Standard deviation over mean of ``‖ψₙ‖²`` (theory 7.3).

    Example
    -------
    >>> feature_norm_cv(np.array([[1.0], [3.0]]))  # squares 1 and 9
    0.8
    """
    squares = (features**2).sum(axis=1)
    return float(squares.std() / squares.mean())
