"""The scale of a classifier's belief: what turns the verdict."""

import numpy as np

from corners.claims import class_scale_is_fixed as module
from corners.claims._base import HOLDS
from corners.likelihoods.probit import Probit
from corners.likelihoods.probit import log_ndtr as log_normal


def test_broken_likelihood_turns_the_verdict(monkeypatch):
    """A term at the mean, which forgets the variance, sees the scale."""

    def broken(self, params, targets, marginals):
        return log_normal((2.0 * targets - 1.0) * marginals.mean)

    monkeypatch.setattr(Probit, "log_partition", broken)
    claim = module.ClassScaleIsFixed.example()
    assert claim.check(claim.problem()).verdict == HOLDS


def test_broken_scaling_turns_the_verdict(monkeypatch):
    """Rows left at their own lengths are not indifferent."""
    monkeypatch.setattr(module, "rows_of_one_length", lambda problem: problem)
    claim = module.ClassScaleIsFixed.example()
    assert claim.check(claim.problem()).verdict == HOLDS


def test_belief_keeps_the_standardised_margin():
    """``m/√(1 + v)`` of one row of length 1: ``k`` times both above and below the bar."""
    problem = module.rows_of_one_length(module.ClassScaleIsFixed.example().problem())
    margins = []
    for factor in (1.0, 7.0):
        _, means, variances = module._moments(problem, *module._belief(problem, factor))
        margins.append(means / np.sqrt(1.0 + variances))
    np.testing.assert_allclose(margins[1], margins[0], rtol=1e-12)
