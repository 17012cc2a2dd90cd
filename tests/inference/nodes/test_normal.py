"""normal against the golden messages and energies (message_passing 1.4), to 1e-12."""

import numpy as np
import pytest

from inference.distributions import Gamma, NormalGamma
from inference.distributions import Normal as NormalDistribution
from inference.errors import NoRule, SpecError
from inference.gaussians.elimination import eliminate
from inference.inbox import Pair
from inference.nodes.normal import Normal
from inference.structure import Variable
from inference.terms import full
from tests.support.golden import as_array, golden
from tests.support.inboxes import inbox

NODE = Normal()


def close(actual, expected):
    np.testing.assert_allclose(actual, as_array(expected), rtol=1e-12, atol=0.0)


@pytest.fixture(params=golden("mp_rules")["normal"])
def case(request):
    given = request.param["inputs"]
    y, mean = (NormalDistribution(given[f"mean_{k}"], given[f"var_{k}"]) for k in ("y", "mu"))
    q = {"y": y, "mean": mean, "precision": Gamma(given["tau_shape"], given["tau_rate"])}
    return given, q, request.param["expected"]


def test_mean_field_messages_and_energy(case):
    _, marginals, expected = case
    q = inbox(NODE, **marginals)
    for port, name in (("y", "msg_y_mf"), ("mean", "msg_mu_mf")):
        linear, precision = NODE.message(port, q)
        close([full(linear) / full(precision), 1.0 / full(precision)], expected[name])
    log, rate = NODE.message("precision", q)
    close([full(log) + 1.0, full(rate)], expected["msg_tau_mf"])
    close(full(NODE.average_energy(q)), expected["avg_energy_mf"])


def test_messages_of_belief_propagation(case):
    _, marginals, expected = case
    q = inbox(NODE, **marginals)
    linear = NODE.linear(frozenset({"y", "mean"}), q)
    for child, toward, name in (("mean", "y", "msg_y_bp"), ("y", "mean", "msg_mu_bp")):
        precision = 1.0 / marginals[child].var()
        out = eliminate(linear, child, np.asarray(marginals[child].mean() * precision), np.asarray(precision))
        close([full(out.linear) / full(out.precision), 1.0 / full(out.precision)], expected[name])
        forward = NODE.forward(toward, q)
        close([forward.mean(), forward.var()], expected[name])


def test_message_and_energy_where_y_and_mean_are_joint(case):
    given, marginals, expected = case
    cross = np.asarray(given["cov_ymu"])
    mean = marginals["mean"]
    q = inbox(NODE, pair=Pair(("y", "mean"), mean.mean(), mean.var(), cross, np.zeros(())), **marginals)
    log, rate = NODE.message("precision", q)
    close([full(log) + 1.0, full(rate)], expected["msg_tau_joint"])
    close(full(NODE.average_energy(q)), expected["avg_energy_joint"])


def test_entropies_of_its_marginals(case):
    _, marginals, expected = case
    close(marginals["precision"].entropy(), expected["entropy_gamma_tau"])
    close(marginals["y"].entropy(), expected["entropy_y"])


def test_forward_under_a_normal_gamma_pair_is_its_student_t():
    """5.3 with x = 1: df 2a, location m, squared scale (b/a)(1 + 1/L)."""
    joint = NormalGamma([0.4], [[2.0]], 3.0, 1.5)
    q = inbox(NODE, joint=joint, mean=joint, precision=joint.marginal_precision(), y=np.array(0.0), without=("y",))
    t = NODE.forward("y", q).arrays()
    np.testing.assert_allclose([t["df"], t["loc"], t["scale"] ** 2], [6.0, 0.4, 0.5 * 1.5], rtol=1e-14)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mean": 0.0, "precision": 1.0, "var": 1.0}, "precision= or var=, not both"),
        ({"mean": 0.0, "var": Variable("v", "positive", ())}, "takes a variable as precision="),
    ],
)
def test_arguments_that_contradict(given, said):
    with pytest.raises(SpecError, match=said):
        Normal.arguments(**given)


def test_a_variance_is_inverted():
    assert Normal.arguments(1.0, var=4.0) == {"mean": 1.0, "precision": 0.25}


def test_rules_it_does_not_have(case):
    q = inbox(NODE, **case[1])
    with pytest.raises(NoRule, match="normal has no rule toward precision"):
        NODE.forward("precision", q)
    with pytest.raises(NoRule, match="Gaussian cluster"):
        NODE.linear(frozenset({"y", "precision"}), q)
    with pytest.raises(NoRule, match="normal-gamma pair"):
        NODE.joint_message(frozenset({"y", "mean"}), q)
