"""The prior precision trained beside a point belief is joint MAP, not type-II maximum likelihood (theory 7.2, 13.6)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if
from corners.claims._problems import Problem, drawn_problem
from corners.claims._shared_cell import point_profile
from corners.exact import Evidence, none_cell_stationary_points

COPIES = (1, 10, 100, 1000)


@CLAIMS.register("one_pass_is_type_two")
@dataclass(frozen=True)
class OnePassIsTypeTwo(Claim):
    """Both prior precisions at one noise, each found twice, and on ever more copies of the rows.

    Joint MAP has ``α = H/‖μ‖²``, the evidence ``α = γ/‖μ*‖²``. Beside the roots and the fixed point, the joint density
    (scipy, ``Σ = 0``) and the dense evidence are minimised over ``log α`` without either equation. ``n`` copies of
    every row are a noise of ``σ²/n``: ``γ`` rises to the rank of the features, and what is left of the gap is ``log
    H/γ``.
    """

    name: ClassVar[str] = "one_pass_is_type_two"
    statement: ClassVar[str] = "Training the prior precision together with the weights is type-II maximum likelihood."
    formula: ClassVar[str] = "joint MAP α = H/‖μ‖², evidence α = γ/‖μ*‖², equal only as γ → H"
    claimed_in: ClassVar[str] = "paper v1, empirical Bayes in one pass; theory 7.2, 13.6"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "OnePassIsTypeTwo":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Twenty rows of six tanh features."""
        return drawn_problem("20 rows, 6 tanh features", rows=20, width=6, seed=9, noise_scale=0.4)

    def check(self, problem: Problem) -> Finding:
        """The two prior precisions, twice each, and as the problem grows."""
        joint, evidence = _joint(problem, 1), _evidence(problem, 1)
        gamma = Evidence(problem.features, problem.targets).effective_dimension(evidence, problem.noise_scale)
        if not (math.isfinite(joint) and math.isfinite(evidence)):
            sentence = (
                f"one of the two runs away here: joint MAP is stationary at {joint:.3g}, the evidence largest at "
                f"{evidence:.3g}"
            )
            return fails_if(
                (at_least("joint MAP and evidence apart, in log α", abs(joint - evidence), 0.01),), sentence
            )
        gaps = [math.log(_joint(problem, copies) / _evidence(problem, copies)) for copies in COPIES]
        left = _left(problem, COPIES[-1])
        margins = (
            at_least("joint MAP and evidence apart, in log α", abs(gaps[0]), 0.01),
            at_most("joint MAP from the minimum of the joint density, in log α", _miss_of_joint(problem, joint), 1e-5),
            at_most(
                "evidence from the minimum of the dense -log Z, in log α", _miss_of_evidence(problem, evidence), 1e-5
            ),
            at_least("H - γ at the evidence", problem.width - gamma, 1e-3),
            at_most(f"{COPIES[-1]} copies: gap from log H/γ, in log α", abs(gaps[-1] - left), 1e-2),
        )
        said = ", ".join(f"{gap:.4f}" for gap in gaps)
        sentence = (
            f"joint MAP has α = {joint:.4g}, the evidence {evidence:.4g} (γ = {gamma:.2f} of {problem.width}); with "
            f"{', '.join(map(str, COPIES))} copies of the rows they differ by {said} in log α"
        )
        return fails_if(margins, sentence)


def _joint(problem: Problem, copies: int) -> float:
    """The first local minimum of the point belief; infinite where there is none."""
    scale = problem.noise_scale / math.sqrt(copies)
    return none_cell_stationary_points(problem.features, problem.targets, scale).minimum or math.inf


def _evidence(problem: Problem, copies: int) -> float:
    """The maximum of the evidence at the same noise."""
    scale = problem.noise_scale / math.sqrt(copies)
    return Evidence(problem.features, problem.targets).maximise(noise_scale=scale).prior_precision


def _left(problem: Problem, copies: int) -> float:
    """``log H/γ`` at the evidence of so many copies, from the eigenvalues of ``ΨᵀΨ``."""
    ridge = _evidence(problem, copies) * problem.noise_var / copies
    seen = np.maximum(np.linalg.eigvalsh(problem.features.T @ problem.features), 0.0)
    return math.log(problem.width / float((seen / (seen + ridge)).sum()))


def _miss_of_joint(problem: Problem, prior_precision: float) -> float:
    """How far the minimum of the joint density over ``log α`` lies from what was found."""

    def objective(log_alpha: float) -> float:
        return float(point_profile(problem.features, problem.targets, np.exp([log_alpha]), problem.noise_var)[0])

    return _miss(objective, math.log(prior_precision))


def _miss_of_evidence(problem: Problem, prior_precision: float) -> float:
    """The same for ``-log N(y; 0, σ²I + ΨΨᵀ/α)``, whose eigenvalues are those of ``ΨΨᵀ``."""
    values, vectors = np.linalg.eigh(problem.features @ problem.features.T)
    inside = (vectors.T @ problem.targets) ** 2

    def objective(log_alpha: float) -> float:
        eigen = problem.noise_var + np.maximum(values, 0.0) * math.exp(-log_alpha)
        return float(0.5 * (np.log(2.0 * np.pi * eigen) + inside / eigen).sum())

    return _miss(objective, math.log(prior_precision))


def _miss(objective: Callable[[float], float], log_alpha: float) -> float:
    """Distance of the minimum of a function near ``log α`` from ``log α``."""
    found = minimize_scalar(
        objective, bounds=(log_alpha - 0.3, log_alpha + 0.3), method="bounded", options={"xatol": 1e-9}
    )
    return abs(float(found.x) - log_alpha)  # pyright: ignore[reportAttributeAccessIssue]
