"""Joint MAP beside the evidence: what turns the verdict, and golden values of both."""

from dataclasses import replace

import numpy as np
import pytest

from corners.claims import one_pass_is_type_two as module
from corners.claims._base import HOLDS
from corners.claims._problems import Problem
from corners.exact import Evidence, none_cell_stationary_points
from tests.support.golden import golden_cases

CASES = [case for case in golden_cases("eb_fixed_point") if case.id != "eb_runaway"]


def test_broken_stationarity_turns_the_verdict(monkeypatch):
    """``γ`` in the place of ``H`` makes the one the other."""

    def broken(features, targets, noise_scale):
        found = none_cell_stationary_points(features, targets, noise_scale)
        alpha = Evidence(features, targets).maximise(noise_scale=noise_scale).prior_precision
        return replace(found, roots=(alpha, *found.roots[1:]))

    monkeypatch.setattr(module, "none_cell_stationary_points", broken)
    claim = module.OnePassIsTypeTwo.example()
    assert claim.check(claim.problem()).verdict == HOLDS


@pytest.mark.parametrize("case", CASES)
def test_both_precisions_are_the_golden_ones(case):
    expected = case["expected"]
    scale = expected["sigma2"] ** 0.5
    problem = Problem("golden", np.array(case["inputs"]["Psi"]), np.array(case["inputs"]["y"]), 1.0, scale)
    np.testing.assert_allclose(module._evidence(problem, 1), expected["alpha"], rtol=1e-6)
    root = expected["v1_joint_map_alpha_roots_at_this_sigma2"][0]
    np.testing.assert_allclose(module._joint(problem, 1), root, rtol=1e-6)


@pytest.mark.parametrize("case", golden_cases("eb_fixed_point", "eb_runaway"))
def test_nothing_to_learn(case):
    """Both run away: there is no pair to compare, and the claim is not refuted."""
    scale = case["expected"]["null_sigma2"] ** 0.5
    problem = Problem("golden", np.array(case["inputs"]["Psi"]), np.array(case["inputs"]["y"]), 1.0, scale)
    assert module.OnePassIsTypeTwo.example().check(problem).verdict == HOLDS
