"""softdot against the golden messages, energies and joint clusters (message_passing 1.2, 1.3), to 1e-12."""

import numpy as np
import pytest
from scipy import stats

import inference as P
from inference.distributions import Gamma, MvNormal, Normal, NormalGamma
from inference.errors import NoRule
from inference.gaussians.elimination import Belief, eliminate
from inference.inbox import Pair
from inference.nodes._base import Linear
from inference.nodes.soft_dot import SoftDot, squared_error
from inference.terms import full
from tests.support.golden import as_array, golden
from tests.support.inboxes import inbox

CASES = golden("mp_rules")["softdot"]
NODE = SoftDot()


def close(actual, expected):
    np.testing.assert_allclose(actual, as_array(expected), rtol=1e-12, atol=0.0)


def marginals(given, diagonal=False):
    def vector(name):
        mean, cov = as_array(given[f"mean_{name}"]), as_array(given[f"cov_{name}"])
        return MvNormal(mean, diag=np.diagonal(cov)) if diagonal else MvNormal(mean, cov=cov)

    tau = Gamma(given["tau_shape"], given["tau_rate"])
    return {"z": Normal(given["mean_z"], given["var_z"]), "w": vector("w"), "phi": vector("phi"), "tau": tau}


@pytest.fixture(params=CASES, ids=lambda case: f"d={len(case['inputs']['mean_w'])}")
def case(request):
    return request.param["inputs"], request.param["expected"]


def test_mean_field_messages(case):
    given, expected = case
    q = inbox(NODE, **marginals(given))
    linear, precision = NODE.message("z", q)
    close(full(linear) / full(precision), expected["msg_z_mean"])
    close(full(precision), expected["msg_z_precision"])
    for port in ("w", "phi"):
        linear, precision = NODE.message(port, q)
        close(full(linear), expected[f"msg_{port}_linear"])
        close(full(precision), expected[f"msg_{port}_precision"])
    log, rate = NODE.message("tau", q)
    close(full(log) + 1.0, expected["msg_tau_shape"])
    close(full(rate), expected["msg_tau_rate"])


def test_mean_field_error_and_energy(case):
    given, expected = case
    q = inbox(NODE, **marginals(given))
    close(full(squared_error(q)), expected["E_sq_meanfield"])
    close(full(NODE.average_energy(q)), expected["avg_energy_meanfield"])
    close(full(squared_error(inbox(NODE, **marginals(given, diagonal=True)))), expected["E_sq_diag"])


def test_error_and_energy_where_z_and_w_are_joint(case):
    given, expected = case
    phi, w = as_array(given["mean_phi"]), marginals(given)["w"]
    between = as_array(given["cov_wz"])
    mapped = (np.asarray(phi @ w.mean()), np.asarray(phi @ w.covariance @ phi), np.asarray(phi @ between))
    pair = Pair(("z", "w"), *mapped, np.zeros(()), lambda: between)
    q = inbox(NODE, pair=pair, **marginals(given))
    close(full(squared_error(q)), expected["E_sq_joint_wz"])
    close(full(NODE.average_energy(q)), expected["avg_energy_joint_wz"])


def structured(given):
    """The factor with phi known at its mean, and the Gaussian message that meets it on z."""
    known = {**marginals(given), "phi": as_array(given["mean_phi"])}
    linear = NODE.linear(frozenset({"z", "w"}), inbox(NODE, **known))
    site = (np.asarray(given["bp_z_mean"] / given["bp_z_var"]), np.asarray(1.0 / given["bp_z_var"]))
    return known, linear, site


def test_messages_of_belief_propagation(case):
    given, expected = case
    known, linear, site = structured(given)
    precision = np.linalg.inv(as_array(given["cov_w"]))
    toward_z = eliminate(linear, "w", precision @ as_array(given["mean_w"]), precision)
    close(full(toward_z.linear) / full(toward_z.precision), expected["bp_msg_z_mean_phi_fixed"])
    close(1.0 / full(toward_z.precision), expected["bp_msg_z_var_phi_fixed"])
    toward_w = eliminate(linear, "z", *site)
    close(full(toward_w.linear), expected["bp_msg_w_linear_phi_fixed"])
    close(full(toward_w.precision), expected["bp_msg_w_precision_phi_fixed"])
    forward = NODE.forward("z", inbox(NODE, **known, without=("z",)))
    close(forward.mean(), expected["bp_msg_z_mean_phi_fixed"])
    close(forward.var(), expected["bp_msg_z_var_phi_fixed"])


def test_the_joint_of_z_and_w(case):
    given, expected = case
    known, linear, site = structured(given)
    prior = np.linalg.inv(as_array(given["cov_w"]))
    out = eliminate(linear, "z", *site)
    w = MvNormal.from_natural(prior @ as_array(given["mean_w"]) + full(out.linear), prior + full(out.precision))
    z, pair = out.conditional.down(Belief(w.mean(), w.covariance))
    d = len(w.mean())
    mean, cov = as_array(expected["joint_wz_mean"]), as_array(expected["joint_wz_cov"])
    np.testing.assert_allclose(np.append(w.mean(), z.mean), mean, rtol=1e-12, atol=1e-14)
    close(w.covariance, cov[:d, :d])
    close(z.spread, cov[d, d])
    close(pair.between(), cov[d, :d])
    close(pair.cross, known["phi"] @ cov[:d, d])
    close(w.entropy() + pair.entropy, expected["joint_wz_entropy"])
    q = inbox(NODE, pair=pair, **{**known, "w": w, "z": Normal(z.mean, z.spread)})
    close(full(squared_error(q)), expected["E_sq_joint_from_messages"])


