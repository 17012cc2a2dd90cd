"""Results as a value: means, standard errors and paired tests against numpy and scipy."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from corners.errors import DataError
from corners.study.collecting import collect
from corners.study.results import PROVENANCE, SCORES, Results, read_json, read_results, seed_difference
from tests.corners.study.synthetic import make_study, run_all


def results_of(**rows):
    """One data set; a row is its NLL by seed from 5 on."""
    lines = [("yacht", row, 5 + k, value) for row, values in rows.items() for k, value in enumerate(values)]
    return Results(pd.DataFrame(lines, columns=["dataset", "row", "seed", "nll"]))


def test_mean_and_standard_error_leave_out_the_seeds_that_failed():
    found = results_of(a=[1.0, np.nan, 2.0, 6.0]).summary("yacht", "a", "nll")
    values = np.array([1.0, 2.0, 6.0])
    assert (found.mean, found.seeds) == (3.0, 3)
    assert found.se == pytest.approx(values.std(ddof=1) / np.sqrt(3))


@pytest.mark.parametrize(
    ("dataset", "row", "quantity"), [("boston", "a", "nll"), ("yacht", "b", "nll"), ("yacht", "a", "x")]
)
def test_what_is_not_there_has_no_seeds(dataset, row, quantity):
    results = results_of(a=[1.0, 2.0])
    found = results.summary(dataset, row, quantity)
    assert found.seeds == 0 and np.isnan(found.mean) and np.isnan(results.median(dataset, row, quantity))


def test_a_paired_difference_is_the_paired_t_test_over_common_seeds():
    generator = np.random.default_rng(4)
    a, b = generator.normal(size=12), generator.normal(loc=0.3, size=9)
    found = results_of(a=a, b=b).difference("yacht", "b", "a")
    test = stats.ttest_rel(b, a[:9])
    assert found.pairs == 9 and found.mean == pytest.approx((b - a[:9]).mean())
    assert (found.t, found.p) == pytest.approx((test.statistic, test.pvalue))


def test_a_seed_that_failed_for_either_is_no_pair():
    found = results_of(a=[1.0, np.nan, 3.0, 4.0], b=[0.0, 1.0, np.nan, 1.0]).difference("yacht", "a", "b")
    assert (found.pairs, found.mean) == (2, 2.0)


@pytest.mark.parametrize(("gaps", "p"), [([0.0, 0.0], 1.0), ([0.5, 0.5], 0.0)])
def test_equal_differences_have_no_t_but_a_verdict(gaps, p):
    found = seed_difference(np.array(gaps))
    assert found.p == p and np.isnan(found.t) and found.se == 0.0


@pytest.mark.parametrize("gaps", [[], [1.0], [np.nan, 1.0]])
def test_less_than_two_pairs_are_no_test(gaps):
    found = seed_difference(np.array(gaps))
    assert np.isnan(found.p) and np.isnan(found.se) and found.pairs == np.isfinite(gaps).sum()


def test_what_is_read_is_what_was_collected(tmp_path):
    study = make_study(tmp_path)
    run_all(study)
    collect(study)
    results = read_results(study.folder)
    assert len(results.frame) == 69 and "nll" in results.quantities and "code" not in results.quantities
    assert results.seeds("diabetes", "map") == tuple(range(5, 11))
    assert np.isnan(results.values("diabetes", "map", "nll")).tolist() == [False, True, False, False, False, False]
    assert np.isnan(results.values("linear", "map", "prior_precision")).all()
    assert [failure.reason for failure in results.failures] == ["the peer is <b>missing</b>; install it"] * 2
    assert (
        results.values("linear", "map", "nll", [10, 5]).tolist()
        == results.values("linear", "map", "nll")[[5, 0]].tolist()
    )


def test_a_row_called_none_or_nan_keeps_its_name(tmp_path):
    import gzip

    text = "dataset,row,seed,code,status,n_test,fingerprint,nll\nnan,none,5,exact,,3,,1.5\nnan,none,6,failed,NA,3,,\n"
    (tmp_path / SCORES).write_bytes(gzip.compress(text.encode()))
    (tmp_path / PROVENANCE).write_text(json.dumps({"format": 1}), encoding="utf-8")
    results = read_results(tmp_path)
    assert results.frame["status"].tolist() == ["", "NA"] and results.summary("nan", "none", "nll").mean == 1.5


def test_no_results_say_what_to_run(tmp_path):
    with pytest.raises(DataError, match="corners run"):
        read_results(tmp_path)


@pytest.mark.parametrize("text", ["[1]", "{", '{"format": "1"}'])
def test_a_broken_file_is_refused_by_name(tmp_path, text):
    path = tmp_path / PROVENANCE
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=PROVENANCE):
        read_json(path)
