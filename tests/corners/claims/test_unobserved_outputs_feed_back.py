"""Unseen outputs: what turns the verdict."""

from corners.claims import unobserved_outputs_feed_back as module
from corners.claims._base import HOLDS


def found():
    claim = module.UnobservedOutputsFeedBack.example()
    return claim.check(claim.problem())


def test_broken_gap_turns_the_verdict(monkeypatch):
    """Zero in the place of what is missing is an observation."""
    monkeypatch.setattr(module, "UNSEEN", 0.0)
    assert found().verdict == HOLDS


def test_broken_structure_turns_the_verdict(monkeypatch):
    """Were the latent outputs under mean field by default, they would narrow the posterior."""
    real = module._inferred
    monkeypatch.setattr(
        module, "_inferred", lambda problem, unseen: real(problem, "mean field" if unseen == "latent" else unseen)
    )
    assert found().verdict == HOLDS


def test_an_expert_without_feedback_keeps_the_precision_of_its_gate():
    """``e^(m + v/2)`` is more than what feedback leaves of it."""
    forward, fed_back, known = module._expert_precisions()
    assert abs(forward / known - 1.0) < 1e-9
    assert fed_back < 0.8 * forward
