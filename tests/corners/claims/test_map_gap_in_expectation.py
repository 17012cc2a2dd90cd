"""The expected gap from MAP to Bethe: what turns the verdict, and its closed form for probit."""

import numpy as np
from scipy.stats import norm

from corners.claims import map_gap_in_expectation as module
from corners.exact import gaussian_plates


def test_broken_slope_turns_the_verdict(monkeypatch):
    """A slope that forgets the residual is positive on average."""

    def broken(targets, means, variances, noise_scale):
        total = noise_scale**2 + variances
        return gaussian_plates(targets, means, variances, noise_scale)._replace(slope_var=0.5 / total)

    monkeypatch.setattr(module, "gaussian_plates", broken)
    claim = module.MapGapInExpectation.example()
    assert claim.check(claim.problem()).verdict != claim.expected


def test_broken_normaliser_turns_the_verdict(monkeypatch):
    """Without its log determinant the gap is no divergence, though its slope is right."""

    def broken(targets, means, variances, noise_scale):
        found = gaussian_plates(targets, means, variances, noise_scale)
        return found._replace(value=found.value - 0.5 * np.log(noise_scale**2 + variances))

    monkeypatch.setattr(module, "gaussian_plates", broken)
    claim = module.MapGapInExpectation.example()
    assert claim.check(claim.problem()).verdict != claim.expected


def test_expected_gap_of_probit_is_a_divergence_of_two_coins():
    means, variance = np.array([-1.5, 0.2, 2.0]), 0.7
    point, convolved = norm.cdf(means), norm.cdf(means / np.sqrt(1.0 + variance))
    expected = point * np.log(point / convolved) + (1.0 - point) * np.log((1.0 - point) / (1.0 - convolved))
    np.testing.assert_allclose(module._expected_gap("probit", np.arange(2.0), means, variance), expected, rtol=1e-10)
