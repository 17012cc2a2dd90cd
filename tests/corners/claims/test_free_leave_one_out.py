"""Free leave-one-out beliefs: what turns the verdict, and the slope by hand."""

import numpy as np

from corners.claims import free_leave_one_out as module
from corners.claims._base import FAILS


def found():
    claim = module.FreeLeaveOneOut.example()
    return claim.check(claim.problem())


def test_broken_cavity_turns_the_verdict(monkeypatch):
    """The shared cavity has ``1 + h`` in the place of ``1/(1-h)``: free, it does not collapse."""

    def broken(residuals, variances, noise_var):
        total = noise_var + variances
        return 0.5 * (np.log(2.0 * np.pi * total) + residuals**2 / total)

    monkeypatch.setattr(module, "left_out_terms", broken)
    assert found().verdict == FAILS


def test_broken_residual_turns_the_verdict(monkeypatch):
    """A residual that was not divided by ``1-h`` is not that of the plate left out."""

    def broken(residuals, variances, noise_var):
        spare = 1.0 - variances / noise_var
        return 0.5 * np.log(2.0 * np.pi * noise_var / spare) + residuals**2 * spare / (2.0 * noise_var)

    monkeypatch.setattr(module, "left_out_terms", broken)
    assert found().verdict == FAILS


def test_the_slope_is_that_of_the_theory():
    """``σ² ∂_v = 1/(2(1-h)) + r²/(2σ²(1-h)²)`` at one plate."""
    residuals, noise_var, share, step = np.array([0.7]), 0.4, 0.3, 1e-6
    ends = [module.left_out_terms(residuals, np.array([share * noise_var + e]), noise_var) for e in (step, -step)]
    expected = 1.0 / (2.0 * 0.7) + 0.49 / (2.0 * noise_var * 0.49)
    np.testing.assert_allclose(noise_var * (ends[0] - ends[1]) / (2.0 * step), expected, rtol=1e-8)
