"""The Bethe free energy is not below the negative ELBO globally: only its data term is (theory 4.1, 13.3)."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if, relative_difference
from corners.claims._dense_gaussian import DenseBelief, dense_evidence, dense_posterior, shared_loss
from corners.claims._problems import Problem, drawn_problem
from corners.exact import Ordering, kl_divergence, ordering_at

ROUNDING = 1e-9
CLEAR = 0.1
"""What a total gap must lie below zero to count as a counterexample, nats."""


@CLAIMS.register("bethe_below_elbo")
@dataclass(frozen=True)
class BetheBelowElbo(Claim):
    """The Bethe free energy is at most the negative ELBO, globally: a broad belief refutes it.

    Tried are the prior, the posterior, and the posterior widened. Where the data outweigh the prior gap of them all,
    the same layer is measured in other units: features ``cψ`` and weights ``w/c`` leave the ELBO as it is and move the
    Bethe free energy by ``-H log c``, so that some unit refutes the claim on every table.
    """

    name: ClassVar[str] = "bethe_below_elbo"
    statement: ClassVar[str] = "The Bethe free energy is at most the negative ELBO, for every belief."
    formula: ClassVar[str] = "-log Z_w + Σ_n ℓ_n ≤ KL(q‖p) + Σ_n E_q[-log p(y_n|f_n)] for every q"
    claimed_in: ClassVar[str] = "paper v1 and v2, after proposition 1; theory 4.1, 13.3"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "BetheBelowElbo":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Six rows of eight tanh features under wide noise: little data, broad beliefs."""
        return drawn_problem("6 rows, 8 tanh features, noise 2", rows=6, seed=1, noise_scale=2.0)

    def check(self, problem: Problem) -> Finding:
        """The worst of some beliefs, in the units given or in those that refute, and both totals by another way."""
        name, belief = min(_beliefs(problem).items(), key=lambda item: _at(problem, item[1]).bethe_elbo.total)
        own = _at(problem, belief)
        factor = 1.0 if own.bethe_elbo.total <= -CLEAR else 0.5 * math.exp(-own.bethe_elbo.total / problem.width)
        scaled, scaled_belief = _in_units(problem, belief, factor)
        report, halved = _at(scaled, scaled_belief), _at(*_in_units(problem, belief, 0.5))
        posterior = dense_posterior(scaled, scaled.features, scaled.targets)
        bethe = shared_loss(scaled, scaled_belief)
        elbo = dense_evidence(scaled) + kl_divergence(*scaled_belief, *posterior)
        shift = problem.width * math.log(2.0)
        plates = np.concatenate([each.elbo.data_terms - each.bethe.data_terms for each in (own, report, halved)])
        unmoved = relative_difference(halved.elbo.total, own.elbo.total)
        moved = relative_difference(halved.bethe.total, own.bethe.total + shift)
        gap = report.bethe_elbo
        margins = (
            at_most("total gap, ELBO minus Bethe", gap.total, -CLEAR, "nats"),
            at_least("smallest gap of a plate", float(plates.min()), -ROUNDING, "nats"),
            at_most(
                "Bethe against dense densities, relative", relative_difference(report.bethe.total, bethe), ROUNDING
            ),
            at_most("ELBO against -log Z + KL(q‖q*), relative", relative_difference(report.elbo.total, elbo), ROUNDING),
            at_most("ELBO of halved features against itself, relative", unmoved, ROUNDING),
            at_most("Bethe of halved features against a shift of H log 2, relative", moved, ROUNDING),
        )
        units = "" if factor == 1.0 else f", in units that make the features {factor:.2g} times as large,"
        sentence = (
            f"at {name}{units} the Bethe free energy lies {-gap.total:.2f} nats above the negative ELBO: the data "
            f"terms keep the order by {gap.data:.2f}, the prior terms break it by {-gap.prior:.2f}; features half as "
            f"large under weights twice as large move Bethe by {shift:.2f} and the ELBO not at all"
        )
        return fails_if(margins, sentence)


def _beliefs(problem: Problem) -> dict[str, DenseBelief]:
    """From the prior to the posterior, by name."""
    mean, covariance = dense_posterior(problem, problem.features, problem.targets)
    prior = DenseBelief(np.zeros(problem.width), np.eye(problem.width) / problem.prior_precision)
    widened = {f"the posterior with {times} times its covariance": times for times in (4, 16)}
    return {
        "the prior": prior,
        "the posterior": DenseBelief(mean, covariance),
        **{name: DenseBelief(mean, times * covariance) for name, times in widened.items()},
    }


def _at(problem: Problem, belief: DenseBelief) -> Ordering:
    """The three objectives at a belief."""
    return ordering_at(problem.features, problem.targets, *belief, problem.prior_precision, problem.noise_scale)


def _in_units(problem: Problem, belief: DenseBelief, factor: float) -> tuple[Problem, DenseBelief]:
    """The same layer and belief with features ``cψ`` and weights ``w/c``: the prior precision is ``c²α``."""
    layer = replace(problem, features=factor * problem.features, prior_precision=factor**2 * problem.prior_precision)
    return layer, DenseBelief(belief.mean / factor, belief.covariance / factor**2)
