"""Paired comparison: seeds are the pairs of a table, data points the pairs within one seed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from corners.comparison.scores._base import Direction, Score, standard_error
from corners.errors import DataError, SpecError
from corners.types import Array, Float

Mark = Literal["best", "tied", "worse", "no test"]

CAVEAT = (
    "one-sided paired t-test against the best over seeds; the best is chosen on the same data and nothing is "
    "corrected for the number of methods, so the test is anti-conservative"
)


@dataclass(frozen=True)
class Standing:
    """Where one method stands beside the best one.

    ``difference`` is ``d̄``, method minus best over the ``pairs`` seeds both have, positive where the method is worse;
    ``t = d̄ / (s_d / √S)`` and ``p`` test H1 "worse than the best"; they and ``df`` are None where there is no test.
    ``mean`` and ``se`` are over the method's own usable seeds; ``left_out`` seeds were NaN for it or for the best.
    """

    method: str
    mean: float
    se: float
    seeds: int
    mark: Mark
    difference: float | None
    difference_se: float | None
    t: float | None
    df: int | None
    p: float | None
    pairs: int
    left_out: int
    remark: str = ""


@dataclass(frozen=True)
class Ranking:
    """Every method's standing, in the order given, with the level of the test."""

    standings: tuple[Standing, ...]
    level: float

    @property
    def best(self) -> str | None:
        """Name of the best method; None where no method can be called that."""
        return next((row.method for row in self.standings if row.mark == "best"), None)

    def __getitem__(self, method: str) -> Standing:
        for row in self.standings:
            if row.method == method:
                return row
        raise SpecError(f"no method {method!r} here; there are {', '.join(row.method for row in self.standings)}")

    def records(self) -> list[dict[str, Any]]:
        """One flat row a method."""
        return [asdict(row) for row in self.standings]

    @property
    def sentence(self) -> str:
        """Who is best, who is tied with it, what was left out, and what the test is worth."""
        tied = [row.method for row in self.standings if row.mark == "tied"]
        best = self.best
        parts = ["no method is best: no seed is usable for all" if best is None else f"best: {best}"]
        parts += [f"tied with it (p ≥ {self.level:g}): {', '.join(tied)}"] if tied else []
        parts += [f"{row.method}: {row.remark}" for row in self.standings if row.remark]
        return "; ".join(parts) + f". Test: {CAVEAT}."

    def __str__(self) -> str:
        return self.sentence


def rank(
    values: Mapping[str, Float[Array, " S"]],
    *,
    direction: Direction = "lower",
    nominal: float | None = None,
    level: float = 0.05,
) -> Ranking:
    """Mark every method best, tied or worse by the rule of theory 11.

    The best has the lowest mean over seeds (over the seeds every method has, should some be missing). A method is
    ``"tied"`` if the one-sided paired t-test of H1 "worse than the best" has ``p ≥ level``, else ``"worse"``; where all
    differences are equal (``s_d = 0``) it is tied iff they are zero. With one common seed there is ``"no test"``.

    Parameters
    ----------
    values : one value a seed, in the same order for every method; NaN where a replicate failed.
    direction, nominal : what is better; for ``"nominal"`` the distance ``|value - nominal|`` is compared.

    Raises
    ------
    DataError : no method, unequal numbers of seeds, or a value infinitely good.

    Example
    -------
    >>> import numpy as np
    >>> ranking = rank({"a": np.array([1.0, 2.0, 3.0]), "b": np.array([2.0, 3.0, 4.0])})
    >>> ranking.best, ranking["b"].mark
    ('a', 'worse')
    """
    losses = {method: _loss(method, np.asarray(v, np.float64), direction, nominal) for method, v in values.items()}
    if len({loss.shape for loss in losses.values()}) != 1:
        raise DataError(f"every method needs one value a seed; got { ({m: v.size for m, v in losses.items()}) }")
    best = _best(losses)
    rows = tuple(_standing(m, np.asarray(values[m], np.float64), losses[m], best, losses, level) for m in values)
    return Ranking(rows, level)


def _loss(method: str, values: Array, direction: Direction, nominal: float | None) -> Array:
    """Values turned so that lower is better."""
    if direction == "nominal":
        if nominal is None:
            raise SpecError("direction 'nominal' needs the nominal value")
        values = np.abs(values - nominal)
    loss = -values if direction == "higher" else values
    if np.isneginf(loss).any():
        raise DataError(f"{method!r} has an infinitely good value; a score cannot be: look at its predictive")
    return loss


