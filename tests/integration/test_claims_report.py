"""The committed ledger of claims says what the claims find: same claims, same words, same verdicts.

Its sentences hold rounding errors, which differ between machines: those are not compared.
"""

import json

import pytest

from corners.claims import CLAIMS, verify
from tests.architecture.sources import ROOT

LEDGER = ROOT / "reports" / "claims" / "ledger.json"
WORDS = ("statement", "formula", "claimed_in", "verdict", "verdict_of_the_theory", "problem", "own_data")


@pytest.fixture(scope="module")
def committed():
    return {record["claim"]: record for record in json.loads(LEDGER.read_text(encoding="utf-8"))}


def test_every_claim_is_there(committed):
    assert sorted(committed) == CLAIMS.names()
    assert len(committed) >= 22


def test_verdicts_are_those_of_the_theory(committed):
    assert all(record["as_expected"] for record in committed.values())


def test_words_and_verdicts_are_found_again(committed):
    for record in verify().records():
        kept = committed[record["claim"]]
        assert {key: kept[key] for key in WORDS} == {key: record[key] for key in WORDS}
        assert [each["name"] for each in kept["margins"]] == [each["name"] for each in record["margins"]]
        assert [each["met"] for each in kept["margins"]] == [each["met"] for each in record["margins"]]


def test_the_page_holds_every_sentence(committed):
    page = (LEDGER.parent / "report.md").read_text(encoding="utf-8")
    assert all(record["found"].replace("|", "\\|") in page for record in committed.values())
