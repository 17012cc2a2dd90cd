"""Distances between a Gaussian belief and sampled weights: Gaussian Wasserstein-2 and energy distance."""

from itertools import combinations

import numpy as np
from scipy.spatial.distance import cdist, pdist

from corners.errors import DataError
from corners.types import Array, Float

ENERGY_POINTS = 500  # draws a side: 500 x 500 distances in H dimensions cost a few milliseconds


def gaussian_w2(
    first_mean: Float[Array, " H"],
    first_covariance: Float[Array, "H H"],
    second_mean: Float[Array, " H"],
    second_covariance: Float[Array, "H H"],
) -> float:
    """Wasserstein-2 distance of two Gaussians, in the unit of the weights.

    ``W₂² = ‖m₁ - m₂‖² + tr(S₁ + S₂ - 2 (S₁^½ S₂ S₁^½)^½)`` (theory 10.3). Singular covariances are allowed.

    Example
    -------
    >>> import numpy as np
    >>> gaussian_w2(np.array([3.0]), np.array([[1.0]]), np.array([0.0]), np.array([[25.0]]))
    5.0
    """
    # tr (S₁^½ S₂ S₁^½)^½ is the nuclear norm of S₂^½ S₁^½; singular values lose fewer digits than roots of eigenvalues
    cross = np.linalg.svd(psd_root(second_covariance) @ psd_root(first_covariance), compute_uv=False).sum()
    spread = np.trace(first_covariance) + np.trace(second_covariance) - 2.0 * cross
    return float(np.sqrt(((first_mean - second_mean) ** 2).sum() + max(spread, 0.0)))


def energy_distance(first: Float[Array, "S H"], second: Float[Array, "T H"]) -> float:
    """``2 E‖X - Y‖ - E‖X - X'‖ - E‖Y - Y'‖`` from draws, without bias: zero on average where the two laws are equal.

    Pairs of a draw with itself are left out, so the estimate may be slightly negative (theory 10.3).

    Example
    -------
    >>> import numpy as np
    >>> energy_distance(np.array([[0.0], [1.0]]), np.array([[4.0], [5.0]]))
    6.0
    """
    if min(len(first), len(second)) < 2:
        raise DataError(f"an energy distance needs at least two draws a side; got {len(first)} and {len(second)}")
    return float(2.0 * cdist(first, second).mean() - pdist(first).mean() - pdist(second).mean())


def energy_null(draws: Float[Array, "C S H"], points: int = ENERGY_POINTS) -> Float[Array, " K"]:
    """Energy distances of the draws to themselves: what equal laws give, autocorrelation included.

    Every chain is cut in two, and every way to put half of the pieces against the other half is one distance between at
    most ``points`` draws a side: 35 of them for four chains, one for a single chain.

    Example
    -------
    >>> energy_null(np.array([[[0.0], [1.0], [4.0], [5.0]]])).tolist()  # one chain: its first half against its second
    [6.0]
    """
    middle = draws.shape[1] // 2
    pieces = np.concatenate([draws[:, :middle], draws[:, middle : 2 * middle]])
    everyone = set(range(len(pieces)))
    # the first piece stays on the left: each way is counted once
    sides = [{0, *rest} for rest in combinations(range(1, len(pieces)), len(pieces) // 2 - 1)]
    pairs = [(thin(pieces[sorted(left)], points), thin(pieces[sorted(everyone - left)], points)) for left in sides]
    return np.array([energy_distance(*pair) for pair in pairs])


def thin(draws: Float[Array, "C S H"], points: int) -> Float[Array, "T H"]:
    """At most ``points`` draws, evenly spaced along the chains laid end to end."""
    flat = draws.reshape(-1, draws.shape[-1])
    return flat[np.linspace(0, len(flat) - 1, min(points, len(flat))).round().astype(int)]


def psd_root(matrix: Float[Array, "H H"]) -> Float[Array, "H H"]:
    """Symmetric square root of a positive semi-definite matrix; eigenvalues below zero by rounding count as zero."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
