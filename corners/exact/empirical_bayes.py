"""Type-II maximum likelihood of the closed cell: MacKay's fixed point, guarded by EM (theory 3.7)."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from corners.exact._inputs import as_problem
from corners.exact.factorisation import Factorisation, shrink
from corners.exact.spectral import spectral_log_evidence
from corners.types import Array, Float

NOISE_VAR_FLOOR = math.exp(-14.0)
"""Default floor of the noise variance (theory 5.7)."""
AT_FLOOR = (
    "the features interpolate the targets, or the targets' scale is far below 1 (rescale them or lower the floor)"
)
CONVERGED = 1e-10
TIE = 1e-12
DRIFTED = 1e14


@dataclass(frozen=True)
class EmpiricalBayes:
    """Hyperparameters that maximise the evidence; ``prior_precision = inf`` is the null model with mean 0.

    ``status`` is a sentence; ``converged`` says whether the values are a stationary point or a stated boundary.
    ``noise_fixed`` tells a noise that was given from one that was estimated.
    """

    prior_precision: float
    noise_scale: float
    effective_dimension: float
    log_evidence: float
    status: str
    converged: bool
    steps: int
    noise_fixed: bool = False

    @property
    def noise_var(self) -> float:
        """``σ²``."""
        return self.noise_scale**2


@dataclass(frozen=True)
class NullBoundary:
    """Whether ``α = ∞`` with ``σ² = ‖y‖²/N`` is a local minimum of ``−log Z``: ``yᵀKy/‖y‖² ≤ tr K/N``, ``K = ΨΨᵀ``."""

    signal: float
    threshold: float

    @property
    def is_local_minimum(self) -> bool:
        """The null model cannot be improved by a large finite ``α``."""
        return self.signal <= self.threshold


class Point(NamedTuple):
    """A pair ``(α, σ²)`` on the way."""

    prior_precision: float
    noise_var: float


def null_boundary(features: Float[Array, "N H"] | ArrayLike, targets: Float[Array, " N"] | ArrayLike) -> NullBoundary:
    """The two sides of the null-model condition, in squared units of the features. Reference: theory 3.7.

    Example
    -------
    >>> null_boundary([[1.0], [-1.0]], [1.0, 1.0])  # a feature that says nothing of the target
    NullBoundary(signal=0.0, threshold=1.0)
    """
    matrix, vector = as_problem(features, targets)
    size = float(vector @ vector)
    along = matrix.T @ vector
    signal = float(along @ along) / size if size else 0.0
    return NullBoundary(signal, float((matrix**2).sum()) / len(vector))


def maximise_evidence(
    factorisation: Factorisation,
    *,
    noise_var: float | None = None,
    noise_var_floor: float = NOISE_VAR_FLOOR,
    max_steps: int = 20_000,
) -> EmpiricalBayes:
    """Global maximum of the evidence over ``α`` and, unless given, ``σ² ≥ floor``.

    A scan of the one-dimensional profile over ``λ = ασ²`` finds every basin; each is polished by MacKay's steps ``α ←
    γ/‖μ*‖²``, ``σ² ← ‖r*‖²/(N − γ)``, taken only where they raise the evidence, else by an EM step, until ``|Δ log α|
    + |Δ log σ²| < 1e-10``. The best basin is compared with the null model ``α = ∞``. Reference: theory 3.7; MacKay
    (1992), doi:10.1162/neco.1992.4.3.415.

    Example
    -------
    >>> from corners.exact.factorisation import factorise
    >>> maximise_evidence(factorise(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0]))).prior_precision  # no signal
    inf
    """
    null = _null_model(factorisation, noise_var, noise_var_floor)
    if null.status.startswith("degenerate"):
        return null
    best = null
    for start in _basins(factorisation, noise_var, noise_var_floor):
        candidate = _polish(factorisation, start, noise_var, noise_var_floor, max_steps)
        if candidate.log_evidence > best.log_evidence + TIE * (1.0 + abs(best.log_evidence)):
            best = candidate
    return best


def _null_model(factorisation: Factorisation, noise_var: float | None, floor: float) -> EmpiricalBayes:
    """``α = ∞``, ``σ² = ‖y‖²/N``; a zero target is degenerate, its evidence has no bound but the floor."""
    mean_square = (factorisation.outside2 + float(factorisation.projected2.sum())) / len(factorisation.left)
    chosen = max(mean_square, floor) if noise_var is None else noise_var
    status = "null model: no finite prior precision has a higher evidence than a mean of zero"
    if mean_square == 0.0 and noise_var is None:
        status = (
            f"degenerate: the targets are constant (zero), so the evidence grows without bound as the noise vanishes; "
            f"noise_var is held at its floor {floor:.3g}"
        )
    elif chosen > mean_square and noise_var is None:
        status += f"; noise_var is at its floor {floor:.3g}: {AT_FLOOR}"
    value = spectral_log_evidence(factorisation, math.inf, chosen)
    return EmpiricalBayes(math.inf, math.sqrt(chosen), 0.0, value, status, True, 0, noise_var is not None)


def _basins(factorisation: Factorisation, noise_var: float | None, floor: float) -> list[Point]:
    """Local minima of the profile ``−log Z(λ)`` on a grid of ``log λ``, scale-free in the features."""
    reached = factorisation.reached
    if not len(reached):
        return []
    grid = np.exp(np.arange(math.log(reached.min()) - 25.0, math.log(reached.max()) + 12.0, 0.25))
    lost = 1.0 / (1.0 + factorisation.singular2 / grid[:, None])
    fit = (factorisation.outside2 + lost @ factorisation.projected2) / len(factorisation.left)
    noise = np.maximum(fit, floor) if noise_var is None else np.full_like(grid, noise_var)
    profile = len(factorisation.left) * (np.log(noise) + fit / noise) - np.log(lost).sum(axis=1)
    padded = np.concatenate([[np.inf], profile, [np.inf]])
    lowest = np.flatnonzero((padded[1:-1] <= padded[:-2]) & (padded[1:-1] < padded[2:]))
    return [Point(float(grid[i] / noise[i]), float(noise[i])) for i in lowest]


def _polish(
    factorisation: Factorisation, start: Point, noise_var: float | None, floor: float, max_steps: int
) -> EmpiricalBayes:
    """MacKay's steps, each replaced by an EM step where it does not raise the evidence."""
    point, value = start, spectral_log_evidence(factorisation, *start)
    converged, steps, change = False, 0, math.inf
    while not converged and steps < max_steps:
        if point.prior_precision * point.noise_var > DRIFTED * factorisation.reached.max():
            return _null_model(factorisation, noise_var, floor)  # this basin has no bottom at a finite precision
        steps += 1
        step = _mackay_step(factorisation, point, noise_var, floor)
        step_value = spectral_log_evidence(factorisation, *step) if step else -math.inf
        if step is None or step_value < value:
            step = _em_step(factorisation, point, noise_var, floor)
            step_value = spectral_log_evidence(factorisation, *step)
        change = abs(math.log(step.prior_precision / point.prior_precision))
        change += abs(math.log(step.noise_var / point.noise_var))
        point, value, converged = step, step_value, change < CONVERGED
    status = "converged: the hyperparameters are a stationary point of the evidence"
    if not converged:
        status = (
            f"step limit: {max_steps} steps moved the hyperparameters by {change:.1e} at the last one; raise max_steps"
        )
    elif noise_var is None and point.noise_var == floor:
        status = f"noise_var is at its floor {floor:.3g}: {AT_FLOOR}; prior precision converged"
    elif noise_var is not None:
        status = f"converged: prior precision estimated, noise_var fixed at {noise_var:.6g}"
    kept = float(shrink(factorisation, point.prior_precision * point.noise_var).kept.sum())
    fixed = noise_var is not None
    return EmpiricalBayes(
        point.prior_precision, math.sqrt(point.noise_var), kept, value, status, converged, steps, fixed
    )


