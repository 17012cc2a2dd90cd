"""The committed ledger of claims was written by the claims as they are: same names, same words, same verdicts.

Its numbers hold rounding errors, which differ between machines: those are not compared.
"""

import json

import pytest

from corners.claims import CLAIMS
from tests.architecture.sources import ROOT

LEDGER = ROOT / "reports" / "claims" / "ledger.json"
WORDS = ("statement", "formula", "claimed_in", "verdict", "problem")


@pytest.fixture(scope="module")
def committed():
    return {record["claim"]: record for record in json.loads(LEDGER.read_text(encoding="utf-8"))}


def test_every_claim_is_there(committed):
    assert sorted(committed) == CLAIMS.names()
    assert len(committed) >= 22


def test_verdicts_are_those_of_the_theory(committed):
    assert all(record["as_expected"] for record in committed.values())


def test_words_are_those_of_the_claims(committed):
    """What is found is tested claim by claim; here that the page was written by these claims."""
    for name, record in committed.items():
        claim = CLAIMS.get(name).example()
        said = (claim.statement, claim.formula, claim.claimed_in, claim.expected, claim.problem().name)
        assert tuple(record[key] for key in WORDS) == said


def test_the_page_holds_every_sentence(committed):
    page = (LEDGER.parent / "report.md").read_text(encoding="utf-8")
    assert all(record["found"].replace("|", "\\|") in page for record in committed.values())
