"""Depth zero: what turns the verdict, and the golden optimum."""

import numpy as np
import pytest

from corners.claims import depth_zero as module
from corners.claims._base import FAILS
from corners.claims._problems import Problem
from corners.exact import shared_free_terms
from tests.support.golden import as_array, golden


def found():
    claim = module.DepthZero.example()
    return claim.check(claim.problem())


def test_broken_variance_turns_the_verdict(monkeypatch):
    """Coefficients shared by all plates are another model: the plates' variances without ``Σ`` show it."""

    def broken(features, targets, mean, covariance, prior_precision, noise_scale):
        return shared_free_terms(features, targets, mean, None, prior_precision, noise_scale)

    monkeypatch.setattr(module, "shared_free_terms", broken)
    assert found().verdict == FAILS


def test_broken_limit_turns_the_verdict(monkeypatch):
    """With the prior term the fits are not equal: it must be out of the way."""
    monkeypatch.setattr(module, "LIMIT", 1.0)
    assert found().verdict == FAILS


def test_golden_optimum():
    """Hildreth and Houck's likelihood on the golden problem, through the dense mixed model and without gradients."""
    case = next(c for c in golden("random_coefficient")["cases"] if c["id"] == "hildreth_houck_diag")
    problem = Problem("golden", as_array(case["inputs"]["X"]), as_array(case["inputs"]["y"]))
    expected, tolerance = case["expected"], golden("random_coefficient")["tolerance"]["value_abs"]
    dense = module.mixed_model(problem, as_array(expected["beta"]), as_array(expected["Sigma"]), expected["sigma2"])
    assert dense == pytest.approx(expected["neg_loglik"], abs=tolerance)
    assert module._minimised(problem) == pytest.approx(expected["neg_loglik"], abs=tolerance)


def test_two_plates_by_hand():
    """Each plate has coefficients of its own, so that the marginal covariance is diagonal."""
    problem = Problem("by hand", np.array([[1.0], [2.0]]), np.array([1.0, -1.0]))
    expected = 0.5 * (np.log(2.0 * np.pi * 3.0) + 1.0 / 3.0 + np.log(2.0 * np.pi * 9.0) + 1.0 / 9.0)
    assert module.mixed_model(problem, np.zeros(1), np.array([[2.0]]), 1.0) == pytest.approx(expected)
