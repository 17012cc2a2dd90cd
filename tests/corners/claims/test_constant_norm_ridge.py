"""The ridge of features of one length: what turns the verdict, and the golden shift."""

import numpy as np
import pytest

from corners.claims import constant_norm_ridge as module
from corners.claims._base import FAILS
from corners.claims._shared_cell import shared_cell
from corners.exact import shared_free_terms
from tests.support.golden import assert_golden, golden_cases


def test_broken_noise_turns_the_verdict(monkeypatch):
    """A variance taken for a standard deviation does not trade with the covariance."""

    def broken(features, targets, mean, covariance, prior_precision, noise_scale):
        return shared_free_terms(features, targets, mean, covariance, prior_precision, noise_scale**2)

    monkeypatch.setattr(module, "shared_free_terms", broken)
    claim = module.ConstantNormRidge.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_broken_scaling_turns_the_verdict(monkeypatch):
    """Rows left at their own lengths have no ridge."""
    monkeypatch.setattr(module, "rows_of_one_length", lambda problem: problem)
    claim = module.ConstantNormRidge.example()
    assert claim.check(claim.problem()).verdict == FAILS


@pytest.mark.parametrize("case", golden_cases("identifiability", "exact_ridge"))
def test_golden_shift_leaves_the_golden_objective(case):
    given, expected = case["inputs"], case["expected"]
    data = np.array(given["Psi"]), np.array(given["y"]), np.array(given["mu"])
    before = shared_cell(*data, np.diag(given["s"]), given["alpha"], given["sigma2"])
    after = shared_cell(*data, np.diag(expected["s_after"]), expected["alpha_after"], expected["sigma2_after"])
    assert_golden("identifiability", before.total, expected["objective_before"])
    assert_golden("identifiability", after.total, expected["objective_after"])
