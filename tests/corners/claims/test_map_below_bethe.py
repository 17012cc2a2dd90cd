"""MAP below Bethe on plates: what turns the verdict, and the golden conditions."""

import numpy as np
import pytest

from corners.claims import map_below_bethe as module
from corners.claims._base import FAILS
from tests.support.golden import as_array, golden_cases


def test_broken_condition_turns_the_verdict(monkeypatch):
    """The sign of the slope at the variance, ``r² ≤ σ² + v``, is another condition."""

    def broken(residuals, variances, noise_scale):
        return residuals**2 <= noise_scale**2 + variances

    monkeypatch.setattr(module, "plate_condition", broken)
    claim = module.MapBelowBethe.example()
    assert claim.check(claim.problem()).verdict == FAILS


def test_broken_probit_turns_the_verdict(monkeypatch):
    """A probit loss that divides by ``1 + v`` instead of its root is not the integral."""
    losses = module._probit_losses

    def broken(means, variances):
        return losses(means, (1.0 + variances) ** 2 - 1.0)

    monkeypatch.setattr(module, "_probit_losses", broken)
    claim = module.MapBelowBethe.example()
    assert claim.check(claim.problem()).verdict == FAILS


@pytest.mark.parametrize("case", golden_cases("ordering"))
def test_golden_conditions_are_signs_of_the_gap(case):
    given = case["inputs"]
    features, covariance = as_array(given["Psi"]), as_array(given["Sigma"])
    residuals = as_array(given["y"]) - features @ as_array(given["mu"])
    gaps = module._gap(residuals, module.latent_variances(features, covariance), given["sigma2"])
    assert (gaps >= 0.0).tolist() == case["expected"]["plate_fd_condition"]
    np.testing.assert_allclose(gaps.sum(), case["expected"]["gap_map_bethe"]["data"], rtol=1e-8, atol=1e-9)
