"""Stationary points of the point belief: what turns the verdict, and golden roots."""

from dataclasses import replace

import numpy as np
import pytest

from corners.claims import none_cell_has_one_minimum as module
from corners.claims._base import HOLDS
from corners.claims._problems import Problem
from corners.exact import none_cell_stationary_points
from tests.support.golden import golden_cases

CASES = [case for case in golden_cases("eb_fixed_point") if case.id != "eb_runaway"]


def test_broken_bracketing_turns_the_verdict(monkeypatch):
    """A search that stops after the first pair misses four of six."""

    def broken(*arguments):
        found = none_cell_stationary_points(*arguments)
        return replace(found, roots=found.roots[:2])

    monkeypatch.setattr(module, "none_cell_stationary_points", broken)
    claim = module.NoneCellHasOneMinimum.example()
    assert claim.check(claim.problem()).verdict == HOLDS


def test_stated_problem_has_six():
    claim = module.NoneCellHasOneMinimum.example()
    places, kinds = module._turning_points(claim.problem(), 0.3**0.5)
    assert kinds.tolist() == [1, -1, 1, -1, 1, -1]
    assert len(places) == 6
    assert claim.check(claim.problem()).sentence.startswith("6 stationary")


@pytest.mark.parametrize("case", CASES)
def test_scan_finds_the_golden_roots(case):
    expected = case["expected"]
    scale = expected["sigma2"] ** 0.5
    problem = Problem("golden", np.array(case["inputs"]["Psi"]), np.array(case["inputs"]["y"]), 1.0, scale)
    places, kinds = module._turning_points(problem, scale)
    assert kinds.tolist() == [1, -1]
    roots = np.log(expected["v1_joint_map_alpha_roots_at_this_sigma2"])
    np.testing.assert_allclose(places, roots, atol=module.SPACING)
