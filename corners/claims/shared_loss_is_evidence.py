"""The shared-cavity loss at the conjugate posterior is not the evidence (theory 3.4, 13.1)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if, relative_difference
from corners.claims._dense_gaussian import dense_evidence, dense_posterior, shared_loss
from corners.claims._problems import Problem, drawn_problem
from corners.exact import log_evidence, shared_closed_terms
from corners.types import Array, Float

ROUNDING = 1e-9


@CLAIMS.register("shared_loss_is_evidence")
@dataclass(frozen=True)
class SharedLossIsEvidence(Claim):
    """The shared-cavity loss at the conjugate posterior is the negative log evidence: it is another number.

    Both are computed in closed form and from dense normal densities, at the prior precision of the problem, at ten
    times of it, and where the prior weighs as much as the data, ``α = tr ΨᵀΨ/Hσ²``: the distance is neither zero nor a
    constant that could be taken off.
    """

    name: ClassVar[str] = "shared_loss_is_evidence"
    statement: ClassVar[str] = (
        "The shared-cavity free energy at the conjugate posterior is the exact negative log evidence."
    )
    formula: ClassVar[str] = "-log Z_w(μ*, Σ*) + Σ_n -log N(y_n; m*_n, σ²(1 + h_n)) = -log Z"
    claimed_in: ClassVar[str] = "paper v1, abstract and theorem 1; theory 3.4, 13.1"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "SharedLossIsEvidence":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=1)

    def check(self, problem: Problem) -> Finding:
        """Both losses by two ways, and how far they lie apart at three prior precisions."""
        alpha = problem.prior_precision
        balanced = float(np.sum(problem.features**2)) / (problem.width * problem.noise_var)
        cases = [replace(problem, prior_precision=each) for each in (alpha, 10.0 * alpha, balanced or alpha)]
        closed = np.array([_closed_forms(case) for case in cases])
        dense = np.array([_by_definition(case) for case in cases])
        distances = closed[:, 0] - closed[:, 1]
        shared, evidence = closed[0]
        margins = (
            at_most("both losses, closed form against dense densities", relative_difference(closed, dense), ROUNDING),
            at_least("largest distance at three prior precisions", float(np.abs(distances).max()), 0.1, "nats"),
            at_least("how far the distance moves between them", float(np.ptp(distances)), 0.1, "nats"),
        )
        sentence = (
            f"the shared loss is {shared:.3f} nats where -log Z is {evidence:.3f}; the distance is {distances[0]:+.2f} "
            f"here, {distances[1]:+.2f} at ten times the prior precision and {distances[2]:+.2f} where the prior "
            "weighs as much as the data, so it is no constant either"
        )
        return fails_if(margins, sentence)


def _closed_forms(problem: Problem) -> Float[Array, " 2"]:
    """The shared loss and ``-log Z`` in closed form, nats."""
    given = (problem.features, problem.targets, problem.prior_precision, problem.noise_scale)
    return np.array([shared_closed_terms(*given).total, -log_evidence(*given)])


def _by_definition(problem: Problem) -> Float[Array, " 2"]:
    """The same two from an inverse and dense normal densities, nats."""
    posterior = dense_posterior(problem, problem.features, problem.targets)
    return np.array([shared_loss(problem, posterior), dense_evidence(problem)])
