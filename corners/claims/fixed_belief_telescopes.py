"""For a belief that stays fixed the plates do not sum to the joint density (theory 3.8c)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if, relative_difference
from corners.claims._dense_gaussian import dense_posterior, normal_loss, plate_losses
from corners.claims._problems import Problem, drawn_problem
from corners.exact import coupling_lost, joint_minus_plates
from corners.types import Array, Float

DRAWS = 2000
ROUNDING = 1e-9
STANDARD_ERRORS = 5.0


@CLAIMS.register("fixed_belief_telescopes")
@dataclass(frozen=True)
class FixedBeliefTelescopes(Claim):
    """For a fixed belief the per-plate terms sum to the joint predictive density: they miss the coupling of the plates.

    The belief is the conjugate posterior. Over targets drawn from its joint predictive, plates minus joint averages to
    the total correlation of the plates; at a single table it may have either sign.
    """

    name: ClassVar[str] = "fixed_belief_telescopes"
    statement: ClassVar[str] = "For a fixed belief too the per-plate losses sum to the joint loss of all targets."
    formula: ClassVar[str] = "Σ_n -log N(y_n; m_n, V_n) = -log N(y; Ψμ, σ²I + ΨΣΨᵀ) for a fixed q = N(μ, Σ)"
    claimed_in: ClassVar[str] = "paper v2, proposition 2 read for the shared cavity; theory 3.8c"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "FixedBeliefTelescopes":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=1)

    def check(self, problem: Problem) -> Finding:
        """The difference at the targets and over drawn ones, against determinants and singular values."""
        features, targets = problem.features, problem.targets
        belief = dense_posterior(problem, features, targets)
        joint = problem.noise_var * np.eye(problem.rows) + features @ belief.covariance @ features.T
        means = features @ belief.mean
        here = -joint_minus_plates(features, targets, *belief, problem.noise_scale)
        plates = float(plate_losses(targets, means, joint.diagonal()).sum())
        by_density = plates - normal_loss(targets, means, joint)
        lost = coupling_lost(features, belief.covariance, problem.noise_scale)
        by_determinant = 0.5 * float(np.log(joint.diagonal()).sum() - np.linalg.slogdet(joint)[1])
        drawn = _differences(joint, problem.generator())
        error = max(float(drawn.std(ddof=1)) / np.sqrt(DRAWS), 1e-12)  # one plate has nothing to couple
        from_lost, from_zero = abs(drawn.mean() - lost) / error, drawn.mean() / error
        margins = (
            at_least("coupling lost", lost, 0.1, "nats"),
            at_most(
                "coupling lost against determinants, relative", relative_difference(lost, by_determinant), ROUNDING
            ),
            at_most("difference here against densities, relative", relative_difference(here, by_density), ROUNDING),
            at_most("mean over draws, from the coupling lost", from_lost, STANDARD_ERRORS, "standard errors"),
            at_least("mean over draws, above 0", from_zero, STANDARD_ERRORS, "standard errors"),
        )
        sentence = (
            f"scored by the posterior one by one the plates sum to {plates:.3f} nats, {here:+.2f} from their joint "
            f"loss; over {DRAWS} tables drawn from the joint the difference averages {drawn.mean():.3f} ± {error:.3f}, "
            f"the total correlation is {lost:.3f}, and {np.mean(drawn < 0.0):.0%} of the tables have the other sign"
        )
        return fails_if(margins, sentence)


def _differences(joint: Float[Array, "N N"], generator: np.random.Generator) -> Float[Array, " D"]:
    """Plates minus joint, nats, at errors drawn from a joint normal density with mean zero."""
    root = np.linalg.cholesky(joint)
    white = generator.normal(size=(DRAWS, len(joint)))
    variances = joint.diagonal()
    plates = (np.log(variances) + (white @ root.T) ** 2 / variances).sum(axis=1)
    together = 2.0 * np.log(root.diagonal()).sum() + (white**2).sum(axis=1)
    return 0.5 * (plates - together)
