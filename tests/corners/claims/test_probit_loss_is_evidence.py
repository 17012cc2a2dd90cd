"""The probit loss and the probit evidence: what turns the verdict, and the golden posterior."""

import numpy as np
from scipy.special import log_ndtr

from corners.claims import probit_loss_is_evidence as module
from corners.claims._base import HOLDS
from corners.claims._problems import Problem
from tests.support.golden import as_array, golden


def found():
    claim = module.ProbitLossIsEvidence.example()
    return claim.check(claim.problem())


def test_broken_convolution_turns_the_verdict(monkeypatch):
    """Plates that forget the variance of their latent value refute nothing: it was to be exact plate by plate."""
    monkeypatch.setattr(module, "plate_terms", lambda means, _, signs: -log_ndtr(signs * means))
    assert found().verdict == HOLDS


def test_broken_grid_turns_the_verdict(monkeypatch):
    """A grid that reaches half a deviation of the prior misses mass, which the draws find."""
    monkeypatch.setattr(module, "REACH", 0.5)
    assert found().verdict == HOLDS


def test_golden_posterior():
    """Evidence and moments of the reference problem."""
    (case,) = (c for c in golden("nuts_reference")["cases"] if c["id"] == "probit_fixed_hyper")
    inputs, expected = case["inputs"], case["expected"]
    problem = Problem("golden", as_array(inputs["Psi"]), as_array(inputs["y"]), inputs["alpha"], 1.0)
    truth = module.grid_truth(problem)
    np.testing.assert_allclose(truth.log_evidence, expected["log_evidence"], rtol=1e-8)
    np.testing.assert_allclose(truth.mean, as_array(expected["post_mean"]), rtol=1e-6)
    np.testing.assert_allclose(truth.covariance, as_array(expected["post_cov"]), rtol=1e-6)
    assert abs(module._loss(problem, truth.mean, truth.covariance) + expected["log_evidence"]) > 0.1


def test_the_units_of_the_features_move_the_loss_by_their_logarithm():
    """``-H log c`` with everything else scaled along (theory 7.1)."""
    problem = module.ProbitLossIsEvidence().problem()
    mean, covariance = np.array([0.3, -0.2]), np.array([[0.3, 0.1], [0.1, 0.2]])
    before = module._loss(problem, mean, covariance)
    after = module._loss(module._in_units(problem), mean / module.UNIT, covariance / module.UNIT**2)
    np.testing.assert_allclose(after - before, -2.0 * np.log(module.UNIT), rtol=1e-12)
