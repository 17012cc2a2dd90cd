"""The data term as a score: what turns the verdict, and its least value."""

import numpy as np

from corners.claims import proper_scoring as module
from corners.claims._base import FAILS
from corners.exact import gaussian_plates


def found():
    claim = module.ProperScoring.example()
    return claim.check(claim.problem())


def test_broken_logarithm_turns_the_verdict(monkeypatch):
    """Half of the log determinant lost: ``exp(-ℓ)`` is no density any more."""

    def broken(targets, means, variances, noise_scale):
        terms = gaussian_plates(targets, means, variances, noise_scale)
        return terms._replace(value=terms.value - 0.25 * np.log(noise_scale**2 + variances))

    monkeypatch.setattr(module, "gaussian_plates", broken)
    assert found().verdict == FAILS


def test_broken_variance_turns_the_verdict(monkeypatch):
    """A data term that leaves out what the belief does not know is normalised, but another predictive."""

    def broken(targets, means, variances, noise_scale):
        return gaussian_plates(targets, means, 0.0 * variances, noise_scale)

    monkeypatch.setattr(module, "gaussian_plates", broken)
    assert found().verdict == FAILS


def test_the_average_of_a_standard_normal_is_its_entropy():
    """``½ log 2πe`` a plate, and ``½`` more from a mean one deviation off."""
    truth = module.Forecast(np.zeros(3), np.full(3, 0.5), np.sqrt(0.5))
    entropy = 0.5 * np.log(2.0 * np.pi * np.e)
    np.testing.assert_allclose(module._average(truth, truth), 3.0 * entropy, rtol=1e-12)
    np.testing.assert_allclose(
        module._average(truth, truth._replace(means=np.ones(3))), 3.0 * entropy + 1.5, rtol=1e-12
    )
