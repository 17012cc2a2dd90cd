"""gamma against the golden messages and energy (message_passing 1.5), to 1e-12."""

import numpy as np
import pytest

from inference.distributions import Gamma as GammaDistribution
from inference.errors import NoRule, SpecError
from inference.nodes.gamma import Gamma
from inference.terms import full
from tests.support.golden import golden
from tests.support.inboxes import inbox


@pytest.fixture(params=golden("mp_rules")["gamma"])
def case(request):
    given = request.param["inputs"]
    x = GammaDistribution(given["gamma_shape"], given["gamma_rate"])
    rate = GammaDistribution(given["beta_shape"], given["beta_rate"])
    node = Gamma(shape=given["alpha"])
    return node, inbox(node, x=x, rate=rate), x, request.param["expected"]


def test_messages_energy_and_entropy(case):
    node, q, x, expected = case
    for port, name in (("x", "msg_gamma"), ("rate", "msg_beta")):
        log, rate = node.message(port, q)
        np.testing.assert_allclose([full(log) + 1.0, full(rate)], expected[name], rtol=1e-12)
    np.testing.assert_allclose(full(node.average_energy(q)), expected["avg_energy"], rtol=1e-12)
    np.testing.assert_allclose(x.entropy(), expected["entropy_gamma"], rtol=1e-12)


def test_forward_puts_the_rate_at_its_mean(case):
    node, q, _, expected = case
    forward = node.forward("x", q)
    np.testing.assert_allclose([forward.shape, forward.rate], expected["msg_gamma"], rtol=1e-12)
    with pytest.raises(NoRule, match="gamma has no rule toward rate"):
        node.forward("rate", q)


@pytest.mark.parametrize("shape", [0.0, -1.0, np.inf, np.nan])
def test_a_shape_that_is_none(shape):
    with pytest.raises(SpecError, match="one shape above 0"):
        Gamma(shape=shape)


def test_shape_comes_first_by_place():
    assert Gamma.arguments(2.0, 3.0) == {"shape": 2.0, "rate": 3.0}
