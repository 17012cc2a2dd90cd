"""Stationary prior precisions of the point belief alternate between minimum and barrier (theory 7.2)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if
from corners.claims._problems import Problem
from corners.claims._shared_cell import point_profile
from corners.exact import none_cell_stationary_points
from corners.types import Array, Float, Int

SPACING = 0.02


@CLAIMS.register("none_cell_has_one_minimum")
@dataclass(frozen=True)
class NoneCellHasOneMinimum(Claim):
    """Roots of the stationarity equation beside the turning points of the profile itself, scanned on a grid.

    The scan knows nothing of the equation: it solves for the best mean and adds scipy's densities. Every root must be a
    turning point and every turning point a root, minimum first, then in turn. Under a noise that makes the rows flat
    there is none, and the profile falls all the way.
    """

    name: ClassVar[str] = "none_cell_has_one_minimum"
    statement: ClassVar[str] = (
        "The prior precision of the point belief has one stationary value, and it is the minimum."
    )
    formula: ClassVar[str] = "2 dP/d log α = α‖μ_α‖² - H: an even number of roots, minimum, barrier, minimum, ..."
    claimed_in: ClassVar[str] = "paper v1, α* = H/‖μ‖²; theory 7.2"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "NoneCellHasOneMinimum":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Three rows along three axes of length 30, 0.3 and 0.003, targets 3, noise variance 0.3."""
        return Problem("axes of length 30, 0.3, 0.003", np.diag([30.0, 0.3, 0.003]), np.full(3, 3.0), 1.0, 0.3**0.5)

    def check(self, problem: Problem) -> Finding:
        """Roots against turning points, at the noise of the problem and at one that is too large."""
        data = problem.features, problem.targets
        roots = np.log(none_cell_stationary_points(*data, problem.noise_scale).roots)
        places, kinds = _turning_points(problem, problem.noise_scale)
        same = len(places) == len(roots)
        distance = float(np.abs(places - roots).max()) if same and len(roots) else 0.0
        flat_scale = max(float((problem.targets**2).sum()) / (2.0 * problem.width), 1e-300) ** 0.5
        flat = none_cell_stationary_points(*data, flat_scale)
        flat_points = float(len(flat.roots) + len(_turning_points(problem, flat_scale)[0]))
        out_of_turn = float((kinds != np.resize([1, -1], len(kinds))).sum())
        margins = (
            at_least("stationary points, difference from one", abs(len(roots) - 1.0), 1.0),
            at_most(
                "turning points of the scan that are no roots, or the reverse",
                float(abs(len(places) - len(roots))),
                0.0,
            ),
            at_most("distance of roots from turning points, in log α", distance, SPACING),
            at_most("turning points out of turn (minimum, barrier, ...)", out_of_turn, 0.0),
            at_most("roots without a partner", float(len(roots) % 2), 0.0),
            at_most("flat: stationary points and turning points", flat_points, 0.0),
        )
        said = ", ".join(f"{value:.3g}" for value in np.exp(roots))
        sentence = (
            f"{len(roots)} stationary α ({said}), of which {int((kinds > 0).sum())} are local minima and "
            f"{int((kinds < 0).sum())} barriers by a scan of the profile; under a noise of {flat_scale:.2g} there are "
            "none"
        )
        return fails_if(margins, sentence)


def _turning_points(problem: Problem, noise_scale: float) -> tuple[Float[Array, " T"], Int[Array, " T"]]:
    """``log α`` where the scanned profile turns, with 1 for a minimum and -1 for a maximum."""
    noise_var = noise_scale**2
    bumps = np.linalg.svd(problem.features, compute_uv=False) ** 2 / noise_var
    bumps = bumps[bumps > 1e-20 * bumps.max()]
    reach = 3.0 + np.log1p(float((problem.targets**2).sum()) / noise_var)
    grid = np.arange(np.log(bumps.min()) - reach, np.log(bumps.max()) + reach, SPACING)
    direction = np.sign(np.diff(point_profile(problem.features, problem.targets, np.exp(grid), noise_var)))
    turns = np.flatnonzero(direction[1:] != direction[:-1])
    return grid[turns + 1], direction[turns + 1].astype(np.int64)
