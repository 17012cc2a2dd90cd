"""Plates scored by a fixed belief: what turns the verdict, and where nothing is coupled."""

from dataclasses import replace

import numpy as np

from corners.claims import fixed_belief_telescopes as module
from corners.claims._base import FAILS, HOLDS
from corners.claims._problems import Problem
from corners.exact import coupling_lost, joint_minus_plates


def test_broken_coupling_turns_the_verdict(monkeypatch):
    """A total correlation without its half is not the mean difference."""
    monkeypatch.setattr(module, "coupling_lost", lambda *given: 2.0 * coupling_lost(*given))
    claim = module.FixedBeliefTelescopes.example()
    assert claim.check(claim.problem()).verdict != claim.expected


def test_broken_sign_turns_the_verdict(monkeypatch):
    """Plates minus joint taken for joint minus plates."""
    monkeypatch.setattr(module, "joint_minus_plates", lambda *given: -joint_minus_plates(*given))
    claim = module.FixedBeliefTelescopes.example()
    assert claim.check(claim.problem()).verdict != claim.expected


def test_nothing_is_lost_where_nothing_is_coupled():
    """One plate, or plates with a weight each: the sum is the joint loss and the claim is not refuted."""
    claim = module.FixedBeliefTelescopes.example()
    problem = claim.problem()
    one = replace(problem, features=problem.features[:1], targets=problem.targets[:1])
    assert claim.check(one).verdict == HOLDS
    assert claim.check(Problem("a weight each", np.eye(4), np.arange(4.0))).verdict == HOLDS


def test_copies_of_a_row_are_coupled():
    """Eight copies share their one weight: ½(8 log V - log|σ²I + v 11ᵀ|) is lost."""
    problem = Problem("copies", np.ones((8, 1)), np.arange(8.0), noise_scale=1.0)
    variance = 1.0 / 9.0
    lost = 0.5 * (8.0 * np.log(1.0 + variance) - np.log(1.0 + 8.0 * variance))
    finding = module.FixedBeliefTelescopes.example().check(problem)
    assert finding.verdict == (FAILS if lost >= 0.1 else HOLDS)
    assert f"the total correlation is {lost:.3f}" in finding.sentence
