"""Local minimisation from many starts, with the number of starts that reached the best value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from corners.errors import SpecError
from corners.types import Array, Float

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
SAME_VALUE = 1e-6


@dataclass(frozen=True, eq=False)
class Minimum:
    """The best local minimum found.

    ``hits`` of ``starts`` reached its value, ``local_values`` are the distinct ones, rising.

    ``excluded`` starts ended where the caller does not admit a solution; they are not counted elsewhere.
    """

    value: float
    parameters: Float[Array, " P"]
    hits: int
    starts: int
    local_values: tuple[float, ...]
    excluded: int = 0


def minimise(
    objective: Objective,
    starts: Sequence[Float[Array, " P"]],
    *,
    bounds: Sequence[tuple[float | None, float | None]] | None = None,
    admits: Callable[[np.ndarray], bool] | None = None,
) -> Minimum:
    """Best of the L-BFGS-B minima from every start; ``objective`` returns its value and its gradient.

    Minima that ``admits`` refuses are set aside, unless it refuses all of them. Each descent is restarted once from
    where it stopped, so that a line search that gave up in rounding is not taken for a minimum.

    Raises
    ------
    SpecError : no start gave a finite value.

    Reference: theory 3.5; Byrd, Lu, Nocedal and Zhu (1995), doi:10.1137/0916069.

    Example
    -------
    >>> bowl = lambda x: (float((x - 2.0) @ (x - 2.0)), 2.0 * (x - 2.0))
    >>> minimise(bowl, [np.zeros(1), np.ones(1)]).hits
    2
    """
    ends = [_descend(objective, np.asarray(start, dtype=np.float64), bounds) for start in starts]
    finite = sorted((end for end in ends if np.isfinite(end[0])), key=lambda end: end[0])
    if not finite:
        raise SpecError(f"none of the {len(starts)} starts gave a finite objective; check scales, bounds and the floor")
    kept = [end for end in finite if admits is None or admits(end[1])]
    excluded = len(finite) - len(kept)
    kept = kept or finite
    best, tolerance = kept[0], SAME_VALUE * (1.0 + abs(kept[0][0]))
    distinct = [best[0]]
    for value, _ in kept[1:]:
        if value - distinct[-1] > tolerance:
            distinct.append(value)
    hits = sum(value - best[0] <= tolerance for value, _ in kept)
    return Minimum(best[0], best[1], hits, len(starts), tuple(distinct), excluded)


def _descend(
    objective: Objective,
    start: Float[Array, " P"],
    bounds: Sequence[tuple[float | None, float | None]] | None,
) -> tuple[float, Float[Array, " P"]]:
    """One descent and its restart; nothing to move is already a minimum."""
    if not len(start):
        return objective(start)[0], start
    from scipy.optimize import minimize  # here: it would triple the time this package takes to import

    options = {"maxiter": 5000, "maxfun": 20_000, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-9}
    point = start
    value = np.inf
    for _ in range(2):
        found = minimize(objective, point, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        value, point = float(found.fun), found.x
    return value, point
