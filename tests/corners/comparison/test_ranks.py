"""Ranks over blocks: Demšar's worked example, scipy's Friedman test, tabulated quantiles and laws."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from corners.comparison.ranks import (
    block_ranks,
    friedman_test,
    indistinct_groups,
    mean_ranks,
    nemenyi_critical_difference,
)
from corners.errors import DataError, SpecError

# Demšar (2006), table 6: AUC of four classifiers on fourteen data sets. The thirteenth has 0.975 twice, which the paper
# ranks 2 and 3: the printed numbers are rounded, so the better one is 0.9751 here.
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)
LOSSES = {name: -AUC[:, k] for k, name in enumerate(("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"))}
PUBLISHED_RANKS = (3.143, 2.000, 2.893, 1.964)


def test_mean_ranks_of_the_published_example():
    np.testing.assert_allclose(list(mean_ranks(LOSSES).values()), PUBLISHED_RANKS, atol=5e-4)


def test_friedman_agrees_with_scipy_and_with_the_published_statistic_where_ties_are_broken():
    found = friedman_test(LOSSES)
    peer = stats.friedmanchisquare(*LOSSES.values())
    assert found.statistic == pytest.approx(peer.statistic, rel=1e-12) and found.p == pytest.approx(peer.pvalue)
    ranks = np.array(list(mean_ranks(LOSSES).values()))
    plain = 12.0 * 14 / 20.0 * ((ranks - 2.5) ** 2).sum()
    # The paper does not correct for ties (three of two, one of four): Σ(t³ - t) = 3·6 + 60 of 14·4·15.
    assert plain == pytest.approx(9.28, abs=5e-3) and found.statistic == pytest.approx(plain / (1.0 - 78 / 840))
    assert 13 * plain / (42 - plain) == pytest.approx(3.69, abs=5e-3)
    assert found.f == pytest.approx(13 * found.statistic / (42 - found.statistic))
    assert found.f_p == pytest.approx(stats.f.sf(found.f, 3, 39))


@given(st.integers(2, 8), st.integers(2, 9), st.integers(0, 10**6))
def test_without_ties_the_textbook_formula_holds_and_monotone_maps_change_nothing(methods, blocks, seed):
    values = np.random.default_rng(seed).normal(size=(methods, blocks))
    table = {str(k): row for k, row in enumerate(values)}
    ranks = np.array(list(mean_ranks(table).values()))
    assert ranks.mean() == pytest.approx(0.5 * (methods + 1))
    expected = 12.0 * blocks / (methods * (methods + 1)) * ((ranks - 0.5 * (methods + 1)) ** 2).sum()
    assert friedman_test(table).statistic == pytest.approx(expected, abs=1e-9)
    assert mean_ranks({name: np.exp(row) for name, row in table.items()}) == mean_ranks(table)


def test_perfect_agreement_and_no_difference_at_all():
    ordered = friedman_test({str(k): np.full(5, float(k)) for k in range(3)})
    assert ordered.statistic == pytest.approx(10.0) and math.isinf(ordered.f) and ordered.f_p == 0.0
    level = friedman_test({"a": np.ones(4), "b": np.ones(4)})
    assert (level.statistic, level.p, level.f, level.f_p) == (0.0, 1.0, 0.0, 1.0)


# Demšar (2006), table 5(a): q at level 0.05 for 2 to 10 methods.
@pytest.mark.parametrize(
    ("methods", "q"), list(enumerate((1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164), start=2))
)
def test_critical_difference_has_the_tabulated_quantiles(methods, q):
    found = nemenyi_critical_difference(methods, 14)
    assert found == pytest.approx(q * math.sqrt(methods * (methods + 1) / (6 * 14)), abs=1e-3)


def test_critical_difference_at_another_level_and_more_blocks():
    assert nemenyi_critical_difference(4, 14, 0.10) == pytest.approx(2.291 * math.sqrt(20 / 84), abs=1e-3)
    assert nemenyi_critical_difference(5, 40) == pytest.approx(0.5 * nemenyi_critical_difference(5, 10))


def test_groups_are_the_longest_runs_and_none_lies_within_another():
    ranks = {"d": 4.0, "a": 1.0, "c": 2.4, "b": 1.5, "e": 9.0}
    assert indistinct_groups(ranks, 1.6) == (("a", "b", "c"), ("c", "d"))
    assert indistinct_groups(ranks, 0.1) == ()
    assert indistinct_groups(ranks, 8.0) == (("a", "b", "c", "d", "e"),)
    assert indistinct_groups({"a": 1.5, "b": 1.5}, 0.0) == (("a", "b"),)


@given(st.lists(st.floats(1, 20), min_size=2, max_size=9), st.floats(0.01, 10))
def test_two_methods_share_a_group_exactly_where_they_do_not_differ(numbers, limit):
    ranks = {str(k): number for k, number in enumerate(numbers)}
    groups = indistinct_groups(ranks, limit)
    for (first, low), (second, high) in combinations(sorted(ranks.items(), key=lambda item: item[1]), 2):
        together = any(first in group and second in group for group in groups)
        assert together == (high - low <= limit)


def test_what_cannot_be_ranked_is_named():
    with pytest.raises(SpecError, match=r"at least two methods; got \['a'\]"):
        block_ranks({"a": np.ones(3)})
    with pytest.raises(DataError, match=r"one value a block.*'b': 2"):
        block_ranks({"a": np.ones(3), "b": np.ones(2)})
    with pytest.raises(DataError, match="no rank for NaN, found for b"):
        block_ranks({"a": np.ones(2), "b": np.array([1.0, np.nan])})
    with pytest.raises(SpecError, match="at least two blocks; got 1"):
        friedman_test({"a": np.ones(1), "b": np.ones(1)})
    with pytest.raises(SpecError, match="got methods=4, blocks=0"):
        nemenyi_critical_difference(4, 0)
