"""Which variables share a marginal: by default, as constraints ask, and what no rule can do."""

import numpy as np
import pytest

import inference as P
from inference.constraints import read_constraints
from inference.partition import DENSE_LIMIT, Findings, partition


@P.model
def experts(m, phi, yhat, y, *, noisy=False):
    """Precision-gated experts."""
    row, each = m.plate("row", len(y)), m.plate("expert", yhat.shape[1])
    w = m.mvnormal("w", mean=0.0, precision=1.0, dim=phi.shape[1], plates=each)
    tau = m.gamma("tau", 1.0, 1.0, plates=each)
    z = m.softdot("z", w, phi, tau, plates=(row, each))
    gamma = m.exp("gamma", z)
    if noisy:
        pred = m.normal("pred", mean=yhat, precision=m.gamma("kappa", 1.0, 1.0, plates=each), plates=(row, each))
        m.normal("y", mean=pred, precision=gamma, observed=y, plates=(row, each))
    else:
        m.normal("yhat", mean=y, precision=gamma, observed=yhat, plates=(row, each))


@P.model
def product(m, y):
    """z = w'phi with both unknown: linear in either, not in the two together."""
    row = m.plate("row", len(y))
    w = m.mvnormal("w", mean=0.0, precision=1.0, dim=2)
    phi = m.mvnormal("phi", mean=1.0, precision=1.0, dim=2, plates=row)
    z = m.softdot("z", w, phi, 1.0, plates=row)
    m.normal("y", mean=z, precision=1.0, observed=y)


@P.model
def conjugate(m, x, y):
    """A normal-gamma pair under a latent z."""
    row = m.plate("row", len(y))
    w, tau = m.normal_gamma(("w", "tau"), mean=0.0, precision=np.eye(2), shape=1.0, rate=1.0)
    z = m.softdot("z", w, x, tau, plates=row)
    m.normal("y", mean=z, precision=1.0, observed=y)


@P.model
def sample(m, y):
    """One mean and one precision."""
    mu, tau = m.normal("mu", mean=0.0, precision=1.0), m.gamma("tau", 1.0, 1.0)
    m.normal("y", mean=mu, precision=tau, observed=y, plates=m.plate("row", len(y)))


@P.model
def two_effects(m, y, *, again=True):
    """x and z joined once or twice, row by row."""
    row = m.plate("row", len(y))
    x = m.normal("x", mean=0.0, precision=1.0, plates=row)
    z = m.normal("z", mean=x, precision=1.0)
    if again:
        m.normal(z, mean=x, precision=1.0)
    m.normal("y", mean=z, precision=1.0, observed=y)


ROWS = 3
DATA = {"phi": np.ones((ROWS, 2)), "x": np.ones((ROWS, 2)), "yhat": np.zeros((ROWS, 2)), "y": np.zeros(ROWS)}


def parted(model, constraints=(), findings=None, **more):
    graph = model.build({name: DATA[name] for name in model.arguments if name in DATA} | more)
    found = partition(graph, read_constraints(constraints, graph), findings or Findings())
    return {tuple(v for v in graph.variables if v in cluster) for cluster in found}


@pytest.mark.parametrize(
    ("model", "constraints", "expected"),
    [
        (experts, [], {("w", "z"), ("tau",)}),
        (experts, P.MeanField(), {("w",), ("z",), ("tau",)}),
        (experts, P.MeanField("w"), {("w",), ("z",), ("tau",)}),
        (experts, P.MeanField("tau"), {("w", "z"), ("tau",)}),
        (experts, "q(w,z)q(tau)", {("w", "z"), ("tau",)}),
        (experts, "q(w,z,gamma)", {("w", "z"), ("tau",)}),
        (experts, "q(z,gamma)", {("w",), ("z",), ("tau",)}),
        (experts, "q(w)", {("w",), ("z",), ("tau",)}),
        (experts, P.BeliefPropagation(), {("w", "z"), ("tau",)}),
        (experts, P.Form("w", "diagonal"), {("w",), ("z",), ("tau",)}),
        (experts, P.Form("z", "gamma"), {("w",), ("z",), ("tau",)}),
        (experts, P.Form("z", "gaussian"), {("w", "z"), ("tau",)}),
        (experts, P.Fixed("w", P.MvNormal(np.zeros(2), np.eye(2))), {("w",), ("z",), ("tau",)}),
        (product, [], {("w", "z"), ("phi",)}),
        (product, "q(z,phi)", {("w",), ("z", "phi")}),
        (product, P.MeanField("w"), {("w",), ("phi", "z")}),
        (product, P.MeanField(), {("w",), ("z",), ("phi",)}),
        (conjugate, [], {("w", "tau"), ("z",)}),
        (conjugate, P.MeanField(), {("w", "tau"), ("z",)}),
        (sample, [], {("mu",), ("tau",)}),
        (two_effects, [], {("x", "z")}),
        (two_effects, P.MeanField(), {("x",), ("z",)}),
        (two_effects, P.Structured(("x", "z")), {("x", "z")}),
    ],
)
def test_the_latent_variables_are_parted(model, constraints, expected):
    assert parted(model, constraints) == {tuple(sorted(c, key=list(order(model)).index)) for c in expected}


