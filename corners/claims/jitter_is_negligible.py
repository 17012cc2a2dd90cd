"""The jitter is the sole lower bound of the free cells with a trained prior precision (theory 5.6, 7.1, 13.8)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if
from corners.claims._problems import Problem, drawn_problem
from corners.claims._shared_cell import end_slope, shared_cell
from corners.exact import DiagonalCovariance, FactorCovariance, FreeBounds, Start, find_free_optimum, prior_overlap
from corners.types import Array, Float

JITTERS = np.array([1e-3, 1e-5])
STARTS = 8
BELIEFS = 200
DEEP = FreeBounds(log_scales=(-22.0, 6.0), log_factor_diagonal=(-11.0, 3.0))
"""Boxes whose floor lies below the smallest jitter, so that it is the jitter that is felt."""


@CLAIMS.register("jitter_is_negligible")
@dataclass(frozen=True)
class JitterIsNegligible(Claim):
    """The infimum over everything but the noise, searched for under two jitters.

    It lies between the floor ``½H log 2πε`` plus the least data term, ``½N log 2πσ²``, and the value at ``μ = 0``, ``Σ
    = εI``, ``α = ∞`` (scipy's densities): ``½H log ε`` is its rate whatever the data. The stated targets say little, so
    that the rate is reached at the jitters in use; without jitter the same witness has no limit in ``α``.
    """

    name: ClassVar[str] = "jitter_is_negligible"
    statement: ClassVar[str] = "The jitter has a negligible effect on the objective."
    formula: ClassVar[str] = "-log Z_w ≥ (H/2) log 2π(ε + 1/α), and inf F moves by (H/2) log(ε'/ε)"
    claimed_in: ClassVar[str] = "paper v1 and v2, implementation; theory 5.6, 7.1, 13.8"
    expected: ClassVar[str] = FAILS
    takes_data: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "JitterIsNegligible":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Twelve noisy rows of three tanh features that say little of the targets."""
        return drawn_problem("12 rows, 3 tanh features", rows=12, width=3, seed=6, prior_precision=8.0, noise_scale=1.0)

    def check(self, problem: Problem) -> Finding:
        """Infima, their movement, and what bounds them on either side."""
        steps = 0.5 * problem.width * np.diff(np.log(JITTERS))
        lowest = 0.5 * problem.width * np.log(2.0 * np.pi * JITTERS)
        lowest += 0.5 * problem.rows * np.log(2.0 * np.pi * problem.noise_var)
        highest = np.array([_witness(problem, jitter) for jitter in JITTERS])
        margins, said, moves = [], [], []
        for family in ("diagonal", "dense"):
            found = np.array([_infimum(problem, family, jitter) for jitter in JITTERS])
            moves.extend(np.abs(np.diff(found)))
            moved = float(np.abs(np.diff(found) - steps).max())
            margins += [
                at_most(f"{family}: move of the infimum from (H/2) log(ε'/ε)", moved, 0.05, "nats"),
                at_least(f"{family}: infimum above its lower bound", (found - lowest).min(), 0.0, "nats"),
                at_least(f"{family}: infimum below its witness", (highest - found).min(), -1e-3, "nats"),
            ]
            said.append(f"{family} {', '.join(f'{value:.2f}' for value in found)}")
        without = [_overlap_without_jitter(problem, alpha) for alpha in (1e10, 1e12)]
        slope = end_slope(np.log([1e10, 1e12]), without)
        margins += [
            at_least(
                f"{BELIEFS} random beliefs: least -log Z_w above its floor", _least_excess(problem), -1e-9, "nats"
            ),
            at_most("no jitter: slope of the witness in log α from -H/2", abs(slope + 0.5 * problem.width), 1e-6),
            at_least("smallest move of the infimum for a hundredth of the jitter", min(moves), 1.0, "nats"),
        ]
        sentence = (
            f"inf F at jitters {', '.join(f'{jitter:.0e}' for jitter in JITTERS)} is {'; '.join(said)} nats: a "
            f"hundredth of the jitter lowers it by (H/2) log 100 = {-steps[0]:.2f} nats, and without jitter nothing "
            "holds it"
        )
        return fails_if(tuple(margins), sentence)


def _infimum(problem: Problem, family: str, jitter: float) -> float:
    """The least objective with the prior precision beyond what the jitter lets through.

    From many starts for the diagonal family. A dense factor takes seconds for that: it starts once, at ``Σ = 0.01 I``.
    """
    return find_free_optimum(
        problem.features,
        problem.targets,
        problem.generator(),
        family=family,
        prior_precision=1e6 / jitter,
        noise_scale=problem.noise_scale,
        jitter=jitter,
        starts=STARTS if family == "diagonal" else Start(1e6 / jitter, problem.noise_scale),
        bounds=DEEP,
    ).value


def _witness(problem: Problem, jitter: float) -> float:
    """``F`` at ``μ = 0``, ``Σ = εI`` and the same prior precision, by scipy."""
    mean, covariance = np.zeros(problem.width), jitter * np.eye(problem.width)
    return shared_cell(problem.features, problem.targets, mean, covariance, 1e6 / jitter, problem.noise_var).total


def _overlap_without_jitter(problem: Problem, prior_precision: float) -> float:
    """``-log Z_w`` at ``μ = 0``, ``Σ = 0``."""
    nothing = np.zeros(problem.width)
    return prior_overlap(nothing, DiagonalCovariance(nothing, 0.0), prior_precision).value


def _least_excess(problem: Problem) -> float:
    """The least of ``-log Z_w - ½H log 2π(ε + 1/α)`` over random beliefs of both families."""
    generator, width = problem.generator(), problem.width
    excess: list[float] = []
    for _ in range(BELIEFS // 2):
        alpha, jitter = 10.0 ** generator.uniform(-3.0, 9.0), 10.0 ** generator.uniform(-8.0, -2.0)
        root: Float[Array, "H H"] = np.tril(generator.normal(size=(width, width))) * 10.0 ** generator.uniform(
            -6.0, 1.0
        )
        mean = generator.normal(size=width) * 10.0 ** generator.uniform(-4.0, 0.0)
        floor = 0.5 * width * np.log(2.0 * np.pi * (jitter + 1.0 / alpha))
        for covariance in (FactorCovariance(root, jitter), DiagonalCovariance(root.diagonal() ** 2, jitter)):
            excess.append(prior_overlap(mean, covariance, alpha).value - float(floor))
    return min(excess)
