"""The Bethe energy is the evidence once its counting terms are in it, and is not without them (theory 3.8h)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import HOLDS, Claim, Finding, at_least, at_most, holds_if, relative_difference
from corners.claims._dense_gaussian import dense_evidence, dense_posterior, latent_variances, plate_losses
from corners.claims._problems import Problem, drawn_problem
from corners.exact import bethe_parts, cavity_correction, leave_one_out_predictives, shared_closed_terms
from corners.numerics import LOG_2PI
from corners.types import Array, Float

ROUNDING = 1e-9


class Refits(NamedTuple):
    """Log normalisers of prior, posterior and every cavity, and the losses of the cavities, each from its own rows."""

    prior: float
    posterior: float
    cavities: Float[Array, " N"]
    losses: Float[Array, " N"]


@CLAIMS.register("counting_terms")
@dataclass(frozen=True)
class CountingTerms(Claim):
    """With its counting terms the Bethe energy is the evidence; without them it is off by exactly their sum.

    The cavities are refitted from the other rows, one after another, and their log normalisers are taken by
    determinants. The shared loss is then accounted for in full: it has the overlap ``-log Z_w`` where the energy has
    ``Φ(p) - Φ(q)``, it scores by the posterior where the energy scores by cavities, and it has no counting terms.
    """

    name: ClassVar[str] = "counting_terms"
    statement: ClassVar[str] = (
        "With the counting terms of its cavities the Bethe free energy at its fixed point is exactly -log Z, and "
        "without them it is off by exactly their sum."
    )
    formula: ClassVar[str] = "log Z = Φ(q) - Φ(p) + Σ_n [log p(y_n | y_-n) + Φ(q_-n) - Φ(q)]"
    claimed_in: ClassVar[str] = "theory 3.8h, on paper v1, theorem 1"
    expected: ClassVar[str] = HOLDS

    @classmethod
    def example(cls) -> "CountingTerms":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=1)

    def check(self, problem: Problem) -> Finding:
        """The identity against the dense density, its parts against refits, and the account of the shared loss."""
        given = (problem.features, problem.targets, problem.prior_precision, problem.noise_scale)
        parts, refits, evidence = bethe_parts(*given), _refits(problem), dense_evidence(problem)
        counting = float(parts.counting_terms.sum())
        without = refits.prior - refits.posterior + float(refits.losses.sum())
        shared = shared_closed_terms(*given)
        loo = leave_one_out_predictives(*given)
        seen = cavity_correction(loo.leverage, loo.one_minus_leverage, loo.residuals, problem.noise_var)
        overlap = shared.prior_term - (refits.prior - refits.posterior)
        account = evidence + overlap - float(seen.sum()) - counting
        margins = (
            at_most(
                "energy with counting terms against -log Z, relative",
                relative_difference(-parts.log_evidence, evidence),
                ROUNDING,
            ),
            at_most(
                "counting terms against refitted cavities, relative",
                relative_difference(parts.counting_terms, refits.posterior - refits.cavities),
                ROUNDING,
            ),
            at_most(
                "energy without them against -log Z minus their sum, relative",
                relative_difference(without, evidence - counting),
                ROUNDING,
            ),
            at_most("account of the shared loss, relative", relative_difference(shared.total, account), ROUNDING),
            at_least("size of their sum", abs(counting), 0.1, "nats"),
        )
        sentence = (
            f"the Bethe energy is -log Z = {evidence:.3f} nats with its counting terms and {without:.3f} without them "
            f"(their sum is {counting:.3f}); the shared loss, {shared.total:.3f}, is off by {overlap:+.3f} (overlap in "
            f"place of Φ(p) - Φ(q)), {-float(seen.sum()):+.3f} (plates scored by a belief that has seen them) and "
            f"{-counting:+.3f} (no counting terms)"
        )
        return holds_if(margins, sentence)


def _refits(problem: Problem) -> Refits:
    """Every cavity from the rows that are left, by an inverse and a determinant."""
    features, targets = problem.features, problem.targets
    normalisers, losses = [], []
    for row in range(problem.rows):
        rest = np.arange(problem.rows) != row
        cavity = dense_posterior(problem, features[rest], targets[rest])
        variance = problem.noise_var + latent_variances(features[~rest], cavity.covariance)
        losses.append(float(plate_losses(targets[~rest], features[~rest] @ cavity.mean, variance)[0]))
        normalisers.append(_log_normaliser(problem, features[rest], targets[rest]))
    none = np.zeros(problem.rows, bool)
    return Refits(
        prior=_log_normaliser(problem, features[none], targets[none]),
        posterior=_log_normaliser(problem, features, targets),
        cavities=np.array(normalisers),
        losses=np.array(losses),
    )


def _log_normaliser(problem: Problem, features: Float[Array, "M H"], targets: Float[Array, " M"]) -> float:
    """``Φ(Λ, η) = ½ηᵀΛ⁻¹η - ½ log|Λ| + ½H log 2π`` at ``Λ = αI + ΨᵀΨ/σ²`` and ``η = Ψᵀy/σ²``."""
    precision = problem.prior_precision * np.eye(problem.width) + features.T @ features / problem.noise_var
    shift = features.T @ targets / problem.noise_var
    quadratic = float(shift @ np.linalg.solve(precision, shift))
    return 0.5 * (quadratic - float(np.linalg.slogdet(precision)[1]) + problem.width * LOG_2PI)
