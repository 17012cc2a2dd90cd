"""exp: deterministic; its part of the free energy, its push-forward, and what it refuses (message_passing 0.2, 1.7)."""

import numpy as np
import pytest

from inference.distributions import Gamma, LogNormal, Normal
from inference.errors import NoRule, SpecError
from inference.nodes.exp_link import ExpLink
from tests.support.inboxes import inbox


def pair(node):
    return inbox(node, gamma=LogNormal(0.3, 0.5), z=Normal(0.3, 0.5))


@pytest.mark.parametrize(("jacobian", "energy"), [(0, 0.0), (1, -0.3)])
def test_energy_is_minus_j_times_the_mean_of_z(jacobian, energy):
    node = ExpLink(jacobian=jacobian)
    np.testing.assert_allclose(node.average_energy(pair(node)), energy, rtol=1e-15)


def test_forward_is_the_push_forward():
    node = ExpLink()
    q = node.forward("gamma", pair(node))
    np.testing.assert_allclose([q.mean(), q.mean_log()], [np.exp(0.3 + 0.25), 0.3], rtol=1e-14)
    with pytest.raises(NoRule, match="exp has no rule toward z"):
        node.forward("z", pair(node))


def test_a_draw_is_the_exponential():
    drawn = ExpLink().sample({"z": np.array([0.0, 1.0])}, (2,), np.random.default_rng(0))
    np.testing.assert_allclose(drawn["gamma"], [1.0, np.e])


def test_what_a_delta_function_does_not_have():
    node = ExpLink()
    with pytest.raises(SpecError, match="no density"):
        node.log_density({"z": np.zeros(1), "gamma": np.ones(1)})
    with pytest.raises(NoRule, match="exp has no rule toward z given the other end by itself"):
        node.message("z", inbox(node, gamma=Gamma(1.0, 1.0), z=Normal(0.0, 1.0)))
    with pytest.raises(SpecError, match=r"jacobian 0 .* or 1"):
        ExpLink(jacobian=2)
