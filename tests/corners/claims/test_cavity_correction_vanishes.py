"""The cavity correction: what turns the verdict, golden values, and few rows."""

from dataclasses import replace

import numpy as np

from corners.claims import cavity_correction_vanishes as module
from corners.claims._base import FAILS
from corners.claims._problems import Problem
from corners.exact import cavity_correction
from tests.support.golden import as_array, golden


def test_broken_sign_turns_the_verdict(monkeypatch):
    """The residual's part with its sign flipped."""

    def broken(leverage, one_minus_leverage, residual, noise_var):
        return 2.0 * cavity_correction(leverage, one_minus_leverage, 0.0 * residual, noise_var) - cavity_correction(
            leverage, one_minus_leverage, residual, noise_var
        )

    monkeypatch.setattr(module, "cavity_correction", broken)
    claim = module.CavityCorrectionVanishes.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_golden_corrections():
    """Refits without the plate against the golden file's difference of leave-one-out and shared terms."""
    (case, *_) = golden("shared_closed")["cases"]
    inputs, expected = case["inputs"], case["expected"]
    problem = Problem(
        "golden",
        as_array(inputs["Psi"]),
        as_array(inputs["y"]),
        float(inputs["alpha"]),
        float(np.sqrt(inputs["sigma2"])),
    )
    formula, refit, _ = module._corrections(problem, problem.rows)
    np.testing.assert_allclose(refit, as_array(expected["loo_minus_shared_data"]), rtol=1e-8)
    np.testing.assert_allclose(formula, refit, rtol=1e-8)


def test_few_rows_are_far_from_the_condition():
    """The condition says how far the problem at hand is from it."""
    claim = module.CavityCorrectionVanishes.example()
    problem = claim.problem()
    assert claim.check(problem).condition.here.met
    few = replace(problem, features=problem.features[:40], targets=problem.targets[:40])
    assert not claim.check(few).condition.here.met
