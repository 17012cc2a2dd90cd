"""Counting terms: what turns the verdict, and shapes at the edge."""

from dataclasses import replace

import numpy as np
import pytest

from corners.claims import counting_terms as module
from corners.claims._base import FAILS, HOLDS
from corners.claims._problems import Problem
from corners.exact import bethe_parts, cavity_correction
from tests.support.golden import as_array, assert_golden, golden_cases


def test_broken_count_turns_the_verdict(monkeypatch):
    """One plate of sixty without its counting term is no longer the evidence."""

    def broken(*given):
        parts = bethe_parts(*given)
        kept = np.where(np.arange(len(parts.counting_terms)) == 0, 0.0, parts.counting_terms)
        return replace(parts, counting_terms=kept)

    monkeypatch.setattr(module, "bethe_parts", broken)
    claim = module.CountingTerms.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_broken_correction_turns_the_verdict(monkeypatch):
    """The account of the shared loss does not add up when its cavity correction has the other sign."""
    monkeypatch.setattr(module, "cavity_correction", lambda *given: -cavity_correction(*given))
    claim = module.CountingTerms.example()
    assert claim.check(claim.problem()).verdict == FAILS


@pytest.mark.parametrize("case", golden_cases("shared_closed"))
def test_golden_evidence(case):
    given = case["inputs"]
    problem = Problem(case["id"], as_array(given["Psi"]), as_array(given["y"]), given["alpha"], given["sigma2"] ** 0.5)
    assert module.CountingTerms.example().check(problem).verdict == HOLDS
    refits = module._refits(problem)
    terms = refits.losses + refits.posterior - refits.cavities
    total = refits.prior - refits.posterior + float(terms.sum())
    assert_golden("shared_closed", total, case["expected"]["neg_log_evidence"])


def test_more_features_than_rows():
    """The identity knows no shape."""
    claim = module.CountingTerms.example()
    problem = claim.problem()
    assert claim.check(replace(problem, features=problem.features[:5], targets=problem.targets[:5])).verdict == HOLDS
