"""The ELBO's optimum over Gaussian beliefs is the conjugate posterior, its value the evidence (theory 3.6, 3.8g)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from corners.claims import CLAIMS
from corners.claims._base import HOLDS, Claim, Finding, at_least, at_most, holds_if, relative_difference
from corners.claims._dense_gaussian import DenseBelief, dense_evidence, dense_posterior, random_belief
from corners.claims._problems import Problem, drawn_problem
from corners.exact import kl_divergence, neg_elbo
from corners.types import Array, Float

BELIEFS = 20
STARTS = 3
OPTIONS = {"ftol": 1e-15, "gtol": 1e-7, "maxcor": 30, "maxiter": 500, "maxfun": 1000}
ROUNDING = 1e-9
FOUND = 1e-6
"""How near the optimum a search has to come: its value in nats, its belief as a KL divergence in nats."""


@CLAIMS.register("elbo_optimum_is_binding")
@dataclass(frozen=True)
class ElboOptimumIsBinding(Claim):
    """Minimising the negative ELBO over all Gaussian beliefs gives the conjugate posterior and the value ``-log Z``.

    A quasi-Newton search knows only the value and slope of the ELBO; it starts at random beliefs. At random beliefs
    besides, the value is ``-log Z`` plus the divergence from the posterior.
    """

    name: ClassVar[str] = "elbo_optimum_is_binding"
    statement: ClassVar[str] = (
        "The negative ELBO over Gaussian beliefs is least at the conjugate posterior, and its value there is -log Z."
    )
    formula: ClassVar[str] = "L_ELBO(q) = -log Z + KL(q‖q*), so argmin_q L_ELBO = N(μ*, Σ*) and min_q L_ELBO = -log Z"
    claimed_in: ClassVar[str] = "paper v2, lemma 1; theory 3.6, 3.8g, 13.13"
    expected: ClassVar[str] = HOLDS

    @classmethod
    def example(cls) -> "ElboOptimumIsBinding":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Forty rows of four tanh features."""
        return drawn_problem("40 rows, 4 tanh features", rows=40, width=4, seed=1)

    def check(self, problem: Problem) -> Finding:
        """The identity at random beliefs, and searches from random starts."""
        generator, width = problem.generator(), problem.width
        evidence = dense_evidence(problem)
        posterior = dense_posterior(problem, problem.features, problem.targets)
        beliefs = [random_belief(width, generator, 10.0 ** generator.uniform(-1.0, 1.0)) for _ in range(BELIEFS)]
        values = np.array([_value(problem, belief) for belief in beliefs])
        identity = evidence + np.array([kl_divergence(*belief, *posterior) for belief in beliefs])
        found = [_search(problem, _start(width, generator)) for _ in range(STARTS)]
        apart = max(kl_divergence(*belief, *posterior) for belief in found)
        above = max(abs(_value(problem, belief) - evidence) for belief in found)
        mean = max(float(np.abs(belief.mean - posterior.mean).max()) for belief in found)
        margins = (
            at_most("-log Z + KL against the ELBO, relative", relative_difference(values, identity), ROUNDING),
            at_least("least value of the random beliefs above -log Z", values.min() - evidence, -ROUNDING, "nats"),
            at_most(
                f"value of the worst of {STARTS} searches from -log Z", above, FOUND * (1.0 + abs(evidence)), "nats"
            ),
            at_most("divergence of the worst from the posterior", apart, FOUND * (1.0 + abs(evidence)), "nats"),
        )
        sentence = (
            f"{STARTS} searches over {width * (width + 3) // 2} parameters end within {above:.1e} nats of -log Z = "
            f"{evidence:.3f} and at the posterior (KL {apart:.1e} nats, means to {mean:.1e}); at {BELIEFS} random "
            f"beliefs the ELBO is -log Z plus the divergence to {margins[0].value:.1e}"
        )
        return holds_if(margins, sentence)


def _value(problem: Problem, belief: DenseBelief) -> float:
    """The negative ELBO, nats."""
    given = (problem.prior_precision, problem.noise_scale)
    return neg_elbo(problem.features, problem.targets, *belief, *given).total


def _start(width: int, generator: np.random.Generator) -> Float[Array, " P"]:
    """A mean and a factor for a search; its slopes shrink with the width, or it would be singular in float64."""
    slopes = np.tril(generator.normal(size=(width, width)), -1) / width
    np.fill_diagonal(slopes, generator.normal(size=width))
    return np.concatenate([3.0 * generator.normal(size=width), slopes[np.tril_indices(width)]])


def _search(problem: Problem, start: Float[Array, " P"]) -> DenseBelief:
    """The belief at the end of a search over a mean and the Cholesky factor of a covariance.

    Both are those of ``Lᵀw`` with ``LLᵀ = αI + ΨᵀΨ/σ²``, so that narrow features do not slow the search.
    """
    width = problem.width
    lower = np.tril_indices(width)
    curvature = problem.prior_precision * np.eye(width) + problem.features.T @ problem.features / problem.noise_var
    units = np.linalg.inv(np.linalg.cholesky(curvature)).T
    pull = problem.features.T @ problem.targets / problem.noise_var

    def unpack(parameters: Float[Array, " P"]) -> tuple[Float[Array, " H"], Float[Array, "H H"]]:
        root = np.zeros((width, width))
        root[lower] = parameters[width:]
        np.fill_diagonal(root, np.exp(root.diagonal()))
        return parameters[:width], root

    def loss(parameters: Float[Array, " P"]) -> tuple[float, Float[Array, " P"]]:
        mean, root = unpack(parameters)
        belief = DenseBelief(units @ mean, units @ root @ root.T @ units.T)
        slope = units.T @ curvature @ units @ root - np.linalg.inv(root).T
        slope[np.diag_indices(width)] *= root.diagonal()
        gradient = np.concatenate([units.T @ (curvature @ belief.mean - pull), slope[lower]])
        return _value(problem, belief), gradient

    # A step that is too long for the mean must not close a direction of the covariance for good.
    diagonal = np.equal(*lower)
    box = [(None, None)] * width + [(-6.0, 6.0) if inside else (None, None) for inside in diagonal]
    mean, root = unpack(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=box, options=OPTIONS).x)
    return DenseBelief(units @ mean, units @ root @ root.T @ units.T)
