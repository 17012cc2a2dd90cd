"""The split-branch router: golden limit, mean-field sweeps of the table, and what learning it costs (section 4.4)."""

import numpy as np
import pytest
from scipy.special import expit

import inference as P
from inference.words import combined, routed_experts, router_limit, xor_weights
from tests.support import link_oracle
from tests.support.golden import golden

pytestmark = pytest.mark.unchecked

ROWS = golden("mp_router")["expected"]
PHI = np.array([[*case["x"], 1.0] for case in ROWS])
XOR = {"phi": PHI, "yhat": np.tile([0.0, 1.0], (len(PHI), 1)), "y": P.missing(len(PHI))}
VALUES_FIRST = ["m", "m.left", "m.right", "m.h", "m.z_left", "m.z_right"]


def xor(tau):
    return routed_experts.bind(**xor_weights(), gate_precision=tau, switch_precision=tau, branch_precision=tau)


def column(*names):
    return np.array([[case[name] for name in names] for case in ROWS])


def test_the_weights_are_the_golden_ones():
    x, ours = golden("mp_router")["inputs"], xor_weights()
    np.testing.assert_array_equal(ours["gate"], [x["v1"], x["v2"]])
    np.testing.assert_array_equal(ours["left"], x["wL"])
    np.testing.assert_array_equal(ours["right"], x["wR"])