def _best(losses: Mapping[str, Array]) -> str | None:
    """Lowest mean over the seeds every method has; a method without a seed, or infinite anywhere, is no candidate."""
    usable = {method: loss for method, loss in losses.items() if not np.isnan(loss).all()}
    if not usable:
        return None
    common = ~np.isnan(np.stack(list(usable.values()))).any(axis=0)
    means = {m: loss[common].mean() for m, loss in usable.items() if common.any() and not np.isinf(loss).any()}
    return min(means, key=lambda method: means[method]) if means else None


def _standing(
    method: str, values: Array, loss: Array, best: str | None, losses: Mapping[str, Array], level: float
) -> Standing:
    own = values[~np.isnan(values)]
    paired = ~np.isnan(loss) & ~np.isnan(losses[best] if best else loss)
    facts: dict[str, Any] = {
        "method": method,
        "mean": float(own.mean()) if own.size else float("nan"),
        "se": standard_error(own),
        "seeds": own.size,
        "pairs": int(paired.sum()),
        "left_out": int((~paired).sum()),
    }
    remarks = [f"{facts['left_out']} of {loss.size} seeds left out (failed here or for the best)"] * (not paired.all())
    if method == best or best is None:
        mark: Mark = "best" if method == best else "no test"
        return Standing(**facts, **_no_test(), mark=mark, remark="; ".join(remarks))
    test, remark = _test(loss[paired] - losses[best][paired], level)
    return Standing(**facts, **test, remark="; ".join([*remarks, remark] if remark else remarks))


def _no_test(difference: float | None = None, se: float | None = None) -> dict[str, Any]:
    return {"difference": difference, "difference_se": se, "t": None, "df": None, "p": None}


def _test(differences: Array, level: float) -> tuple[dict[str, Any], str]:
    """The marking rule for the differences method minus best, and a remark where it could not be applied."""
    count = differences.size
    if count == 0:
        return {**_no_test(), "mark": "no test"}, "no seed in common with the best: no test"
    if np.isinf(differences).any():
        return {**_no_test(float("inf")), "mark": "worse"}, "infinitely bad on at least one seed"
    mean = float(differences.mean())
    if count == 1:
        return {**_no_test(mean), "mark": "no test"}, "one seed: no test"
    if np.ptp(differences) == 0.0:
        return {**_no_test(mean, 0.0), "mark": "worse" if mean != 0.0 else "tied"}, "the same difference on every seed"
    se = standard_error(differences)
    p = float(special.stdtr(count - 1, -mean / se))
    outcome = {"difference": mean, "difference_se": se, "t": mean / se, "df": count - 1, "p": p}
    return {**outcome, "mark": "tied" if p >= level else "worse"}, ""


@dataclass(frozen=True)
class Difference:
    """Difference of one score between two predictives on the same test points: ``mean``, ``se``, ``z = mean / se``.

    The points are the pairs, so the error speaks of this test part and these two fits alone.
    """

    score: str
    mean: float
    se: float
    n: int
    unit: str

    @property
    def z(self) -> float:
        """Difference in standard errors; NaN where every point differs equally."""
        return self.mean / self.se if self.se > 0.0 else float("nan")

    def __str__(self) -> str:
        return f"{self.score} differs by {self.mean:.4g} ± {self.se:.2g} {self.unit} over {self.n} points"


def paired_difference(first: Score, second: Score) -> Difference:
    """``first - second`` of one score at the same points, its error from the per-point differences.

    ``se = sd(slope₁ x₁ - slope₂ x₂) / √n``: what both predictives find hard cancels.

    Raises
    ------
    DataError : the scores differ in name or in their number of points.

    Example
    -------
    >>> import numpy as np
    >>> a = Score("nll", np.array([3.0, 5.0]), 4.0, "nats per observation", "lower")
    >>> b = Score("nll", np.array([1.0, 1.0]), 1.0, "nats per observation", "lower")
    >>> paired_difference(a, b).mean, paired_difference(a, b).se
    (3.0, 1.0)
    """
    if first.name != second.name or first.n != second.n:
        raise DataError(
            f"a paired difference needs one score at the same points; got {first.name!r} at {first.n} and "
            f"{second.name!r} at {second.n}"
        )
    influence = first.slope * first.pointwise - second.slope * second.pointwise
    return Difference(first.name, first.mean - second.mean, standard_error(influence), first.n, first.unit)
