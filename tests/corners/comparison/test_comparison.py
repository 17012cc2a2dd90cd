"""The comparison as a user holds it: checks, scores computed once, and what can be asked of it."""

from dataclasses import replace

import numpy as np
import pytest

from corners.comparison.agreement import AgreementReport
from corners.comparison.identifiability import IdentifiabilityReport
from corners.comparison.ordering import OrderingReport
from corners.comparison.table import TABLE_SCORES
from corners.errors import SpecError, UnknownNameError
from tests.corners.comparison.fakes import SEEDS, LinearFit, comparison

NAMES = TABLE_SCORES["regression"]


def test_one_split_and_one_replicate_a_seed_are_demanded():
    with pytest.raises(SpecError, match="2 splits and 3 seeds"):
        replace(comparison(), splits=comparison().splits[:2])
    with pytest.raises(SpecError, match="'exact' has 3 replicates; the comparison has 2 seeds"):
        result = comparison()
        replace(result, splits=result.splits[:2], seeds=SEEDS[:2])
    with pytest.raises(SpecError, match="both fitted and unavailable"):
        comparison(unavailable={"exact": "no"})


def test_every_fit_predicts_its_test_part_once(monkeypatch):
    calls = []
    predict = LinearFit.predict

    def counted(self, inputs, *, replicate=0):
        calls.append((self.method, replicate))
        return predict(self, inputs, replicate=replicate)

    monkeypatch.setattr(LinearFit, "predict", counted)
    result = comparison()
    for _ in range(2):
        result.table()
        result.records()
        result.to_dataframe()
        result.to_xarray()
    assert sorted(calls) == sorted(result.usable()) and len(calls) == 8


def test_dataframe_and_xarray_hold_the_scores_of_every_seed():
    result = comparison()
    frame, data = result.to_dataframe(), result.to_xarray()
    assert list(data.dims) == ["fit", "seed", "score"]
    for method, k in result.usable():
        for name in NAMES:
            score = result.score(name, method, k)
            assert score is not None
            rows = frame.query("method == @method and score == @name and seed == @SEEDS[@k]")
            assert rows["mean"].item() == score.mean and rows["se"].item() == score.se and rows["n"].item() == score.n
            cell = data.sel(fit=method, seed=SEEDS[k], score=name)
            assert cell["mean"].item() == score.mean and cell["se"].item() == score.se
            assert cell["unit"].item() == score.unit == rows["unit"].item()
    assert len(frame) == 4 * 3 * len(NAMES) - 2 * len(NAMES)  # the absent method has no seeds
    assert np.isnan(data["mean"].sel(fit="point", seed=SEEDS[0])).all()
    assert "its library is not installed" in data.attrs["unavailable"]
    status = frame.query("method == 'point' and seed == 5")["status"].unique()
    assert len(status) == 1 and "Cholesky of M at step 3" in status[0]


def test_the_means_of_the_table_are_those_of_the_seeds():
    result = comparison()
    means = result.to_dataframe().groupby(["method", "score"])["mean"].mean()
    for row in result.records():
        if row["n"]:
            assert row["mean"] == pytest.approx(means[row["method"], row["score"]], rel=1e-12)


def test_ordering_of_one_fit_of_one_method_and_of_all():
    result = comparison()
    assert isinstance(result.ordering("free", 6), OrderingReport)
    assert isinstance(comparison(seeds=(5,)).ordering("free"), OrderingReport)
    some, every = result.ordering("free"), result.ordering()
    assert list(some) == [("free", seed) for seed in SEEDS]
    assert every.methods == ("exact", "free") and len(every) == 6
    assert every["free", 6] is some["free", 6]  # kept, not computed again
    assert every.absent["point", 6] == "it has no last layer with a Gaussian belief"
    assert "Cholesky of M" in every.absent["point", 5]
    text = str(every)
    assert "MAP ≤ Bethe" in text and "no report for point, seed 6, 7" in text


def test_identifiability_covers_every_layer_and_prints_a_table():
    found = comparison().identifiability()
    assert isinstance(found["exact", 5], IdentifiabilityReport)
    assert {row["method"] for row in found.records()} == {"exact", "free"}
    assert "saturated" in str(found) and "no report for point, seed 6, 7" in str(found)
    assert len(found.to_dataframe()) == len(found.records())


def test_agreement_needs_draws_and_says_who_has_none():
    result = comparison()
    found = result.agreement()
    assert isinstance(found["exact", 5], AgreementReport)
    assert found["exact", 5].agrees and not found["free", 5].agrees
    assert found.absent["exact", 7] == "R-hat 1.2 exceeds 1.01"
    assert found.absent["exact", 6] == "no draws of its posterior were asked for"
    with pytest.raises(SpecError, match=r"exact seed 7 has no such report: R-hat 1\.2"):
        result.agreement("exact", 7)


def test_the_same_question_about_agreement_has_the_same_answer():
    first, second = (comparison().agreement("free", 5) for _ in range(2))
    assert first.energy == second.energy is not None


def test_unknown_and_absent_methods_are_refused_in_words():
    result = comparison()
    with pytest.raises(UnknownNameError, match=r"Did you mean 'exact'\?"):
        result.ordering("exat")
    with pytest.raises(SpecError, match="'absent' was not run: its library is not installed"):
        result.ordering("absent")
    with pytest.raises(SpecError, match="its seeds are 5, 6, 7"):
        result.ordering("exact", 9)


def test_a_refused_predictive_fails_alone_and_says_why():
    fits = {"good": {}, "bad": {"variance": 0.0}}
    result = comparison(fits=fits, draws=False, hosts={})
    table = result.table()
    assert table.outcome("bad").usable == 0
    assert "predictive variance must be positive" in table.outcome("bad").status
    assert list(result.usable()) == [("good", k) for k in range(3)]
    assert "predictive variance must be positive" in result.ordering().absent["bad", 5]


def test_any_registered_score_can_be_asked_for():
    table = comparison().table(["crps", "squared_z"])
    assert [column.name for column in table.columns] == ["crps", "squared_z"]
