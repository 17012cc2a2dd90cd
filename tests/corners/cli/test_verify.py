"""``corners verify``: text, JSON, a folder, own data, and an exit status that says whether the theory stands."""

import json

import pytest

from corners.claims import evidence_is_sequential
from corners.exact import sequential_predictives

CLAIM = "evidence_is_sequential"


def test_one_claim_with_its_margins(command):
    ran = command("verify", CLAIM)
    assert ran.code == 0
    assert "verdict: holds" in ran.out and "claimed in: paper v2" in ran.out and "at most 1e-09: yes" in ran.out


def test_several_end_with_a_summary(command):
    ran = command("verify", CLAIM, CLAIM)
    assert ran.code == 0 and ran.out.rstrip().endswith("2 claims: 2 hold. Every verdict is that of the theory.")


def test_json_is_one_record_a_claim(command):
    ran = command("verify", CLAIM, "--json")
    (record,) = ran.json()
    assert record["claim"] == CLAIM and record["verdict"] == record["verdict_of_the_theory"] == "holds"
    assert CLAIM in ran.err
    assert command("verify", CLAIM, "--json", "--quiet").err == ""


def test_own_data(command):
    (record,) = command("verify", CLAIM, "--data", "diabetes", "--units", "9", "--json").json()
    assert record["problem"] == "diabetes" and record["own_data"]


def test_a_folder_holds_the_ledger(command, tmp_path):
    ran = command("verify", CLAIM, "--report", str(tmp_path / "claims"))
    assert ran.code == 0 and str(tmp_path / "claims" / "report.md") in ran.out
    assert json.loads((tmp_path / "claims" / "ledger.json").read_text(encoding="utf-8"))[0]["claim"] == CLAIM
    assert "**Holds**:" in (tmp_path / "claims" / "report.md").read_text(encoding="utf-8")


def test_a_finding_against_the_theory_is_exit_status_one(command, monkeypatch):
    def broken(features, targets, prior_precision, noise_scale, **options):
        return sequential_predictives(features, targets, 2.0 * prior_precision, noise_scale, **options)

    monkeypatch.setattr(evidence_is_sequential, "sequential_predictives", broken)
    ran = command("verify", CLAIM, CLAIM)
    assert ran.code == 1 and f"NOT as the theory says: {CLAIM}, {CLAIM}" in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("no_such_claim",), "no claim is called 'no_such_claim'"),
        ((CLAIM, "--data", "iris"), "classification"),
        ((CLAIM, "--data", "nowhere"), "nowhere"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_status_two(command, arguments, said):
    ran = command("verify", *arguments)
    assert ran.code == 2 and said in ran.err and ran.out == ""
