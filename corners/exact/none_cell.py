"""Stationary prior precisions of the point belief: joint MAP in ``(w, α)``, not type-II ML (theory 7.2)."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from corners.exact._inputs import as_problem, positive
from corners.exact.bracketing import root_between
from corners.exact.factorisation import factorise
from corners.types import Array, Float

SPACING = 0.05


@dataclass(frozen=True)
class StationaryPoints:
    """All roots of ``dP/d log α`` at a fixed noise, in rising order: they alternate local minimum, barrier.

    ``largest_pull`` is ``max_α α‖μ_α‖²``; with it below ``H`` there is no root, and ``α`` runs away for certain.
    """

    roots: tuple[float, ...]
    largest_pull: float
    width: int

    @property
    def exists(self) -> bool:
        """The profile has a stationary point."""
        return bool(self.roots)

    @property
    def minimum(self) -> float | None:
        """``α*``, the first usable local minimum."""
        return self.roots[0] if self.roots else None

    @property
    def barrier(self) -> float | None:
        """The next root: beyond it the prior precision runs away (or meets a further minimum)."""
        return self.roots[1] if len(self.roots) > 1 else None

    @property
    def log_barrier_ratio(self) -> float | None:
        """``log(α_barrier/α*)``: how far ``α`` may be pushed before it escapes."""
        return math.log(self.roots[1] / self.roots[0]) if len(self.roots) > 1 else None


def none_cell_stationary_points(
    features: Float[Array, "N H"] | ArrayLike, targets: Float[Array, " N"] | ArrayLike, noise_scale: float
) -> StationaryPoints:
    """All stationary ``α`` of the shared cell with ``Σ = 0`` and ``μ`` at its optimum for each ``α``.

    ``2 dP/d log α = α‖μ_α‖² − H`` with ``α‖μ_α‖² = Σ (zᵢ²/4σ²) sech²(½ log(ασ²/sᵢ²))``: bumps of one width, so a scan
    in ``log α`` with the extrema of the sum as extra nodes brackets every simple root. Reference: theory 7.2.

    Example
    -------
    >>> points = none_cell_stationary_points([[1.0]], [4.0], noise_scale=1.0)  # 16α/(1 + α)² = 1: α = 7 ± 4√3
    >>> np.allclose(points.roots, [7 - 4 * 3**0.5, 7 + 4 * 3**0.5])
    True
    """
    matrix, vector = as_problem(features, targets)
    width = matrix.shape[1]
    factorisation = factorise(matrix, vector)
    alive = factorisation.above_rounding & (factorisation.projected2 > 0.0)
    if not alive.any():
        return StationaryPoints((), 0.0, width)
    noise_var = positive("noise_scale", noise_scale) ** 2
    centres = np.log(factorisation.singular2[alive] / noise_var)
    heights = factorisation.projected2[alive] / (4.0 * noise_var)
    reach = math.log(max(4.0 * float(heights.sum()) / width, 1.0)) + 1.0  # outside, every bump is below its share of H
    grid = np.arange(float(centres.min()) - reach, float(centres.max()) + reach + SPACING, SPACING)
    turning = np.flatnonzero(np.diff(np.sign(_slope(grid, centres, heights))) != 0)
    extrema = [root_between(partial(_slope_at, centres, heights), grid[i], grid[i + 1]) for i in turning]
    nodes = np.sort(np.concatenate([grid, np.array(extrema)]))
    excess = _pull(nodes, centres, heights) - width
    crossing = np.flatnonzero(np.diff(np.sign(excess)) != 0)
    roots = [root_between(partial(_excess_at, centres, heights, width), nodes[i], nodes[i + 1]) for i in crossing]
    return StationaryPoints(tuple(math.exp(root) for root in roots), float(excess.max()) + width, width)


def _pull(
    log_precision: Float[Array, " G"], centres: Float[Array, " K"], heights: Float[Array, " K"]
) -> Float[Array, " G"]:
    """``α‖μ_α‖²`` as a sum of bumps."""
    return (heights / np.cosh(0.5 * (log_precision[:, None] - centres)) ** 2).sum(axis=1)


def _slope(
    log_precision: Float[Array, " G"], centres: Float[Array, " K"], heights: Float[Array, " K"]
) -> Float[Array, " G"]:
    """Its derivative with respect to ``log α``."""
    half = 0.5 * (log_precision[:, None] - centres)
    return -(heights * np.tanh(half) / np.cosh(half) ** 2).sum(axis=1)


def _slope_at(centres: Float[Array, " K"], heights: Float[Array, " K"], log_precision: float) -> float:
    return float(_slope(np.array([log_precision]), centres, heights)[0])


def _excess_at(centres: Float[Array, " K"], heights: Float[Array, " K"], width: int, log_precision: float) -> float:
    return float(_pull(np.array([log_precision]), centres, heights)[0]) - width
