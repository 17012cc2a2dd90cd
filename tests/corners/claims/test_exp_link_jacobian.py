"""The exp link's messages: what turns the verdict, and one edge in closed form."""

import numpy as np
from scipy.special import digamma, gammaln

from corners.claims import exp_link_jacobian as module
from corners.claims._base import HOLDS


def found():
    claim = module.ExpLinkJacobian.example()
    return claim.check(claim.problem())


def test_broken_message_turns_the_verdict(monkeypatch):
    """Without the Jacobian on the z side the published pair would be the exp link."""
    real = module.toward_z
    monkeypatch.setattr(module, "toward_z", lambda far, z, _: real(far, z, 0))
    assert found().verdict == HOLDS


def test_broken_link_turns_the_verdict(monkeypatch):
    """A message to γ that forgets to be a density of γ."""
    real = module.toward_gamma
    monkeypatch.setattr(module, "toward_gamma", lambda near, gamma, _: real(near, gamma, 1))
    assert found().verdict == HOLDS


def test_a_flat_message_from_z():
    """Then γ is Gamma exactly, of shape ``s + J``: the published sides have shapes 3/2 and 1/2, of one rate."""
    rate, (z, share) = 0.3, module._nodes(np.linspace(-45.0, 6.0, 80))

    def far(gamma):
        return np.sqrt(gamma) * np.exp(-rate * gamma)

    for jacobian, shape in ((1, 1.5), (0, 0.5)):
        log_mass, mean = module._moments(share * module.toward_z(far, z, jacobian), z)
        np.testing.assert_allclose(log_mass, gammaln(shape) - shape * np.log(rate), rtol=1e-6)
        np.testing.assert_allclose(mean, digamma(shape) - np.log(rate), rtol=1e-6)
