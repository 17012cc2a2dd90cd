"""One belief as every cavity: what turns the verdict, and the limits of ``v_n/σ²``."""

import numpy as np

from corners.claims import one_cavity_for_all_large_n as module
from corners.claims._base import FAILS
from corners.claims._problems import Problem


def found():
    claim = module.OneCavityForAllLargeN.example()
    return claim.check(claim.problem())


def test_broken_free_routing_turns_the_verdict(monkeypatch):
    """A free cell that is secretly bound has leverages that vanish."""
    monkeypatch.setattr(module, "_free_shares", module._bound_shares)
    assert found().verdict == FAILS


def test_broken_leverage_turns_the_verdict(monkeypatch):
    """Leverage in the units of the features: ``ψᵀΣψ`` that was not divided by ``σ²``."""
    real = module._bound_shares
    monkeypatch.setattr(module, "_bound_shares", lambda problem, rows: problem.noise_var * real(problem, rows))
    assert found().verdict == FAILS


def test_a_mean_of_equal_rows():
    """Rows that are all 1: ``h = 1/(N + ασ²)``."""
    problem = Problem("a mean", np.ones((20, 1)), np.arange(20.0), prior_precision=2.0, noise_scale=0.5)
    for shares in (module._bound_shares(problem, 20), module._dense_shares(problem, 20)):
        np.testing.assert_allclose(shares, 1.0 / 20.5, rtol=1e-10)
