"""The jitter as a lower bound: what turns the verdict, and the floor in closed form."""

import numpy as np

from corners.claims import jitter_is_negligible as module
from corners.claims._base import HOLDS
from corners.exact import find_free_optimum


def test_broken_by_one_jitter_for_all(monkeypatch):
    """A search that ignores the jitter it is given finds one infimum twice."""

    def broken(*data, jitter, **options):
        return find_free_optimum(*data, jitter=1e-4, **options)

    monkeypatch.setattr(module, "find_free_optimum", broken)
    claim = module.JitterIsNegligible.example()
    assert claim.check(claim.problem()).verdict == HOLDS


def test_witness_in_closed_form():
    """At ``μ = 0``, ``Σ = εI``: ``½H log 2π(ε + 1/α)`` and the null model's data term under ``σ² + ε‖ψ‖²``."""
    problem, jitter = module.JitterIsNegligible.example().problem(), 1e-3
    total = problem.noise_var + jitter * (problem.features**2).sum(axis=1)
    data = 0.5 * (np.log(2.0 * np.pi * total) + problem.targets**2 / total).sum()
    prior = 0.5 * problem.width * np.log(2.0 * np.pi * (jitter + 1e-6 * jitter))
    np.testing.assert_allclose(module._witness(problem, jitter), prior + data, rtol=1e-12)
