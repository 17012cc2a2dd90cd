"""The order of the prior terms: what turns the verdict, and both sides of the condition."""

from dataclasses import replace

import pytest

from corners.claims import prior_term_ordering as module
from corners.claims._base import FAILS
from corners.exact import prior_gaps
from tests.support.golden import as_array, assert_golden, golden_cases


def test_broken_entropy_turns_the_verdict(monkeypatch):
    """A gap without the entropy of the belief would hold for every prior precision."""

    def broken(*given):
        gaps = prior_gaps(*given)
        return replace(gaps, bethe_elbo=gaps.jensen)

    monkeypatch.setattr(module, "prior_gaps", broken)
    claim = module.PriorTermOrdering.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_broken_threshold_turns_the_verdict(monkeypatch):
    """The threshold at the prior is not the one for all beliefs."""
    monkeypatch.setattr(module, "UNIVERSAL_THRESHOLD", module.PRIOR_BELIEF_THRESHOLD)
    claim = module.PriorTermOrdering.example()
    assert claim.check(claim.problem()).verdict == FAILS


@pytest.mark.parametrize(("precision", "met"), [(14.3, False), (14.4, True)])
def test_the_condition_says_where_the_problem_is(precision, met):
    claim = module.PriorTermOrdering.example()
    finding = claim.check(replace(claim.problem(), prior_precision=precision))
    assert finding.verdict == claim.expected
    assert finding.condition is not None
    assert finding.condition.here.met is met


@pytest.mark.parametrize("case", golden_cases("ordering"))
def test_golden_prior_gap(case):
    given = case["inputs"]
    belief = module.DenseBelief(as_array(given["mu"]), as_array(given["Sigma"]))
    gap = module.kl_to_prior(*belief, given["alpha"]) - module.prior_term(belief, given["alpha"])
    assert_golden("ordering", gap, case["expected"]["gap_bethe_elbo"]["prior"])
