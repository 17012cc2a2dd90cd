"""The shared loss against the evidence: what turns the verdict, and the counterexample of the golden file."""

from dataclasses import replace

import numpy as np
import pytest

from corners.claims import shared_loss_is_evidence as module
from corners.claims._base import FAILS
from corners.claims._problems import Problem
from corners.exact import shared_closed_terms
from tests.support.golden import as_array, assert_golden, golden_cases


def test_broken_leverage_turns_the_verdict(monkeypatch):
    """Plates scored by the noise alone, their leverage forgotten, are not the shared loss by its definition."""

    def broken(features, targets, prior_precision, noise_scale):
        found = shared_closed_terms(features, targets, prior_precision, noise_scale)
        terms = 0.5 * (np.log(2.0 * np.pi * noise_scale**2) + (found.residuals / noise_scale) ** 2)
        return replace(found, data_terms=terms)

    monkeypatch.setattr(module, "shared_closed_terms", broken)
    claim = module.SharedLossIsEvidence.example()
    assert claim.check(claim.problem()).verdict != claim.expected


@pytest.mark.parametrize("case", golden_cases("shared_closed"))
def test_golden_losses_by_definition(case):
    given = case["inputs"]
    problem = Problem(case["id"], as_array(given["Psi"]), as_array(given["y"]), given["alpha"], given["sigma2"] ** 0.5)
    shared, evidence = module._by_definition(problem)
    assert_golden("shared_closed", shared, case["expected"]["total"])
    assert_golden("shared_closed", evidence, case["expected"]["neg_log_evidence"])
    assert module.SharedLossIsEvidence.example().check(problem).verdict == FAILS


def test_the_counterexample_of_the_theory():
    """8.224 nats where the negative log evidence is 10.369."""
    (case,) = golden_cases("shared_closed", "shared_closed_0")[0].values
    given = case["inputs"]
    problem = Problem("golden", as_array(given["Psi"]), as_array(given["y"]), given["alpha"], given["sigma2"] ** 0.5)
    sentence = module.SharedLossIsEvidence.example().check(problem).sentence
    assert "8.224" in sentence
    assert "10.369" in sentence
