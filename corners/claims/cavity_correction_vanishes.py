"""What the shared cavity drops is never negative and vanishes only as leverage does (theory 3.4)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import norm

from corners.claims import CLAIMS
from corners.claims._base import (
    CONDITIONAL,
    Claim,
    Condition,
    Finding,
    at_least,
    at_most,
    conditional_if,
    relative_difference,
)
from corners.claims._problems import Problem, drawn_problem
from corners.exact import Evidence, cavity_correction
from corners.types import Array

SMALL = 0.01
"""A mean leverage below this counts as small."""
ROUNDING = 1e-9


@CLAIMS.register("cavity_correction_vanishes")
@dataclass(frozen=True)
class CavityCorrectionVanishes(Claim):
    """Leaving a plate out of the belief that scores it makes no difference, where leverage is small.

    The correction by its formula against refits without the plate, over nested sets of rows; rows as few as features
    are the counterexample. A plate's correction falls as ``1/N``, their sum does not vanish: it tends to about ``γ``.
    """

    name: ClassVar[str] = "cavity_correction_vanishes"
    statement: ClassVar[str] = "Leaving a plate out of the belief that scores it changes its data term by nothing."
    formula: ClassVar[str] = "ℓ_loo - ℓ_shared = -½ log(1-h²) + (r*²/σ²) h/(1-h²) ≥ 0, and → 0 only as h → 0"
    claimed_in: ClassVar[str] = "paper v2, shared cavity; theory 3.4"
    expected: ClassVar[str] = CONDITIONAL

    @classmethod
    def example(cls) -> "CavityCorrectionVanishes":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Rows enough for small leverage: 2048 of eight tanh features."""
        return drawn_problem("2048 rows, 8 tanh features", rows=2048, seed=4)

    def check(self, problem: Problem) -> Finding:
        """The correction of every plate over growing sets of rows."""
        sizes = [problem.rows]
        while sizes[0] > 2 * problem.width:
            sizes.insert(0, max(sizes[0] // 4, problem.width))
        found = [_corrections(problem, size) for size in sizes]
        worst = max(relative_difference(formula, refit) for formula, refit, _ in found)
        smallest = min(float(refit.min()) for _, refit, _ in found)
        means = [float(refit.mean()) for _, refit, _ in found]
        leverages = [float(leverage.mean()) for _, _, leverage in found]
        per_leverage = means[-1] / leverages[-1]
        margins = (
            at_most("formula against refits without the plate, relative", worst, ROUNDING),
            at_least("smallest correction of a plate", smallest, -1e-12, "nats"),
            at_least(f"mean correction at {sizes[0]} rows", means[0], 0.1, "nats a plate"),
            at_least(f"mean correction at {sizes[0]} rows over that at {sizes[-1]}", means[0] / means[-1], 4.0),
            at_most(f"mean correction over mean leverage at {sizes[-1]} rows", per_leverage, 2.0),
            at_least(f"mean correction over mean leverage at {sizes[-1]} rows, not below", per_leverage, 0.5),
        )
        here = at_most("mean leverage γ/N", leverages[-1], SMALL)
        condition = Condition("every leverage h_n is small, that is N ≫ γ = Σ h_n", here)
        trail = ", ".join(f"{mean:.2g} at N = {size}" for size, mean in zip(sizes, means, strict=True))
        sentence = (
            f"the mean correction is {trail} (nats a plate): about the leverage, so that it falls as 1/N while the sum "
            f"stays, {means[-1] * sizes[-1]:.1f} nats for γ = {leverages[-1] * sizes[-1]:.1f}"
        )
        return conditional_if(margins, sentence, condition)


def _corrections(problem: Problem, rows: int) -> tuple[Array, Array, Array]:
    """By the formula, by refits without the plate, and the leverage, on the first rows."""
    features, targets = problem.features[:rows], problem.targets[:rows]
    shared = Evidence(features, targets)
    held = shared.leave_one_out(problem.prior_precision, problem.noise_scale)
    formula = cavity_correction(held.leverage, held.one_minus_leverage, held.residuals, problem.noise_var)
    cell = shared.shared_closed(problem.prior_precision, problem.noise_scale)
    return formula, _refitted(problem, rows) - cell.data_terms, held.leverage


def _refitted(problem: Problem, rows: int) -> Array:
    """``-log p(y_n | the others)``: the posterior solved anew without each plate."""
    features, targets = problem.features[:rows], problem.targets[:rows]
    outer = features[:, :, None] * features[:, None, :] / problem.noise_var
    pull = features * (targets / problem.noise_var)[:, None]
    precision = problem.prior_precision * np.eye(problem.width) + outer.sum(0) - outer
    both = np.stack([pull.sum(0) - pull, features], axis=-1)
    mean, spread = np.moveaxis(np.linalg.solve(precision, both), -1, 0)
    variances = problem.noise_var + (features * spread).sum(1)
    return -norm.logpdf(targets, (features * mean).sum(1), np.sqrt(variances))