def _mackay_step(factorisation: Factorisation, point: Point, noise_var: float | None, floor: float) -> Point | None:
    """``α ← γ/‖μ*‖²``, ``σ² ← ‖r*‖²/(N − γ)``; ``None`` where the mean is zero."""
    shrinkage = shrink(factorisation, point.prior_precision * point.noise_var)
    weights = float((shrinkage.gain**2) @ factorisation.projected2)
    if weights <= 0.0:
        return None
    spare = factorisation.spare + float(shrinkage.lost.sum())
    misfit = factorisation.outside2 + float((shrinkage.lost**2) @ factorisation.projected2)
    noise = max(misfit / spare, floor) if noise_var is None else noise_var
    return Point(float(shrinkage.kept.sum()) / weights, noise)


def _em_step(factorisation: Factorisation, point: Point, noise_var: float | None, floor: float) -> Point:
    """``α ← H/(‖μ*‖² + tr Σ*)``, ``σ² ← (‖r*‖² + σ²γ)/N``; each separately maximal, so the floor keeps it monotone."""
    shrinkage = shrink(factorisation, point.prior_precision * point.noise_var)
    count, width = len(factorisation.left), factorisation.right.shape[1]
    weights = float((shrinkage.gain**2) @ factorisation.projected2)
    spread = point.noise_var * float(shrinkage.inverse.sum()) + (width - len(shrinkage.kept)) / point.prior_precision
    misfit = factorisation.outside2 + float((shrinkage.lost**2) @ factorisation.projected2)
    noise = max((misfit + point.noise_var * float(shrinkage.kept.sum())) / count, floor)
    return Point(width / (weights + spread), noise if noise_var is None else noise_var)