def test_the_deterministic_limit_is_golden():
    scores = router_limit(PHI, **xor_weights())
    y = combined(scores, XOR["yhat"])
    np.testing.assert_allclose(PHI @ xor_weights()["gate"].T, column("h1", "h2"), atol=1e-14)
    np.testing.assert_allclose(scores, column("m1", "m2"), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(np.column_stack([y.mean(), y.var()]), column("mean_y", "var_y"), rtol=1e-12)


def test_combining_does_not_overflow():
    y = combined(np.array([[600.0, 599.0], [-600.0, -600.0]]), np.array([[0.0, 1.0], [0.0, 1.0]]))
    np.testing.assert_allclose(y.mean(), [expit(-1.0), 0.5], rtol=1e-13)


@pytest.mark.parametrize("constraints", [(), P.MeanField()], ids=["joint", "apart"])
def test_the_graph_becomes_its_limit(constraints):
    r = P.infer(xor(1e8), data=XOR, constraints=constraints, order=VALUES_FIRST)
    np.testing.assert_allclose(r.posteriors["m"].mean(), column("m1", "m2"), atol=1e-5)
    np.testing.assert_allclose(r.predictions["y"].mean(), column("mean_y")[:, 0], rtol=1e-4)


def swept(x, tau, sweeps):
    """One expert's m after mean-field sweeps written out as in 4.4, links solved one at a time."""
    phi = np.array([*x, 1.0])
    weights = xor_weights()
    score = weights["gate"][0] @ phi
    means = weights["left"] @ phi, weights["right"] @ phi
    h, z, var = score, list(means), [1.0 / tau, 1.0 / tau]
    k = [np.exp(h + 1.0 / tau), np.exp(-h + 1.0 / tau)]
    for _ in range(sweeps):
        m, spread = (k[0] * z[0] + k[1] * z[1]) / sum(k), 1.0 / sum(k)
        errors = [0.5 * ((m - z[b]) ** 2 + spread + var[b]) for b in (0, 1)]
        links = [link_oracle.gaussian_link(tau, sign * h, 0.5, c) for sign, c in zip((1.0, -1.0), errors, strict=True)]
        k = [np.exp(q.mean + 0.5 * q.var) for q in links]
        h = (tau * score + tau * (links[0].mean - links[1].mean)) / (3.0 * tau)
        z = [(tau * means[b] + k[b] * m) / (tau + k[b]) for b in (0, 1)]
        var = [1.0 / (tau + k[b]) for b in (0, 1)]
    return m


@pytest.mark.parametrize(("tau", "stated"), [(1.0, 9.979), (10.0, 9.999), (500.0, 10.0)])
def test_mean_field_sweeps_are_those_of_the_table(tau, stated):
    """The stated values are those of 200 sweeps; at tau = 1 the fixed point, 9.959, is thousands of sweeps away."""
    ends = {"phi": PHI[[0, -1]], "yhat": XOR["yhat"][:2], "y": P.missing(2)}
    options = {"iterations": 200, "free_energy": False, "order": VALUES_FIRST}
    r = P.infer(xor(tau), data=ends, constraints=P.MeanField(), **options)
    m = r.posteriors["m"].mean()
    assert abs(m[0, 0] - stated) < 0.0005
    np.testing.assert_allclose(m[0, 0], swept((0.0, 0.0), tau, 200), rtol=1e-6)
    np.testing.assert_allclose(r.predictions["y"].mean()[-1], 0.5, rtol=1e-12)


@pytest.fixture(scope="module")
def routed():
    """Two experts that swap their precision at 0; the truth and its data."""
    generator = np.random.default_rng(0)
    rows = 60
    phi = np.column_stack([generator.uniform(-1.0, 1.0, rows), np.ones(rows)])
    truth = {"gate": np.array([[6.0, 0.0], [-6.0, 0.0]]), "left": np.array([0.0, 4.0]), "right": np.array([0.0, -1.0])}
    y = generator.standard_normal(rows)
    yhat = y[:, None] + np.exp(-0.5 * router_limit(phi, **truth)) * generator.standard_normal((rows, 2))
    return truth, {"phi": phi, "yhat": yhat, "y": y}


def test_a_latent_gate_stays_at_its_symmetric_start_and_leaves_another(routed):
    _, data = routed
    options = {"data": data, "constraints": P.MeanField(), "iterations": 20}
    alone = P.infer(routed_experts, **options)
    np.testing.assert_allclose(alone.posteriors["gate"].mean(), 0.0, atol=1e-12)
    pushed = {
        "left": P.MvNormal([[0.0, 2.0]] * 2, precision=np.eye(2)),
        "gate": P.MvNormal([[4.0, 0.0]] * 2, cov=np.eye(2)),
    }
    moved = P.infer(routed_experts, **options, init=pushed)
    assert np.abs(moved.posteriors["gate"].mean()).max() > 1e-3
    best = P.infer(routed_experts, **options, restarts=3, seed=1)
    assert best.free_energy[-1] <= alone.free_energy[-1]


def test_deciding_costs_half_the_score_a_row(routed):
    """Of two routers with equal branches, which predict alike, the undecided one has the lower free energy: no data."""
    truth, data = routed
    phi, data = data["phi"], {**data, "y": P.missing(len(data["y"]))}
    same = {"left": truth["left"], "right": truth["left"]}
    energies = []
    for gate in (truth["gate"], 0.0 * truth["gate"]):
        precise = dict.fromkeys(("gate_precision", "switch_precision", "branch_precision"), 1e6)
        energies.append(P.infer(routed_experts.bind(gate=gate, **same, **precise), data=data).free_energy[-1])
    # int N(m | a, 1/k) N(m | a, k) dm = N(a | a, 1/k + k), less that of k = 1
    h = phi @ truth["gate"].T
    cost = 0.5 * np.log((np.exp(h) + np.exp(-h)) / 2.0)
    np.testing.assert_allclose(energies[0] - energies[1], cost.sum(), rtol=1e-4)


def test_bound_weights_hold_for_new_rows():
    r = P.infer(xor(1e6), data={**XOR, "y": np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.5])})
    ahead = r.predict({"phi": PHI[:3], "yhat": XOR["yhat"][:3]})
    np.testing.assert_allclose(ahead.mean(), column("mean_y")[:3, 0], rtol=1e-3)


def test_weights_of_another_shape_are_refused():
    with pytest.raises(P.SpecError, match=r"'gate' have shape \(3, 3\); they are \(3,\) or \(2, 3\)"):
        routed_experts.bind(gate=np.eye(3)).build(XOR)
