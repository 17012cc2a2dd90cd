"""Distances between a belief and posterior draws, and between the draws themselves (theory 10.3). Numpy alone."""

from itertools import combinations

import numpy as np

from inference.errors import SpecError
from inference.types import Array, Float

CHUNK = 1024  # rows of one block of pairwise distances


def gaussian_wasserstein(
    mean: Float[Array, " H"],
    covariance: Float[Array, "H H"],
    other_mean: Float[Array, " H"],
    other_covariance: Float[Array, "H H"],
) -> float:
    r"""$W_2$ of two Gaussians, $W_2^2=\|m_1-m_2\|^2+\mathrm{tr}(S_1+S_2-2(S_1^{1/2}S_2S_1^{1/2})^{1/2})$ (theory 10.3).

    In the unit of the weights; divide by $\sqrt{\mathrm{tr}\,\Sigma^*}$ for a number without unit.

    Example
    -------
    >>> gaussian_wasserstein(np.zeros(1), np.eye(1), np.array([3.0]), 25.0 * np.eye(1))
    5.0
    """
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    # tr (A^{1/2}) of A = root S_2 root is the sum of the singular values of S_2^{1/2} root.
    other_values, other_vectors = np.linalg.eigh(other_covariance)
    other_root = (other_vectors * np.sqrt(np.maximum(other_values, 0.0))) @ other_vectors.T
    overlap = np.linalg.svd(other_root @ root, compute_uv=False).sum()
    shift = ((mean - other_mean) ** 2).sum()
    squared = shift + np.trace(covariance) + np.trace(other_covariance) - 2.0 * overlap
    return float(np.sqrt(max(squared, 0.0)))


def energy_distance(draws: Float[Array, "S H"], other: Float[Array, "M H"]) -> float:
    r"""$2E\|X-Y\|-E\|X-X'\|-E\|Y-Y'\|$, unbiased: it can come out negative where the two agree (theory 10.3).

    In the unit of the weights. Judge it against :func:`energy_distance_null`.

    Raises
    ------
    SpecError : either side has fewer than two draws, or their dimensions differ.

    Example
    -------
    >>> energy_distance(np.array([[0.0], [1.0]]), np.array([[0.0], [3.0]]))  # 2 * 1.5 - 1 - 3
    -1.0
    """
    if draws.shape[1] != other.shape[1] or min(len(draws), len(other)) < 2:
        raise SpecError(f"two samples (S, H), (M, H) with S, M >= 2 are needed but got {draws.shape}, {other.shape}")
    within = _pair_sum(draws) / (len(draws) * (len(draws) - 1))
    within_other = _pair_sum(other) / (len(other) * (len(other) - 1))
    between = _pair_sum(draws, other) / (len(draws) * len(other))
    return float(2.0 * between - within - within_other)


def energy_distance_null(draws: Float[Array, "chains draws H"]) -> Float[Array, " splits"]:
    """Energy distances of the draws to themselves: all ways to put half of the half-chains against the other half.

    A distance inside the range of these numbers is what chance gives; 4 chains make 35 splits.

    Example
    -------
    >>> energy_distance_null(np.random.default_rng(0).normal(size=(4, 50, 2))).shape
    (35,)
    """
    half = draws.shape[1] // 2
    pieces = np.concatenate([draws[:, :half], draws[:, half : 2 * half]])
    count = len(pieces)
    sums = np.zeros((count, count))
    for i in range(count):
        for j in range(i, count):
            sums[i, j] = sums[j, i] = _pair_sum(pieces[i], None if i == j else pieces[j])
    size = count // 2 * half
    splits = []
    for rest in combinations(range(1, count), count // 2 - 1):  # piece 0 always on the left: no split twice
        left = np.array([0, *rest])
        right = np.setdiff1d(np.arange(count), left)
        within = sums[np.ix_(left, left)].sum() + sums[np.ix_(right, right)].sum()
        splits.append(2.0 * sums[np.ix_(left, right)].sum() / size**2 - within / (size * (size - 1)))
    return np.array(splits)


def _pair_sum(draws: Array, other: Array | None = None) -> float:
    """Sum of the Euclidean distances of all pairs (``other`` None: within ``draws``), in blocks that fit the cache."""
    centre = draws.mean(axis=0)  # differences of large squares lose digits: move the cloud to the origin
    left = draws - centre
    right = left if other is None else other - centre
    squares = (right**2).sum(axis=1)
    total = 0.0
    for start in range(0, len(left), CHUNK):
        block = left[start : start + CHUNK]
        distance = (block**2).sum(axis=1)[:, None] + squares - 2.0 * block @ right.T
        if other is None:
            np.fill_diagonal(distance[:, start:], 0.0)
        total += float(np.sqrt(np.maximum(distance, 0.0)).sum())
    return total
