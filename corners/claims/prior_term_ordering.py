"""From which prior precision on the Bethe prior term is at most that of the ELBO (theory 4.1)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq, minimize

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
from corners.claims._dense_gaussian import DenseBelief, prior_term, random_belief
from corners.claims._problems import Problem, drawn_problem
from corners.exact import PRIOR_BELIEF_THRESHOLD, UNIVERSAL_THRESHOLD, kl_to_prior, prior_gaps
from corners.exact.ordering import GOLDEN_RATIO
from corners.numerics import LOG_2PI
from corners.types import Array, Float

BELIEFS = 200
ROUNDING = 1e-9
SEARCH = 1e-6
"""How well a threshold found by searches within searches must agree."""


@CLAIMS.register("prior_term_ordering")
@dataclass(frozen=True)
class PriorTermOrdering(Claim):
    """The Bethe prior term is at most the ELBO prior term: for every Gaussian belief iff ``α ≥ 14.3461``.

    Both thresholds are found without their formulas: the gap is minimised over means and covariances of two weights,
    and the prior precision is searched at which that minimum, or the gap at the prior itself, changes its sign.
    """

    name: ClassVar[str] = "prior_term_ordering"
    statement: ClassVar[str] = "The prior term of the Bethe free energy is at most that of the ELBO."
    formula: ClassVar[str] = "-log ∫ q(w) p(w) dw ≤ KL(q‖p) for every Gaussian q iff α ≥ 2πφ³e^(1-φ) = 14.3461"
    claimed_in: ClassVar[str] = "paper v1 and v2, the analogous prior identity; theory 4.1, 13.3"
    expected: ClassVar[str] = CONDITIONAL

    @classmethod
    def example(cls) -> "PriorTermOrdering":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features; of them only the width and the prior precision matter."""
        return drawn_problem("60 rows, 8 tanh features", seed=1)

    def check(self, problem: Problem) -> Finding:
        """The gap by two ways, both thresholds by search, and random beliefs on either side."""
        width, precision = problem.width, problem.prior_precision
        generator = problem.generator()
        beliefs = [
            random_belief(width, generator, 10.0 ** generator.uniform(-2.0, 2.0) / math.sqrt(precision))
            for _ in range(BELIEFS)
        ]
        closed = np.array([prior_gaps(*belief, precision).bethe_elbo for belief in beliefs])
        direct = np.array([kl_to_prior(*belief, precision) - prior_term(belief, precision) for belief in beliefs])
        universal, at_prior = _root(_least_gap), _root(_gap_of_the_prior)
        pairs = [random_belief(2, generator, 1.0 / math.sqrt(UNIVERSAL_THRESHOLD)) for _ in range(BELIEFS)]
        above = min(prior_gaps(*belief, UNIVERSAL_THRESHOLD).bethe_elbo for belief in pairs)
        worst = DenseBelief(np.zeros(width), GOLDEN_RATIO / precision * np.eye(width))
        here = kl_to_prior(*worst, precision) - prior_term(worst, precision)
        margins = (
            at_most("gap by eigenvalues against KL minus overlap", relative_difference(closed, direct), ROUNDING),
            at_most("threshold for all beliefs", relative_difference(universal, UNIVERSAL_THRESHOLD), SEARCH),
            at_most("threshold at q = p", relative_difference(at_prior, PRIOR_BELIEF_THRESHOLD), SEARCH),
            at_least(f"least gap of {BELIEFS} beliefs about two weights at the threshold", above, -ROUNDING, "nats"),
            at_most("least gap of any belief 1 % below it", _least_gap(0.99 * UNIVERSAL_THRESHOLD), -1e-3, "nats"),
        )
        condition = Condition(
            "the prior precision is at least 2πφ³e^(1-φ) = 14.3461 (at q = p: 4π = 12.5664), in the weights' units",
            at_least("prior precision", precision, UNIVERSAL_THRESHOLD),
        )
        sentence = (
            f"the inequality holds for every belief from a prior precision of {universal:.4f} on, at q = p from "
            f"{at_prior:.4f}; with {precision:.3g} here the worst belief has a gap of {here:+.2f} nats"
        )
        return conditional_if(margins, sentence, condition)


def _least_gap(precision: float) -> float:
    """The least gap over means and covariances of two weights, from dense matrices; it starts apart from the prior."""
    scale = 1.0 / math.sqrt(precision)

    def gap(parameters: Float[Array, " 5"]) -> float:
        mean, root = scale * parameters[:2], scale * np.diag(np.exp(parameters[2:4]))
        root[1, 0] = scale * parameters[4]
        covariance = root @ root.T
        overlap = covariance + scale**2 * np.eye(2)
        spread = precision * float(np.trace(covariance) + mean @ mean)
        divergence = spread - 2.0 - 2.0 * math.log(precision) - float(np.linalg.slogdet(covariance)[1])
        pulled = float(mean @ np.linalg.solve(overlap, mean))
        return 0.5 * (divergence - 2.0 * LOG_2PI - float(np.linalg.slogdet(overlap)[1]) - pulled)

    return float(minimize(gap, np.array([0.5, -0.3, -0.5, 0.4, 0.2]), method="BFGS").fun)


def _gap_of_the_prior(precision: float) -> float:
    """The gap at ``q = p`` of two weights, nats."""
    return prior_gaps(np.zeros(2), np.eye(2) / precision, precision).bethe_elbo


def _root(gap: Callable[[float], float]) -> float:
    """The prior precision between 1 and 100 at which a gap changes its sign; NaN where it does not."""
    if gap(1.0) * gap(100.0) > 0.0:
        return math.nan
    return math.exp(float(brentq(lambda log: gap(math.exp(log)), 0.0, math.log(100.0), xtol=1e-12)))  # pyright: ignore[reportArgumentType]