def order(model):
    return model.build({name: DATA[name] for name in model.arguments if name in DATA}).variables


def test_noisy_experts_keep_their_predictions_apart_from_their_weights():
    assert parted(experts, noisy=True) == {("w", "z"), ("tau",), ("pred",), ("kappa",)}


def test_what_is_joined_by_default_is_said():
    findings = Findings()
    parted(experts, (), findings)
    assert findings.notes == ["w, z are joined by default, as an exact rule exists; q(..)q(..) splits them"]
    for constraints in ("q(w,z)", P.MeanField()):
        silent = Findings()
        parted(experts, constraints, silent)
        assert silent.notes == [] == silent.doubts


@pytest.mark.parametrize(
    ("model", "constraints", "said"),
    [
        (experts, "q(w,tau)", "normal_gamma"),
        (
            experts,
            "q(w,z,tau)",
            r"softdot has no rule toward the joint of \['tau', 'w', 'z'\] given the cluster q\(tau, w, z\)",
        ),
        (
            experts,
            "q(z,tau)",
            r"joint of \['tau', 'z'\].* Rules that exist: mean field toward z, w, phi, tau; joint of \(z, w\)",
        ),
        (
            product,
            "q(w,z,phi)",
            r"joint of \['phi', 'w', 'z'\].*A constraint that helps: keep the variables.*apart, with MeanField",
        ),
        (product, "q(w,phi)", r"joint of \['phi', 'w'\]"),
    ],
)
def test_a_cluster_without_a_rule_names_what_exists_and_what_would_help(model, constraints, said):
    if said == "normal_gamma":
        with pytest.raises(
            P.NoRule, match=r"q\(w, tau\) joins a precision .* m\.normal_gamma\(\(w, tau\).*q\(w\)q\(tau\)"
        ):
            P.infer(model, data={name: DATA[name] for name in model.arguments if name in DATA}, constraints=constraints)
        return
    with pytest.raises(P.NoRule, match=said):
        parted(model, constraints)


def test_a_cluster_is_joined_by_factors():
    with pytest.raises(P.NoRule, match=r"no factor joins the variables of q\(pred, w\); .* or write q\(a\)q\(b\)"):
        parted(experts, "q(w,pred)", noisy=True)


def test_loops_are_collapsed_up_to_a_size_and_split_beyond_it():
    half = DENSE_LIMIT // 2
    small, large = Findings(), Findings()
    assert parted(two_effects, (), small, y=np.zeros(half)) == {("x", "z")}
    assert (
        small.doubts == []
        and "q(x, z) has loops and is solved exactly as one dense Gaussian of 2000" in small.notes[-1]
    )
    assert parted(two_effects, (), large, y=np.zeros(half + 1)) == {("x",), ("z",)}
    (doubt,) = large.doubts
    assert isinstance(doubt, P.LoopyBP) and "q(x, z) has loops and 2002 dimensions, more than 2000" in str(doubt)
    assert large.notes[-1] == str(doubt)


def test_a_tree_of_any_size_stays_whole():
    findings = Findings()
    assert parted(two_effects, (), findings, y=np.zeros(DENSE_LIMIT + 1), again=False) == {("x", "z")}
    assert findings.doubts == []


def test_belief_propagation_refuses_loops_and_says_what_else_there_is():
    with pytest.raises(
        P.NoRule, match=r"among x, z make loops, and BeliefPropagation\(\) is exact on trees only; leave it"
    ):
        parted(two_effects, P.BeliefPropagation())
