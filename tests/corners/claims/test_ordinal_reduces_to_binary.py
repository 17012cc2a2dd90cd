"""Two ordered classes: what turns the verdict, and thresholds by hand."""

import numpy as np
from scipy.special import ndtr

from corners.claims import ordinal_reduces_to_binary as module
from corners.claims._base import FAILS


def found():
    claim = module.OrdinalReducesToBinary.example()
    return claim.check(claim.problem())


def test_broken_threshold_turns_the_verdict(monkeypatch):
    """A threshold of the wrong sign agrees at zero alone."""
    real = module.ordinal_terms
    monkeypatch.setattr(module, "ordinal_terms", lambda y, m, v, threshold: real(y, m, v, -threshold))
    assert found().verdict == FAILS


def test_broken_width_turns_the_verdict(monkeypatch):
    """An ordinal head that forgets the variance of its latent value."""
    real = module.ordinal_terms
    monkeypatch.setattr(module, "ordinal_terms", lambda y, m, v, threshold: real(y, m, 0.0 * v, threshold))
    assert found().verdict == FAILS


def test_one_plate_by_hand():
    """``P(y = 1) = Φ((m - τ)/√(1 + v))`` with ``m = 1, v = 3, τ = 0.4``; the other label has the rest."""
    probability = float(ndtr(0.3))
    terms = module.ordinal_terms(np.array([1.0, 0.0]), np.ones(2), np.full(2, 3.0), 0.4)
    np.testing.assert_allclose(np.exp(-terms), [probability, 1.0 - probability], rtol=1e-12)


def test_the_prior_of_a_bias_weight():
    """``½ log 2π(s + 1/α) + τ²/(2(s + 1/α))`` more, with and without its variance."""
    problem = module.OrdinalReducesToBinary().problem()
    moved = module._prior_of_bias(problem, *module._belief(problem), 0.6)
    spreads = np.array([1.0, 1.0 + module.SPREAD])
    np.testing.assert_allclose(moved, 0.5 * np.log(2.0 * np.pi * spreads) + 0.18 / spreads, rtol=1e-10)
