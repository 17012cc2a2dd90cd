"""The evidence is the sum of sequential predictives, in every order (theory 3.2, 3.8a)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import multivariate_normal

from corners.claims import CLAIMS
from corners.claims._base import HOLDS, Claim, Finding, at_least, at_most, holds_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.exact import sequential_predictives

ORDERS = 5
ROUNDING = 1e-9
MOVED = 1e-3
"""What the first term must differ by between orders, or nothing would have been tested, nats."""


@CLAIMS.register("evidence_is_sequential")
@dataclass(frozen=True)
class EvidenceIsSequential(Claim):
    """The evidence is the sum of sequential predictives, in every order.

    The sum of the predictives under several orders is held against the dense normal density of the targets,
    ``N(y; 0, σ²I + ΨΨᵀ/α)``; single terms must move with the order, or nothing would have been tested.
    """

    name: ClassVar[str] = "evidence_is_sequential"
    statement: ClassVar[str] = (
        "The sequential-closed free energy is the exact negative log evidence, whatever the order of the data."
    )
    formula: ClassVar[str] = "Σ_j -log p(y_π(j) | y_π(1..j-1)) = -log Z for every order π"
    claimed_in: ClassVar[str] = "paper v2, theorem 1; theory 3.8a"
    expected: ClassVar[str] = HOLDS

    @classmethod
    def example(cls) -> "EvidenceIsSequential":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=1)

    def check(self, problem: Problem) -> Finding:
        """Five orders against the dense density."""
        dense = problem.noise_var * np.eye(problem.rows) + problem.features @ problem.features.T / (
            problem.prior_precision
        )
        evidence = -float(multivariate_normal(cov=dense).logpdf(problem.targets))  # pyright: ignore[reportArgumentType]
        generator = problem.generator()
        totals, firsts = [], []
        for _ in range(ORDERS):
            found = sequential_predictives(
                problem.features,
                problem.targets,
                problem.prior_precision,
                problem.noise_scale,
                order=generator.permutation(problem.rows),
            )
            totals.append(found.total)
            firsts.append(found.terms[0])
        worst = max(relative_difference(total, evidence) for total in totals)
        spread = float(np.ptp(firsts))
        margins = (
            at_most(f"worst of {ORDERS} orders against the dense density, relative", worst, ROUNDING),
            at_least("spread of the first term over the orders", spread, MOVED if problem.rows > 1 else 0.0, "nats"),
        )
        sentence = (
            f"-log Z is {evidence:.3f} nats; {ORDERS} orders agree with it to {worst:.1e} while their first terms "
            f"differ by {spread:.2f} nats"
        )
        return holds_if(margins, sentence)