def test_either_factor_may_be_half_of_a_normal_gamma_pair():
    """w'phi is symmetric: with the names of w and phi exchanged every number is the same."""
    joint = NormalGamma([0.4, -0.2], [[1.5, 0.3], [0.3, 0.9]], 4.0, 2.0)
    other, rest = np.array([0.7, 1.1]), {"z": Normal(0.3, 0.5), "tau": joint.marginal_precision()}
    as_w = inbox(NODE, joint=joint, w=joint, phi=other, **rest)
    as_phi = inbox(NODE, joint=joint, phi=joint, w=other, **rest)
    np.testing.assert_allclose(full(NODE.average_energy(as_w)), full(NODE.average_energy(as_phi)), rtol=1e-14)
    for name in ("df", "loc", "scale"):
        np.testing.assert_allclose(
            NODE.forward("z", as_w).arrays()[name], joint.predictive(other).arrays()[name], rtol=1e-14
        )
        np.testing.assert_allclose(
            NODE.forward("z", as_phi).arrays()[name], joint.predictive(other).arrays()[name], rtol=1e-14
        )


@pytest.mark.parametrize("ports", [{"w", "phi"}, {"z", "tau"}, {"z", "w", "phi"}])
def test_clusters_without_a_rule_are_refused(ports):
    q = inbox(NODE, **marginals(CASES[1]["inputs"]))
    with pytest.raises(NoRule, match=r"softdot has no rule toward the joint of .*joint of \(z, w\)"):
        NODE.linear(frozenset(ports), q)
    with pytest.raises(NoRule, match="normal-gamma pair"):
        NODE.joint_message(frozenset(ports), q)


def test_forward_goes_toward_z_alone():
    with pytest.raises(NoRule, match="softdot has no rule toward w"):
        NODE.forward("w", inbox(NODE, **marginals(CASES[1]["inputs"])))


def test_the_potential_is_declared_as_a_vector_only_where_the_input_is_one():
    q = inbox(NODE, z=Normal(0.0, 1.0), w=Normal(0.0, 1.0), phi=np.array(2.0), tau=np.array(1.0))
    found = NODE.linear(frozenset({"z", "w"}), q)
    assert isinstance(found, Linear) and not found.vector_input and float(found.coefficient) == 2.0


@P.model
def autoregression(m, y):
    a, q = m.normal("a", mean=0.0, precision=1.0), m.gamma("q", 2.0, 1.0)
    x = m.chain("x", start=Normal(0.0, 4.0), step=lambda x: {"w": a, "phi": x, "tau": q}, length=len(y))
    m.normal("y", mean=x, precision=10.0, observed=y)


@P.model
def uncertain_features(m, y):
    row = m.plate("row", len(y))
    w = m.mvnormal("w", mean=[1.0, 0.0], precision=1.0)
    phi = m.mvnormal("phi", mean=[1.0, 1.0], precision=1.0, plates=row)
    z = m.softdot("z", w, phi, 2.0, plates=row)
    m.normal("y", mean=z, precision=3.0, observed=y)


@P.model
def uncertain_scale(m, y):
    row = m.plate("row", len(y))
    mu, tau = m.normal_gamma(("mu", "tau"), mean=0.0, precision=1.0, shape=3.0, rate=2.0)
    z = m.normal("z", mean=mu, precision=tau, plates=row)
    m.normal("y", mean=z, precision=2.0, observed=y)


@pytest.mark.parametrize("model", [autoregression, uncertain_features, uncertain_scale], ids=lambda model: model.name)
def test_a_coefficient_beside_a_cluster_lowers_the_free_energy_at_every_update(model):
    """The message toward it holds the covariance inside the cluster: of z with w, or of w scaled by tau."""
    y = np.cumsum(np.random.default_rng(4).normal(size=12))
    result = P.infer(model, data={"y": y}, iterations=200, callbacks=[P.AssertMonotone()])
    assert result.converged


def test_features_may_be_known_at_either_port_of_a_pair():
    """F is minus the log evidence of 5.3, whichever of the two ports the weights are given to."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(7, 2)), rng.normal(size=7)

    @P.model
    def regression(m, swapped):
        row = m.plate("row", 7)
        w, tau = m.normal_gamma(("w", "tau"), mean=[1.0, 0.0], precision=1.0, shape=3.0, rate=2.0)
        m.softdot("y", *((x, w) if swapped else (w, x)), tau, observed=y, plates=row)

    mean = x @ [1.0, 0.0]
    evidence = stats.multivariate_t(mean, 2.0 / 3.0 * (np.eye(7) + x @ x.T), df=6.0).logpdf(y)
    for swapped in (False, True):
        result = P.infer(regression, data={"swapped": swapped})
        np.testing.assert_allclose(result.free_energy[-1], -evidence, rtol=1e-11)
