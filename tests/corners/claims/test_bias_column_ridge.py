"""The trade between noise and bias: what turns the verdict, and the golden information matrix."""

import numpy as np
import pytest

from corners.claims import bias_column_ridge as module
from corners.claims._base import FAILS
from corners.exact import DiagonalCovariance, shared_free_terms
from tests.support.golden import golden_cases


def test_broken_variance_turns_the_verdict(monkeypatch):
    """A covariance a thousandth too wide no longer takes exactly what the noise gives."""

    def broken(scales):
        return DiagonalCovariance(1.001 * scales)

    monkeypatch.setattr(module, "DiagonalCovariance", broken)
    claim = module.BiasColumnRidge.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_broken_noise_turns_the_verdict(monkeypatch):
    """A variance taken for a standard deviation does not trade with the bias."""

    def broken(features, targets, mean, covariance, prior_precision, noise_scale):
        return shared_free_terms(features, targets, mean, covariance, prior_precision, noise_scale**2)

    monkeypatch.setattr(module, "shared_free_terms", broken)
    claim = module.BiasColumnRidge.example()
    assert claim.check(claim.problem()).verdict == FAILS


@pytest.mark.parametrize("case", golden_cases("identifiability", "bias_feature"))
def test_golden_information_is_zero_along_the_trade(case):
    """The matrix is given; the direction must be the one of the claim, whichever column is the bias."""
    features, scales = np.array(case["inputs"]["Psi"]), np.array(case["inputs"]["s"])
    bias = int(np.flatnonzero((features == 1.0).all(axis=0))[0])
    trade = np.zeros(len(scales) + 1)
    trade[0], trade[1 + bias] = -1.0 / case["inputs"]["sigma2"], 1.0 / scales[bias]
    information = np.array(case["expected"]["fim_per_plate"])
    assert abs(trade @ information @ trade) / (trade @ trade) < 1e-12
