"""At the optimum of the free objective Bethe is at most MAP: the order is reversed (theory 4.3)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_most, fails_if, relative_difference
from corners.claims._dense_gaussian import DenseBelief, dense_posterior, shared_loss
from corners.claims._problems import Problem, drawn_problem
from corners.exact import FreeBounds, find_free_optimum, map_objective

ROUNDING = 1e-9
STARTS = 8
BOUNDS = FreeBounds(log_scales=(-40.0, 6.0))
FLOOR = 1e-6
"""What the search's floor under a factor's diagonal may leave where the optimum is a point belief, relative."""


@CLAIMS.register("map_below_bethe_at_free_optimum")
@dataclass(frozen=True)
class MapBelowBetheAtFreeOptimum(Claim):
    """At the optimum of the free objective MAP still lies below Bethe: the point belief is feasible, so it cannot.

    The free objective is minimised over mean and diagonal covariance at fixed prior precision and noise, without
    jitter. Neither MAP at the same mean nor the least MAP of any mean lies below it; at a point belief all are equal.
    Any other family that has ``Σ = 0`` in it shows the same.
    """

    name: ClassVar[str] = "map_below_bethe_at_free_optimum"
    statement: ClassVar[str] = "At the optimum of the free objective MAP still lies below Bethe at the same mean."
    formula: ClassVar[str] = "L_MAP(μ̂) < L_Bethe(μ̂, Σ̂) at (μ̂, Σ̂) = argmin L_Bethe"
    claimed_in: ClassVar[str] = "paper v1 and v2, the ordering MAP ≤ Bethe ≤ ELBO; theory 4.3, 13.4"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "MapBelowBetheAtFreeOptimum":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Thirty rows of three tanh features whose noise is twice what the layer is told."""
        drawn = drawn_problem("30 rows, 3 tanh features, twice the noise that is told", rows=30, width=3)
        return replace(drawn, noise_scale=0.5 * drawn.noise_scale)

    def check(self, problem: Problem) -> Finding:
        """Bethe and MAP at the optimum, from dense densities and in closed form."""
        given = (problem.prior_precision, problem.noise_scale)
        best = find_free_optimum(
            problem.features,
            problem.targets,
            problem.generator(),
            family="diagonal",
            prior_precision=problem.prior_precision,
            noise_scale=problem.noise_scale,
            jitter=0.0,
            starts=STARTS,
            bounds=BOUNDS,
        )
        covariance = best.covariance.matrix(problem.width)
        bethe = shared_loss(problem, DenseBelief(best.mean, covariance))
        at_point = shared_loss(problem, DenseBelief(best.mean, np.zeros_like(covariance)))
        map_loss = map_objective(problem.features, problem.targets, best.mean, *given).total
        ridge = dense_posterior(problem, problem.features, problem.targets).mean
        least = map_objective(problem.features, problem.targets, ridge, *given).total
        margins = (
            at_most("Bethe minus MAP at the optimum", bethe - map_loss, FLOOR * (1.0 + abs(map_loss)), "nats"),
            at_most("Bethe minus the least MAP of any mean", bethe - least, FLOOR * (1.0 + abs(least)), "nats"),
            at_most("value of the search against dense densities", relative_difference(best.value, bethe), ROUNDING),
            at_most("MAP against Bethe without variance", relative_difference(map_loss, at_point), ROUNDING),
        )
        widths = problem.prior_precision * np.linalg.eigvalsh(covariance)
        sentence = (
            f"at the best of {STARTS} starts ({best.hits} reached it) Bethe is {bethe:.3f} nats and "
            f"MAP at the same mean {map_loss:.3f}, {max(map_loss - bethe, 0.0):.2f} above it; "
            f"{int((widths > 1e-3).sum())} of {problem.width} variances stay open, and the least "
            f"MAP of any mean is {least:.3f}"
        )
        return fails_if(margins, sentence)
