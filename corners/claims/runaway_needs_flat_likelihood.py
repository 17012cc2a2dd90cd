"""The prior precision can run away whatever the data say; flatness removes the barrier (theory 7.1, 7.2, 13.7)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import norm

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.claims._shared_cell import end_slope, point_profile
from corners.exact import none_cell_stationary_points, shared_closed_terms
from corners.types import Array, Float

DEPTH = 10.0
LARGEST_LOG = 650.0


@CLAIMS.register("runaway_needs_flat_likelihood")
@dataclass(frozen=True)
class RunawayNeedsFlatLikelihood(Claim):
    """The point belief on an informative problem, and on the same rows under a noise that makes them flat.

    Informative: the two-root test finds a local minimum and the barrier beyond it, and beyond the barrier the profile
    falls with ``½H log α`` below that minimum. Flat: ``max α‖μ_α‖² < H``, no stationary point, and the profile falls
    all the way. Profiles are computed by :mod:`corners.exact` and by dense solves with scipy's densities.
    """

    name: ClassVar[str] = "runaway_needs_flat_likelihood"
    statement: ClassVar[str] = (
        "The prior precision runs away where the likelihood is flat, so an informative one prevents it."
    )
    formula: ClassVar[str] = "inf_α P(α) = -∞ for any data; a local minimum exists iff max_α α‖μ_α‖² > H"
    claimed_in: ClassVar[str] = "paper v1 and v2, on α-runaway; theory 7.1, 7.2, 13.7"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "RunawayNeedsFlatLikelihood":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty informative rows of six tanh features."""
        return drawn_problem("60 rows, 6 tanh features", width=6, seed=7)

    def check(self, problem: Problem) -> Finding:
        """Roots and falls under both noises."""
        data = problem.features, problem.targets
        points = none_cell_stationary_points(*data, problem.noise_scale)
        flat_scale = math.sqrt(max(float((problem.targets**2).sum()), 1e-300) / (2.0 * problem.width))
        flat = none_cell_stationary_points(*data, flat_scale)
        flat_rise = _largest_rise(problem, flat_scale)
        if points.minimum is None or points.barrier is None:
            sentence = f"the likelihood is flat here: max α‖μ_α‖² = {points.largest_pull:.2f} < H = {problem.width}"
            return fails_if(
                (at_least("stationary points at the noise of the problem", float(len(points.roots)), 2.0),), sentence
            )
        places = np.array([points.minimum, points.barrier, _beyond(problem, points.minimum, points.barrier)])
        values = np.array([_value(problem, alpha) for alpha in places])
        oracle = relative_difference(values, point_profile(*data, places, problem.noise_var))
        far = places[-1] * np.array([1.0, 100.0])
        slope = end_slope(np.log(far), [_value(problem, alpha) for alpha in far])
        margins = (
            at_least("stationary points at the noise of the problem", float(len(points.roots)), 2.0),
            at_least("barrier above the local minimum", values[1] - values[0], 1e-9, "nats"),
            at_least("fall below the local minimum beyond the barrier", values[0] - values[2], 0.99 * DEPTH, "nats"),
            at_most("slope in log α there from -H/2", abs(slope + 0.5 * problem.width), 1e-2),
            at_most("largest difference from scipy's densities, relative", oracle, 1e-9),
            at_most("flat: stationary points", float(len(flat.roots)), 0.0),
            at_most("flat: largest rise of the profile", flat_rise, 1e-9, "nats"),
        )
        sentence = (
            f"max α‖μ_α‖² is {points.largest_pull:.1f} for H = {problem.width}: a local minimum at α = "
            f"{places[0]:.3g} behind a barrier of {values[1] - values[0]:.1f} nats at {places[1]:.3g}, yet at "
            f"{places[2]:.1e} the objective lies {values[0] - values[2]:.0f} nats lower and falls on; under a noise "
            f"of {flat_scale:.2g} there is no minimum at all"
        )
        return fails_if(margins, sentence)


def _value(problem: Problem, prior_precision: float) -> float:
    """The profile of the point belief: ``Σ = 0`` at the best mean."""
    return shared_closed_terms(
        problem.features, problem.targets, prior_precision, problem.noise_scale, family="none"
    ).total


def _beyond(problem: Problem, minimum: float, barrier: float) -> float:
    """A prior precision at which ``μ = 0`` alone lies ``DEPTH`` below the local minimum, and far beyond the barrier."""
    null = -float(norm.logpdf(problem.targets, 0.0, problem.noise_scale).sum())
    reached = null - _value(problem, minimum) + DEPTH
    needed = math.log(2.0 * math.pi) + 2.0 * reached / problem.width
    return math.exp(min(max(needed, math.log(barrier) + 10.0), LARGEST_LOG))


def _largest_rise(problem: Problem, noise_scale: float) -> float:
    """The largest step up of the dense profile on a grid of ``log α`` that spans every bump."""
    singular2 = np.linalg.svd(problem.features, compute_uv=False) ** 2 / noise_scale**2
    singular2 = singular2[singular2 > 1e-20 * singular2.max()]
    grid: Float[Array, " G"] = np.exp(np.arange(np.log(singular2.min()) - 5.0, np.log(singular2.max()) + 5.0, 0.1))
    return float(np.diff(point_profile(problem.features, problem.targets, grid, noise_scale**2)).max())
