"""Noise collapse in the place of starvation: what turns the verdict, and the golden optima."""

import math

import numpy as np
import pytest

from corners.claims import variance_starvation as module
from corners.claims._base import FAILS, HOLDS
from corners.claims._problems import Problem
from corners.exact import find_free_optimum
from tests.support.golden import golden, golden_cases

CASES = [
    case
    for prefix in ("opt_diag_alpha1_sigma2_free", "opt_full_alpha1_sigma2_free")
    for case in golden_cases("free_optimum", prefix)
]


def test_broken_covariance_turns_the_verdict(monkeypatch):
    """A search that leaves the covariance at zero starves."""

    def broken(*data, family, **options):
        return find_free_optimum(*data, family="none", **options)

    monkeypatch.setattr(module, "find_free_optimum", broken)
    claim = module.VarianceStarvation.example()
    assert claim.check(claim.problem()).verdict == HOLDS


@pytest.mark.parametrize("case", CASES)
def test_golden_optimum_has_the_noise_at_its_bound(case):
    problem = Problem("golden", np.array(case["inputs"]["Psi"]), np.array(case["inputs"]["y"]))
    family = {"diag": "diagonal", "full": "dense"}[case["inputs"]["family"]]
    found = module._optimum(problem, family)
    best, tolerance = case["expected"]["best_value"], golden("free_optimum")["tolerance"]["value_abs"]
    assert found.value > best - tolerance
    assert family == "dense" or found.value < best + tolerance  # the dense family descends from one start only
    assert abs(2.0 * math.log(found.noise_scale) + 14.0) < 1e-9


def test_noise_collapses_on_the_stated_problem():
    """More than the claim asks: the share is not below 0.99, it is next to nothing (theory 7.3: 0.05)."""
    claim = module.VarianceStarvation.example()
    finding = claim.check(claim.problem())
    assert finding.verdict == FAILS
    assert max(margin.value for margin in finding.margins if "share" in margin.name) < 0.05


def test_starved_belief_without_jitter_is_the_golden_point_belief(monkeypatch):
    monkeypatch.setattr(module, "JITTER", 0.0)
    case = next(case.values[0] for case in golden_cases("free_optimum", "opt_none_alpha1_sigma2_free"))
    problem = Problem("golden", np.array(case["inputs"]["Psi"]), np.array(case["inputs"]["y"]))
    value, scale = module._starved(problem)
    assert abs(value - case["expected"]["best_value"]) < 1e-6
    np.testing.assert_allclose(scale**2, case["expected"]["sigma2"], rtol=1e-3)
