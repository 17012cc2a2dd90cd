"""Evidence and leave-one-out have a floor unless the features reproduce the targets with rows to spare (theory 3.7)."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import qr

from corners.claims import CLAIMS
from corners.claims._base import CONDITIONAL, Claim, Condition, Finding, Margin, at_least, at_most, conditional_if
from corners.claims._problems import Problem, drawn_problem
from corners.claims._shared_cell import end_slope
from corners.exact import Evidence
from corners.types import Array, Float

POINTS = 300
SHARES = np.array([1e-6, 1e-7])
"""Noise variances at which a fall is measured, in units of the targets' mean square."""
CONDITION = (
    "the targets are no exact linear function of the features (all zero included); where the features have as many "
    "independent columns as rows it is enough that the targets are not all zero"
)


@CLAIMS.register("closed_cells_are_bounded")
@dataclass(frozen=True)
class ClosedCellsAreBounded(Claim):
    """Both closed objectives over ``(α, σ²)``: above a floor here, without one in three degenerate versions.

    With ``R₀`` the squared targets outside the span, ``-log Z`` and ``F_loo`` are at least ``½N log 2πσ² + R₀/2σ²``,
    so at least ``½N(log 2πR₀/N + 1)``. Values at scattered hyperparameters come from an eigendecomposition of
    ``ΨΨᵀ`` and the diagonal of ``C⁻¹``, and must not lie below the least ones that are found. Where the targets are
    in the span and rows are spare, both fall with ``log σ²``: zero targets; rows in pairs that the features
    interpolate; any exact linear function. Rows in pairs alone are not enough: with fewer units than pairs ``F_loo``
    keeps its floor.
    """

    name: ClassVar[str] = "closed_cells_are_bounded"
    statement: ClassVar[str] = (
        "The evidence and the leave-one-out objective are bounded over prior precision and noise."
    )
    formula: ClassVar[str] = "-log Z, F_loo ≥ (N/2)(log 2πR₀/N + 1), R₀ = min_w ‖y - Ψw‖²"
    claimed_in: ClassVar[str] = "theory 3.7, 7.1"
    expected: ClassVar[str] = CONDITIONAL

    @classmethod
    def example(cls) -> "ClosedCellsAreBounded":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Forty rows of six tanh features."""
        return drawn_problem("40 rows, 6 tanh features", rows=40, width=6, seed=5)

    def check(self, problem: Problem) -> Finding:
        """The floor on the problem, and the falls of its degenerate versions."""
        cell = Evidence(problem.features, problem.targets)
        lowest = 1e-10 * max(float((problem.targets**2).mean()), 1e-10)
        least = np.array(
            [
                -cell.maximise(noise_var_floor=lowest).log_evidence,
                cell.maximise_leave_one_out(noise_var_floor=lowest).objective,
            ]
        )
        floor = _floor(problem)
        above = least - floor if math.isfinite(floor) else np.full(2, -math.inf)
        scattered = _scattered(problem) - least[:, None]
        margins = [
            at_least("least -log Z above the floor", above[0], 0.0, "nats"),
            at_least("least F_loo above the floor", above[1], 0.0, "nats"),
            at_least(f"-log Z at {POINTS} scattered (α, σ²) above the least", scattered[0].min(), -1e-6, "nats"),
            at_least(f"F_loo at {POINTS} scattered (α, σ²) above the least", scattered[1].min(), -1e-6, "nats"),
        ]
        degenerate = _degenerate(problem)
        for name, (version, rate) in degenerate.items():
            found = _slopes(version, along_null=not version.targets.any())
            worst = float(np.abs(found / np.array(rate) - 1.0).max())
            margins.append(at_most(f"{name}: slopes in log σ² from {rate[0]:g} and {rate[1]:g}, relative", worst, 0.02))
        twice = _twice(problem)
        if np.isfinite(_floor(twice)):
            pairs = Evidence(twice.features, twice.targets).maximise_leave_one_out(noise_var_floor=lowest).objective
            margins.append(at_least("every row twice: least F_loo above the floor", pairs - _floor(twice), 0.0, "nats"))
        sentence = (
            f"least -log Z {least[0]:.2f} and least F_loo {least[1]:.2f} nats lie above the floor of {floor:.2f}; "
            f"both fall without bound for {', '.join(degenerate)}"
        )
        return conditional_if(tuple(margins), sentence, Condition(CONDITION, _distance(problem)))


def _outside(problem: Problem) -> float:
    """``R₀``: the squared targets outside the span of the features, by least squares."""
    weights = np.linalg.lstsq(problem.features, problem.targets, rcond=None)[0]
    return float(((problem.targets - problem.features @ weights) ** 2).sum())


def _ratio(problem: Problem) -> float:
    """``s²_min/s²_max`` over as many singular values as there are rows; zero where a row is spare."""
    singular = np.linalg.svd(problem.features, compute_uv=False)
    full = len(singular) == problem.rows and singular[-1] > 1e-10 * singular[0]
    return float((singular[-1] / singular[0]) ** 2) if full else 0.0


def _floor(problem: Problem) -> float:
    """A number below both objectives, minus infinity where there is none.

    Without spare rows all eigenvalues of ``C`` stay within the ratio ``ρ`` of each other, and ``ρ²‖y‖²`` takes the
    place of ``R₀``.
    """
    size, ratio = float((problem.targets**2).sum()), _ratio(problem)
    held = ratio**2 * size if ratio else _outside(problem)
    if held <= 1e-20 * size or size == 0.0:
        return -math.inf
    return 0.5 * problem.rows * (math.log(2.0 * math.pi * held / problem.rows) + 1.0)


def _distance(problem: Problem) -> Margin:
    """How far the problem is from the degenerate ones."""
    ratio, size = _ratio(problem), float((problem.targets**2).sum())
    if ratio and size:
        return at_least("no spare row: smallest over largest eigenvalue of ΨΨᵀ", ratio, 1e-20)
    return at_least("share of the squared targets outside the span", _outside(problem) / size if size else 0.0, 1e-20)


def _scattered(problem: Problem) -> Float[Array, "2 G"]:
    """Both objectives at random hyperparameters, from the eigenvalues of ``ΨΨᵀ`` and the diagonal of ``C⁻¹``."""
    generator = problem.generator()
    values, vectors = np.linalg.eigh(problem.features @ problem.features.T)
    seen, size = np.maximum(values, 0.0), max(float((problem.targets**2).mean()), 1e-300)
    inside = vectors.T @ problem.targets
    found = np.empty((2, POINTS))
    for column in range(POINTS):
        noise_var = size * 10.0 ** generator.uniform(-4.0, 2.0)
        eigen = noise_var + seen * size / max(float(seen.mean()), 1e-300) * 10.0 ** generator.uniform(-5.0, 5.0)
        diagonal = vectors**2 @ (1.0 / eigen)
        left_out = (vectors @ (inside / eigen)) / diagonal
        found[0, column] = 0.5 * (np.log(2.0 * np.pi * eigen) + inside**2 / eigen).sum()
        found[1, column] = 0.5 * (np.log(2.0 * np.pi / diagonal) + left_out**2 * diagonal).sum()
    return found


def _twice(problem: Problem) -> Problem:
    return replace(problem, features=np.vstack([problem.features] * 2), targets=np.tile(problem.targets, 2))


def _degenerate(problem: Problem) -> dict[str, tuple[Problem, tuple[float, float]]]:
    """Versions without a floor, each with the slopes of ``-log Z`` and ``F_loo`` in ``log σ²``."""
    rows, rank = problem.rows, int(np.linalg.matrix_rank(problem.features))
    chosen = np.asarray(qr(problem.features.T, mode="r", pivoting=True)[-1])[:rank]
    targets = problem.targets[chosen] if problem.targets[chosen].any() else np.ones(rank)
    few = replace(problem, features=problem.features[chosen], targets=targets)
    weights = problem.generator().normal(size=problem.width)
    exact = _twice(replace(problem, targets=problem.features @ weights))
    return {
        "targets that are all zero": (replace(problem, targets=np.zeros(rows)), (0.5 * rows, 0.5 * rows)),
        f"{rank} interpolated rows in pairs": (_twice(few), (0.5 * rank, float(rank))),
        "an exact linear function, every row twice": (exact, (rows - 0.5 * rank, float(rows))),
    }


def _slopes(problem: Problem, *, along_null: bool) -> Float[Array, "2"]:
    """Slopes of both objectives in ``log σ²``: at a fixed ``α``, or at a fixed ``ασ²`` towards the null model."""
    cell = Evidence(problem.features, problem.targets)
    noise_vars = SHARES * (float((problem.targets**2).mean()) or 1.0)
    values = []
    for noise_var in noise_vars:
        alpha = 1.0 / noise_var if along_null else problem.prior_precision
        scale = noise_var**0.5
        values.append([-cell.log_evidence(alpha, scale), cell.leave_one_out(alpha, scale).total])
    return np.array([end_slope(np.log(noise_vars), column) for column in np.transpose(values)])
