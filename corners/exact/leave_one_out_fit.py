"""Hyperparameters that minimise the leave-one-out objective, by its one-dimensional profile (theory 3.3, 3.7)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from corners.exact.bracketing import root_between
from corners.exact.empirical_bayes import NOISE_VAR_FLOOR, TIE
from corners.exact.factorisation import Factorisation, residuals, shrink
from corners.numerics import LOG_2PI
from corners.types import Array, Float

CHUNK = 32
VANISHING = (
    "degenerate: the leave-one-out errors vanish (targets that are all zero, or that the features reproduce with rows "
    "to spare), so the objective falls without bound as the noise does; noise_var is held at its floor"
)
AT_EDGE = (
    "prior precision at the edge of the search: the leave-one-out objective still falls as the ridge goes to zero; "
    "there is no minimum at a positive ridge, bound the prior precision or add a hyperprior"
)


@dataclass(frozen=True)
class LeaveOneOutFit:
    """Hyperparameters that minimise ``F_loo``, with a sentence as status; ``inf`` is the null model."""

    prior_precision: float
    noise_scale: float
    objective: float
    status: str
    converged: bool

    @property
    def noise_var(self) -> float:
        """``σ²``."""
        return self.noise_scale**2


class Profile(NamedTuple):
    """``F_loo`` at the best noise for each ridge: objective, noise variance and the unclamped ``σ̂²_loo``."""

    objective: Float[Array, " G"]
    noise_var: Float[Array, " G"]
    free_noise_var: Float[Array, " G"]


def maximise_leave_one_out(factorisation: Factorisation, *, noise_var_floor: float = NOISE_VAR_FLOOR) -> LeaveOneOutFit:
    """Global minimum of ``F_loo`` over ``α`` and ``σ² ≥ floor``.

    A scan of ``log λ`` brackets every basin; in each the root of the slope is taken.

    The profile is ``σ̂²_loo(λ) = (1/N)Σ r*²/(1−h)``. Reference: theory 3.3.

    Example
    -------
    >>> from corners.exact.factorisation import factorise
    >>> pairs = factorise(np.array([[1.0], [1.0]]), np.array([2.0, 2.0]))  # each row predicts its copy
    >>> maximise_leave_one_out(pairs).status.startswith("degenerate")
    True
    """
    null = _null_model(factorisation, noise_var_floor)
    if not len(factorisation.reached) or null.status.startswith("degenerate"):
        return null
    grid = _grid(factorisation)
    profile = leave_one_out_profile(factorisation, np.exp(grid), noise_var_floor)
    padded = np.concatenate([[np.inf], profile.objective, [np.inf]])
    lowest = np.flatnonzero((padded[1:-1] <= padded[:-2]) & (padded[1:-1] < padded[2:]))
    best = null
    for index in lowest:
        candidate = _refine(factorisation, grid, int(index), noise_var_floor)
        if candidate.objective < best.objective - TIE * (1.0 + abs(best.objective)):
            best = candidate
    return best


def leave_one_out_profile(
    factorisation: Factorisation, ridges: Float[Array, " G"], noise_var_floor: float = NOISE_VAR_FLOOR
) -> Profile:
    """The profile of ``F_loo`` on given ridges ``λ = ασ²``, nats, ``O(Nk)`` each. Reference: theory 3.3.

    Example
    -------
    >>> from corners.exact.factorisation import factorise
    >>> one = factorise(np.array([[1.0], [1.0]]), np.array([1.0, -1.0]))
    >>> leave_one_out_profile(one, np.array([1.0])).noise_var.round(12).tolist()  # r² = 1, h = ⅓
    [1.5]
    """
    count = len(factorisation.left)
    free, log_spare = np.empty(len(ridges)), np.empty(len(ridges))
    for start in range(0, len(ridges), CHUNK):
        part = slice(start, start + CHUNK)
        lost = 1.0 / (1.0 + factorisation.singular2[:, None] / ridges[part])
        spare = np.atleast_1d(factorisation.unreached)[:, None] + factorisation.left2 @ lost
        residual = factorisation.outside[:, None] + factorisation.left @ (lost * factorisation.projected[:, None])
        free[part] = (residual**2 / spare).sum(axis=0) / count
        log_spare[part] = np.log(spare).sum(axis=0)
    noise = np.maximum(free, noise_var_floor)
    return Profile(0.5 * (count * (LOG_2PI + np.log(noise) + free / noise) - log_spare), noise, free)


def _grid(factorisation: Factorisation) -> Float[Array, " G"]:
    """``log λ`` from far below the smallest reached squared singular value to far above the largest."""
    reached = factorisation.reached
    return np.arange(math.log(reached.min()) - 25.0, math.log(reached.max()) + 12.0, 0.5)


def _null_model(factorisation: Factorisation, floor: float) -> LeaveOneOutFit:
    """``α = ∞``: every plate is predicted by zero."""
    count = len(factorisation.left)
    mean_square = (factorisation.outside2 + float(factorisation.projected2.sum())) / count
    noise = max(mean_square, floor)
    objective = 0.5 * count * (LOG_2PI + math.log(noise) + mean_square / noise)
    status = "null model: no finite prior precision predicts better than a mean of zero"
    if mean_square == 0.0:
        status = f"{VANISHING} {floor:.3g}"
    return LeaveOneOutFit(math.inf, math.sqrt(noise), objective, status, True)


def _refine(factorisation: Factorisation, grid: Float[Array, " G"], index: int, floor: float) -> LeaveOneOutFit:
    """Root of the slope between the neighbours of a grid minimum; the edges of the grid are said to be edges."""
    at_edge = index in (0, len(grid) - 1)
    log_ridge = float(grid[index])
    ends = float(grid[max(index - 1, 0)]), float(grid[min(index + 1, len(grid) - 1)])
    if not at_edge and _slope(factorisation, ends[0], floor) < 0.0 < _slope(factorisation, ends[1], floor):
        log_ridge = root_between(lambda t: _slope(factorisation, t, floor), *ends)
    profile = leave_one_out_profile(factorisation, np.array([math.exp(log_ridge)]), floor)
    noise, free = float(profile.noise_var[0]), float(profile.free_noise_var[0])
    status = "converged: the hyperparameters are a stationary point of the leave-one-out objective"
    if free <= floor:
        status = f"{VANISHING} {floor:.3g}"
    elif at_edge:
        status = AT_EDGE
    return LeaveOneOutFit(
        math.exp(log_ridge) / noise, math.sqrt(noise), float(profile.objective[0]), status, not at_edge
    )


def _slope(factorisation: Factorisation, log_ridge: float, floor: float) -> float:
    """``dF_loo/d log λ`` at the profiled noise (whose own derivative vanishes, or is held by the floor)."""
    shrinkage = shrink(factorisation, math.exp(log_ridge))
    half = shrinkage.lost * shrinkage.kept
    spare = factorisation.unreached + factorisation.left2 @ shrinkage.lost
    residual = residuals(factorisation, shrinkage)
    noise = max(float((residual**2 / spare).mean()), floor)
    standardised = residual / (noise * spare)
    spare_slope = -0.5 * (1.0 + residual * standardised) / spare
    return float(
        spare_slope @ (factorisation.left2 @ half)
        + standardised @ (factorisation.left @ (half * factorisation.projected))
    )
