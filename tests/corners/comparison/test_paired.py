"""The marking rule of theory 11 and per-point paired differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from corners.comparison.paired import paired_difference, rank
from corners.comparison.scores import evaluate
from corners.errors import DataError, SpecError
from corners.predictive.gaussian import GaussianPredictive
from tests.support.golden import as_array, assert_golden, golden_cases

NAN = float("nan")
VALUES = arrays(np.float64, (3, 6), elements=st.floats(-1e3, 1e3).map(lambda x: round(x, 3)))


@pytest.mark.parametrize("case", golden_cases("metrics", "marking_rule"))
def test_golden_marks(case):
    ranking = rank({name: as_array(v) for name, v in case["inputs"]["nll_by_seed"].items()})
    for name, expected in case["expected"].items():
        assert ranking[name].mark == expected["mark"]
        assert_golden("metrics", ranking[name].mean, expected["mean"])
        if expected["p"] is None:
            assert ranking[name].p is None and ranking.best == name
        else:
            assert_golden("metrics", ranking[name].p, expected["p"])


@settings(max_examples=100, deadline=None)
@given(values=VALUES)
def test_p_values_are_scipys_one_sided_paired_test(values):
    ranking = rank(dict(zip("abc", values, strict=True)))
    best = values["abc".index(ranking.best)]
    for name, row in zip("abc", values, strict=True):
        if ranking[name].p is not None:
            expected = stats.ttest_rel(row, best, alternative="greater").pvalue
            np.testing.assert_allclose(ranking[name].p, expected, rtol=1e-9, atol=1e-300)


@settings(max_examples=100, deadline=None)
@given(values=VALUES)
def test_higher_is_better_mirrors_lower_is_better(values):
    low = rank(dict(zip("abc", values, strict=True)))
    high = rank(dict(zip("abc", -values, strict=True)), direction="higher")
    assert [row.mark for row in low.standings] == [row.mark for row in high.standings]


def test_nominal_compares_distances_and_shows_values():
    ranking = rank({"over": np.array([0.95, 0.96]), "on": np.array([0.89, 0.9])}, direction="nominal", nominal=0.9)
    assert ranking.best == "on" and ranking["over"].mean == pytest.approx(0.955)
    with pytest.raises(SpecError, match="needs the nominal value"):
        rank({"a": np.zeros(2)}, direction="nominal")


@pytest.mark.parametrize(("spread", "mark"), [(1 / 6.2, "tied"), (1 / 6.4, "worse")])
def test_the_level_is_five_per_cent_on_one_side(spread, mark):
    """With two seeds ``t`` is Cauchy and differences ``1 ± e`` have ``t = 1/e``; ``p = 0.05`` at ``t = tan(0.45π)``."""
    ranking = rank({"best": np.zeros(2), "other": np.array([1 + spread, 1 - spread])})
    assert ranking["other"].mark == mark
    np.testing.assert_allclose(ranking["other"].p, 0.5 - np.arctan(1 / spread) / np.pi, rtol=1e-9)


def test_equal_differences_are_tied_only_at_zero():
    base = np.array([1.0, 2.0, 4.0])
    ranking = rank({"best": base, "same": base.copy(), "shifted": base + 0.5})
    assert [row.mark for row in ranking.standings] == ["best", "tied", "worse"]
    assert ranking["shifted"].p is None and ranking["shifted"].difference == 0.5


def test_one_seed_is_no_test():
    ranking = rank({"a": np.array([1.0]), "b": np.array([2.0])})
    assert ranking.best == "a" and ranking["b"].mark == "no test"
    assert "b: one seed: no test" in ranking.sentence and np.isnan(ranking["a"].se)


def test_failed_replicates_are_left_out_in_pairs_and_said():
    ranking = rank({"a": np.array([1.0, 2.0, NAN, 4.0, 5.0]), "b": np.array([NAN, 2.5, 0.0, 4.6, 5.7])})
    row = ranking["b"]
    assert ranking.best == "a" and (row.pairs, row.left_out, row.seeds, row.df) == (3, 2, 4, 2)
    assert row.p == pytest.approx(stats.ttest_1samp([0.5, 0.6, 0.7], 0.0, alternative="greater").pvalue)
    assert "2 of 5 seeds left out" in row.remark


def test_the_best_is_chosen_on_the_seeds_all_have():
    """A method that fails on the hard seeds must not win by its failures."""
    ranking = rank({"fails_when_hard": np.array([1.1, 2.1, NAN]), "always": np.array([1.0, 2.0, 30.0])})
    assert ranking.best == "always"


def test_a_method_without_any_seed_neither_wins_nor_hides_the_others():
    ranking = rank({"broken": np.array([NAN, NAN]), "a": np.array([1.0, 2.0]), "b": np.array([1.5, 2.6])})
    assert ranking.best == "a" and ranking["broken"].mark == "no test" and np.isnan(ranking["broken"].mean)


def test_infinitely_bad_is_worse_and_never_best():
    ranking = rank({"a": np.array([0.0, np.inf]), "b": np.array([3.0, 3.0])})
    assert ranking.best == "b" and ranking["a"].mark == "worse" and "infinitely bad" in ranking["a"].remark
    with pytest.raises(DataError, match="infinitely good"):
        rank({"a": np.array([-np.inf])})


def test_no_common_seed_means_no_best():
    ranking = rank({"a": np.array([1.0, NAN]), "b": np.array([NAN, 1.0])})
    assert ranking.best is None and {row.mark for row in ranking.standings} == {"no test"}
    assert "no method is best" in str(ranking)


def test_unequal_numbers_of_seeds_are_refused():
    with pytest.raises(DataError, match="one value a seed"):
        rank({"a": np.zeros(2), "b": np.zeros(3)})


def test_rows_are_flat():
    for row in rank({"a": np.zeros(2), "b": np.ones(2)}).records():
        assert all(isinstance(value, str | int | float | None) for value in row.values())


def test_paired_difference_error_against_repeated_experiments():
    """The standard error of the difference is the spread of the difference over fresh test parts."""
    generator = np.random.default_rng(11)
    differences, errors = [], []
    for _ in range(200):
        mean = generator.normal(size=200)
        targets = mean + generator.standard_normal(200)
        first = evaluate(GaussianPredictive(mean + 0.3, np.full(200, 1.5)), targets)
        second = evaluate(GaussianPredictive(mean, np.ones(200)), targets)
        found = [paired_difference(first[name], second[name]) for name in ("nll", "rmse", "crps")]
        differences.append([d.mean for d in found])
        errors.append([d.se for d in found])
    spread = np.std(differences, axis=0, ddof=1)
    np.testing.assert_allclose(np.mean(errors, axis=0), spread, rtol=5.0 / np.sqrt(2 * 200))


def test_paired_difference_refuses_other_points_and_other_scores():
    predictive, targets = GaussianPredictive(np.zeros(3), np.ones(3)), np.zeros(3)
    scores = evaluate(predictive, targets)
    with pytest.raises(DataError, match="'nll' at 3 and 'crps' at 3"):
        paired_difference(scores["nll"], scores["crps"])


def test_equal_predictives_do_not_differ():
    scores = evaluate(GaussianPredictive(np.zeros(3), np.ones(3)), np.arange(3.0))
    same = paired_difference(scores["nll"], scores["nll"])
    assert same.mean == 0.0 and same.se == 0.0 and np.isnan(same.z)
