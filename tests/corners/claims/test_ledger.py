"""The ledger: what counts as a surprise, what is kept, and how it reads."""

import math

import pytest

import corners
from corners.claims import problem_of, verify
from corners.claims._base import CONDITIONAL, FAILS, HOLDS, Claim, Condition, Finding, at_least, at_most
from corners.claims._ledger import Ledger, Row
from corners.claims._problems import drawn_problem
from corners.claims._rendering import detail, line, markdown
from corners.errors import UnknownNameError

ROOM = at_most("room", 1.0, 3.0, "m")


class Said(Claim):
    """A claim that finds what it is told."""

    name = "said"
    statement = "Whatever is said."
    formula = "a = a"
    claimed_in = "theory 0"

    expected = HOLDS

    def __init__(self, found=HOLDS):
        self.found = found

    @classmethod
    def example(cls):
        return cls()

    def problem(self):
        return drawn_problem("tiny", rows=3, width=1)

    def check(self, problem):
        return Finding(self.found, "one | two", (ROOM, at_least("lost", math.inf, 0.0)), Condition("if so", ROOM))


def row(expected, found, own=False):
    claim = type("Said", (Said,), {"expected": expected})(found)
    return Row(claim, claim.check(claim.problem()), "tiny", own, 0.1)


def test_the_stated_problem_must_give_the_verdict_of_the_theory():
    verdicts = (HOLDS, CONDITIONAL, FAILS)
    for expected in verdicts:
        assert [row(expected, found).as_expected for found in verdicts] == [expected == found for found in verdicts]


def test_on_own_data_only_what_always_holds_must_hold():
    assert row(FAILS, HOLDS, own=True).as_expected and row(CONDITIONAL, FAILS, own=True).as_expected
    assert not row(HOLDS, FAILS, own=True).as_expected


def test_a_summary_counts_and_names_surprises():
    good = Ledger((row(HOLDS, HOLDS), row(FAILS, FAILS), row(FAILS, FAILS)))
    assert good.summary() == "3 claims: 1 holds, 2 fail. Every verdict is that of the theory."
    bad = Ledger((row(HOLDS, FAILS),))
    assert bad.summary() == "1 claim: 1 fails. NOT as the theory says: said."
    assert "the theory: holds" in line(bad.rows[0]) and "the theory: holds" in detail(bad.rows[0])


def test_a_record_is_standard_json():
    record = row(CONDITIONAL, CONDITIONAL).record()
    assert [margin["value"] for margin in record["margins"]] == [1.0, "inf"]
    assert record["condition"]["here"]["met"] is True


def test_details_say_how_far_the_condition_is():
    assert "here: room 1 m, at most 3 (met, by 2)" in detail(row(CONDITIONAL, CONDITIONAL))


def test_markdown_keeps_its_table_whole():
    text = markdown(Ledger((row(HOLDS, HOLDS),)))
    assert "one \\| two" in text
    rows = [each for each in text.splitlines() if each.startswith("| [`said`]")]
    assert len(rows) == 1 and rows[0].replace("\\|", "").count("|") == 4


def test_own_data_stands_in_where_the_claim_takes_it():
    problem = problem_of(corners.load("diabetes"))
    rows = verify(["evidence_is_sequential"], problem).rows
    assert rows[0].own_data and rows[0].problem == "diabetes"


def test_a_claim_that_takes_no_data_keeps_its_problem(monkeypatch):
    monkeypatch.setattr(Said, "takes_data", False)
    monkeypatch.setattr("corners.claims._ledger.CLAIMS.get", lambda _: Said)
    rows = verify(["evidence_is_sequential"], problem_of(corners.load("diabetes"))).rows
    assert not rows[0].own_data and rows[0].problem == "tiny"


def test_every_row_is_reported_as_it_comes_and_nothing_runs_for_a_wrong_name():
    seen = []
    verify(["evidence_is_sequential"], report=seen.append)
    assert [each.claim.name for each in seen] == ["evidence_is_sequential"]
    with pytest.raises(UnknownNameError, match="Did you mean 'evidence_is_sequential'"):
        verify(["evidence_is_sequential", "evidence_is_sequentail"], report=seen.append)
    assert len(seen) == 1
