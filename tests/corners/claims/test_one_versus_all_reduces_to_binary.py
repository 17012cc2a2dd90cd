"""Two one-versus-all heads: what turns the verdict, and their probabilities by hand."""

import numpy as np
import pytest
from scipy.special import ndtri

from corners.claims import one_versus_all_reduces_to_binary as module
from corners.claims._base import HOLDS


def found():
    claim = module.OneVersusAllReducesToBinary.example()
    return claim.check(claim.problem())


def test_broken_loss_turns_the_verdict(monkeypatch):
    """Were the loss that of the normalised forecast, it would be a proper score."""

    def broken(labels, latents):
        ones = module.heads_forecast(latents)
        return -np.log(np.where(labels > 0.5, ones, 1.0 - ones))

    monkeypatch.setattr(module, "heads_loss", broken)
    assert found().verdict == HOLDS


def test_broken_forecast_turns_the_verdict(monkeypatch):
    """A forecast that was not normalised is not the one that was claimed to be right."""
    real = module.heads_forecast
    monkeypatch.setattr(module, "heads_forecast", lambda latents: 0.9 * real(latents))
    assert found().verdict == HOLDS


def test_two_heads_by_hand():
    """Heads that give themselves 0.3 and 0.6: loss ``-log 0.6 - log 0.7`` of label 1, forecast 2/3."""
    latents = ndtri(np.array([0.3, 0.6]))[:, None]
    assert module.heads_loss(np.ones(1), latents).item() == pytest.approx(-np.log(0.6 * 0.7))
    assert module.heads_loss(np.zeros(1), latents).item() == pytest.approx(-np.log(0.4 * 0.3))
    assert module.heads_forecast(latents).item() == pytest.approx(2.0 / 3.0)
