"""Many methods on many data sets: mean ranks, Friedman's test and Nemenyi's critical difference (Demšar 2006)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from corners.errors import DataError, SpecError
from corners.types import Array, Float


@dataclass(frozen=True)
class Friedman:
    """Friedman's test of H0 "all methods have the same mean rank".

    ``statistic`` (corrected for ties) has about a χ² distribution of ``methods - 1`` degrees of freedom; ``f`` is Iman
    and Davenport's less conservative version of it, ``(n-1)χ²/(n(k-1) - χ²)``, with ``f_p`` from ``F(k-1,
    (k-1)(n-1))``.
    """

    statistic: float
    p: float
    f: float
    f_p: float
    methods: int
    blocks: int


def block_ranks(values: Mapping[str, Float[Array, " S"]]) -> dict[str, Float[Array, " S"]]:
    """Rank of every method within every block (a data set, or a seed): 1 is the lowest value, ties share their mean.

    Raises
    ------
    SpecError : fewer than two methods.
    DataError : unequal numbers of blocks, none at all, or a NaN; leave out the block or the method first.

    Example
    -------
    >>> ranks = block_ranks({"a": np.array([1.0, 1.0]), "b": np.array([2.0, 1.0])})
    >>> ranks["a"].tolist(), ranks["b"].tolist()
    ([1.0, 1.5], [2.0, 1.5])
    """
    if len(values) < 2:
        raise SpecError(f"ranks need at least two methods; got {list(values)}")
    columns = {method: np.asarray(column, dtype=np.float64) for method, column in values.items()}
    sizes = {method: column.size for method, column in columns.items()}
    if len(set(sizes.values())) != 1 or 0 in sizes.values():
        raise DataError(f"every method needs one value a block, and there must be a block; got {sizes}")
    missing = [method for method, column in columns.items() if np.isnan(column).any()]
    if missing:
        raise DataError(f"no rank for NaN, found for {', '.join(missing)}; leave out those blocks or methods")
    ranks = stats.rankdata(np.stack(list(columns.values())), axis=0)
    return dict(zip(columns, ranks, strict=True))


def mean_ranks(values: Mapping[str, Float[Array, " S"]]) -> dict[str, float]:
    """Mean of :func:`block_ranks` over blocks, in the order given; lower values rank first.

    Example
    -------
    >>> mean_ranks({"a": np.array([1.0, 1.0]), "b": np.array([2.0, 1.0])})
    {'a': 1.25, 'b': 1.75}
    """
    return {method: float(ranks.mean()) for method, ranks in block_ranks(values).items()}


def friedman_test(values: Mapping[str, Float[Array, " S"]]) -> Friedman:
    """Friedman's test over blocks, ``χ² = 12n/(k(k+1)) Σ_j (R_j - (k+1)/2)²`` where no values are tied.

    With ties the sum is divided by the mean variance that the ranks do have. All values tied in every block is
    ``χ² = 0``. Reference: Demšar (2006), section 3.2.2.

    Raises
    ------
    SpecError : fewer than two blocks; and as :func:`block_ranks`.

    Example
    -------
    >>> order = {"a": np.array([1.0, 1.0]), "b": np.array([2.0, 2.0]), "c": np.array([3.0, 3.0])}
    >>> friedman_test(order).statistic  # 12·2/(3·4) · (1 + 0 + 1)
    4.0
    """
    ranks = np.stack(list(block_ranks(values).values()))
    methods, blocks = ranks.shape
    if blocks < 2:
        raise SpecError(f"Friedman's test needs at least two blocks; got {blocks}")
    centre = 0.5 * (methods + 1)
    spread = float(((ranks - centre) ** 2).sum()) / (blocks * (methods - 1))
    between = blocks * float(((ranks.mean(axis=1) - centre) ** 2).sum())
    statistic = between / spread if spread > 0.0 else 0.0
    room = blocks * (methods - 1) - statistic
    f = (blocks - 1) * statistic / room if room > 1e-12 * statistic else (math.inf if statistic > 0.0 else 0.0)
    f_p = 0.0 if math.isinf(f) else float(special.fdtrc(methods - 1, (methods - 1) * (blocks - 1), f))
    return Friedman(statistic, float(special.chdtrc(methods - 1, statistic)), f, f_p, methods, blocks)


def nemenyi_critical_difference(methods: int, blocks: int, level: float = 0.05) -> float:
    """``CD = q √(k(k+1)/6n)``: mean ranks farther apart than this differ, all pairs tested at once.

    ``q`` is the upper ``level`` quantile of the studentised range of ``k`` at infinite degrees of freedom, over √2.
    Reference: Demšar (2006), section 3.2.2.

    Raises
    ------
    SpecError : fewer than two methods, no block, or a level outside (0, 1).

    Example
    -------
    >>> round(nemenyi_critical_difference(4, 14), 2)  # Demšar's example: 2.569 √(4·5/(6·14))
    1.25
    """
    if methods < 2 or blocks < 1 or not 0.0 < level < 1.0:
        raise SpecError(
            "a critical difference needs at least 2 methods, at least 1 block and a level within (0, 1); "
            f"got methods={methods}, blocks={blocks}, level={level}"
        )
    q = float(stats.studentized_range.ppf(1.0 - level, methods, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(methods * (methods + 1) / (6.0 * blocks))


def indistinct_groups(ranks: Mapping[str, float], critical_difference: float) -> tuple[tuple[str, ...], ...]:
    """Largest runs of neighbours, from the best mean rank on, of which no two differ by more than the difference.

    Example
    -------
    >>> indistinct_groups({"a": 1.0, "b": 2.5, "c": 3.5, "d": 9.0}, 1.5)
    (('a', 'b'), ('b', 'c'))
    """
    order = sorted(ranks, key=lambda method: ranks[method])
    groups: list[tuple[str, ...]] = []
    reached = 0
    for first, method in enumerate(order):
        last = first
        while last + 1 < len(order) and ranks[order[last + 1]] - ranks[method] <= critical_difference:
            last += 1
        if last > first and last > reached:
            groups.append(tuple(order[first : last + 1]))
        reached = max(reached, last)
    return tuple(groups)
