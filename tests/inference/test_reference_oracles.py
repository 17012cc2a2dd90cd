"""The hand-written oracles against golden numbers, definitions and one another, before they judge anything."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.special import gammaln

from tests.support import closed_words, link_oracle
from tests.support.gated_experts import Options, blocks, counted, fit, free_energy, mean_log_of, mean_of
from tests.support.gated_experts_forward import Globals, forward
from tests.support.gated_experts_golden import golden_configurations, golden_experts, golden_new_rows
from tests.support.gated_experts_loops import forward_loop, mean_field_loop
from tests.support.gated_experts_structured import StructuredBeliefs, fit_structured, joint, structured_energy
from tests.support.gated_experts_structured_loop import structured_loop
from tests.support.golden import as_array, golden
from tests.support.simulated_experts import simulate

pytestmark = pytest.mark.unchecked

KNOWN = float("inf")
Edge = tuple[float, float, float, float]
EVERY = [pytest.param(entry, id=entry.name) for entry in golden_configurations()]
GUARDED = [pytest.param(entry, id=entry.name) for entry in golden_configurations() if "dual" not in entry.name]
LOOPED = [
    Options(jacobian=jacobian, cov=cov, noisy=noisy, gamma_factor=rate)
    for jacobian, cov, noisy, rate in [
        (0, "full", False, False),
        (1, "full", False, False),
        (1, "full", True, True),
        (0, "diag", True, False),
    ]
]


def edges(*, least_p: float = 1e-3):
    """``p, mu, s, c`` over many orders of magnitude."""
    powers = [some.floats(np.log(least_p), 7.0), some.floats(-7.0, 7.0)]
    return some.tuples(powers[0].map(np.exp), some.floats(-8.0, 8.0), some.floats(0.5, 5.0), powers[1].map(np.exp))


# Links


@pytest.mark.parametrize("case", golden("mp_link"))
def test_links_are_the_golden_optima(case):
    edge, expected = (
        (case["inputs"]["p"], case["inputs"]["mu"], case["inputs"]["s"], case["inputs"]["c"]),
        case["expected"],
    )
    gaussian, gamma = link_oracle.gaussian_link(*edge), link_oracle.gamma_link(*edge)
    found = {
        "gauss_mean": gaussian.mean,
        "gauss_var": gaussian.var,
        "gauss_F": link_oracle.gaussian_energy(*edge, *gaussian),
        "gamma_shape": gamma.shape,
        "gamma_rate": gamma.rate,
        "gamma_F": link_oracle.gamma_energy(*edge, *gamma),
        "exact_neg_logZ": link_oracle.exact_neg_log_z(*edge),
    }
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-9, err_msg=name)


@given(edges(), some.floats(-1.0, 1.0), some.floats(-1.0, 1.0))
def test_no_other_member_of_the_family_is_better(edge: Edge, one, two):
    gaussian, gamma = link_oracle.gaussian_link(*edge), link_oracle.gamma_link(*edge)
    best = link_oracle.gaussian_energy(*edge, *gaussian)
    other = link_oracle.gaussian_energy(*edge, gaussian.mean + one, gaussian.var * np.exp(two))
    assert best <= other + 1e-9 * (1.0 + abs(best))
    best = link_oracle.gamma_energy(*edge, *gamma)
    other = link_oracle.gamma_energy(*edge, gamma.shape * np.exp(one), gamma.rate * np.exp(two))
    assert best <= other + 1e-9 * (1.0 + abs(best))


@given(edges())
def test_both_bound_the_exact_integral(edge: Edge):
    exact = link_oracle.exact_neg_log_z(*edge)
    for energy in (
        link_oracle.gaussian_energy(*edge, *link_oracle.gaussian_link(*edge)),
        link_oracle.gamma_energy(*edge, *link_oracle.gamma_link(*edge)),
    ):
        assert energy >= exact - 1e-9 * (1.0 + abs(exact))


def test_an_edge_without_one_side_is_conjugate():
    """``c = 0`` leaves a Gaussian, exactly; ``p = 0`` a Gamma."""
    p, mu, s, c = 2.0, 0.3, 1.5, 0.7
    np.testing.assert_allclose(link_oracle.gaussian_link(p, mu, s, 0.0), (mu + s / p, 1.0 / p), rtol=1e-14)
    np.testing.assert_allclose(link_oracle.gamma_link(0.0, mu, s, c), (s, c), rtol=1e-14)
    np.testing.assert_allclose(link_oracle.gaussian_link(0.0, mu, s, c), (np.log(s / c) - 0.5 / s, 1.0 / s), rtol=1e-14)
    gaussian = -0.5 * np.log(2.0 * np.pi / p) - s * mu - 0.5 * s**2 / p
    np.testing.assert_allclose(link_oracle.exact_neg_log_z(p, mu, s, 0.0), gaussian, rtol=1e-12)
    np.testing.assert_allclose(link_oracle.exact_neg_log_z(0.0, mu, s, c), s * np.log(c) - gammaln(s), rtol=1e-12)


# Fixed points


@pytest.mark.parametrize("entry", EVERY)
def test_fixed_points_are_the_golden_ones(entry):
    x, o = golden_experts(), entry.options
    if entry.structured:
        run = fit_structured(x, o)
        q, now = run.beliefs.joint, run.beliefs
        found = {"tau": now.tau, "beta": now.beta, "E_log_gamma": q.mean_z}
    else:
        run = fit(x, o)
        q = now = run.beliefs
        prediction = forward(x, o, Globals(q.mean_w, q.cov_w, q.tau, q.beta, q.kappa), *golden_new_rows())
        found = {"tau": q.tau, "beta": q.beta, "kappa": q.kappa, "E_gamma": q.mean_gamma, "E_log_gamma": q.mean_z}
        found |= {"pred_mean": q.mean_pred, "pred_var": q.var_pred, "mean_z": q.mean_z}
        found |= {"gamma_shape": q.shape_gamma, "gamma_rate": q.rate_gamma}
        found |= {"new_E_gamma": prediction.gamma, "new_mean": prediction.mean, "new_var": prediction.var}
    found |= {"mean_w": q.mean_w.T, "cov_w": q.cov_w, "var_w": np.diagonal(q.cov_w, axis1=1, axis2=2)}
    found |= {"bfe": run.energies[-1], "var_z": q.var_z}
    for name, value in entry.expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-7, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("entry", GUARDED)
def test_no_block_raises_the_free_energy(entry):
    """Message passing 3; each block is a minimiser, and the joint step is guarded."""
    x = simulate(1, rows=25, experts=2, d=3, kappa=(2.0, 0.5)).experts
    run = (fit_structured if entry.structured else fit)(x, entry.options, sweeps=30)
    energies = np.array(run.energies)
    assert (np.diff(energies) <= 1e-9 * (1.0 + np.abs(energies[:-1]))).all()


def test_without_rows_beliefs_are_priors_and_cost_nothing():
    x = golden_experts()
    x = replace(x, phi=x.phi[:0], yhat=x.yhat[:0], y=x.y[:0])
    for o in (Options(), Options(noisy=True)):
        q = fit(x, o, sweeps=1).beliefs
        np.testing.assert_allclose(free_energy(x, o, q), 0.0, atol=1e-12)
        np.testing.assert_array_equal(q.tau, counted(x.tau, 0.0, np.zeros(2)))
    structured = fit_structured(x, Options(), sweeps=2)
    np.testing.assert_allclose(structured.energies[-1], 0.0, atol=1e-12)


def test_a_perfect_expert_at_known_tau_is_exact():
    """Every ``c`` is zero, so the joint is Gaussian: ``-F = log E e^(s sum z)``, less ``N/2 log 2 pi`` an expert."""
    x, t, s = golden_experts(), 3.0, 0.5
    x = replace(x, yhat=np.repeat(x.y[:, None], 2, axis=1), tau=(KNOWN, t), w_mean=0.2)
    pull = x.phi.sum(0)
    log_evidence = s * x.w_mean * pull.sum() + 0.5 * s**2 * (pull @ pull / x.w_precision + len(x.y) / t)
    log_evidence -= 0.5 * len(x.y) * np.log(2.0 * np.pi)
    o = Options(gamma_factor=False)
    np.testing.assert_allclose(fit_structured(x, o).energies[-1], -2.0 * log_evidence, rtol=1e-12)
    assert fit(x, o).energies[-1] > -2.0 * log_evidence


def test_one_perfect_forecast_has_no_finite_evidence_under_a_gamma_prior_on_tau():
    """``E e^(z/2) >= e^(1/(8 tau))`` given ``tau``: no Gamma density near zero makes that good.

    From ``tau = 0.004`` to ``0.002`` that is 31.25 nats, of which nine other edges take back ``9/2 log 2 = 3.1``.
    """
    x, o = golden_experts(), Options(gamma_factor=False)
    x = replace(x, yhat=np.where(np.arange(len(x.y))[:, None] == 0, x.y[:, None], x.yhat)[:, :1])
    energies = [fit(replace(x, tau=(KNOWN, t)), o, sweeps=60).energies[-1] for t in (0.004, 0.002)]
    np.testing.assert_allclose(energies[1] - energies[0], -31.25 + 4.5 * np.log(2.0), atol=1.0)


# The structured belief from its definition


def dense_energy(x, o, q):
    """The free energy of one Gaussian over (w, z) an expert, assembled as a matrix; energies are expected logs."""
    n, d = x.phi.shape
    total = 0.0
    read = np.concatenate([-x.phi, np.eye(n)], axis=1)
    for k in range(x.yhat.shape[1]):
        t, tau, beta = q.joint.t[k], q.tau[:, k], q.beta[:, k]
        prior = np.diag(np.r_[np.full(d, x.w_precision), np.zeros(n)])
        precision = prior + t * read.T @ read + np.diag(np.r_[np.zeros(d), q.joint.l[:, k]])
        cov = np.linalg.inv(precision)
        mean = cov @ np.r_[np.full(d, x.w_precision * x.w_mean), q.joint.h[:, k]]
        z, var = mean[d:], np.diag(cov)[d:]
        g = np.exp(z + 0.5 * var)
        second = (mean[:d] - x.w_mean) @ (mean[:d] - x.w_mean) + np.trace(cov[:d, :d])
        residual = (read @ mean) @ (read @ mean) + np.trace(read @ cov @ read.T)
        expected_logs = 0.5 * (d * np.log(x.w_precision / (2.0 * np.pi)) - x.w_precision * second)
        expected_logs += 0.5 * (n * (mean_log_of(tau) - np.log(2.0 * np.pi)) - mean_of(tau) * residual)
        expected_logs += 0.5 * np.sum(z - np.log(2.0 * np.pi) - g * (x.y - x.yhat[:, k]) ** 2) + o.jacobian * z.sum()
        expected_logs += np.sum(
            x.alpha * mean_log_of(beta) - gammaln(x.alpha) + (x.alpha - 1.0) * z - mean_of(beta) * g
        )
        entropy = 0.5 * ((n + d) * np.log(2.0 * np.pi * np.e) + np.linalg.slogdet(cov)[1])
        total += -expected_logs - entropy + _divergence(tau, x.tau) + _divergence(beta, x.beta)
    return total


def _divergence(q, prior):
    """``KL(Ga || Ga)`` as printed in message passing 1.7."""
    (a, b), (a0, b0) = q, prior
    log_ratio = a0 * (np.log(b) - np.log(b0))
    return (a - a0) * (mean_log_of(q) + np.log(b)) - gammaln(a) + gammaln(a0) + log_ratio + a * (b0 - b) / b


@pytest.mark.parametrize("jacobian", [0, 1])
def test_the_collapsed_energy_is_that_of_the_dense_gaussian(jacobian):
    """At any sites, any ``t``, any ``q(tau)``, not only at the fixed point."""
    x = replace(golden_experts(), w_mean=0.4, alpha=1.7)
    o, generator = Options(jacobian=jacobian), np.random.default_rng(3)
    h, sites = generator.standard_normal(x.yhat.shape), generator.gamma(1.0, 1.0, x.yhat.shape)
    gammas = generator.uniform(0.5, 3.0, (2, 2, 2))
    q = StructuredBeliefs(joint(x, np.array([0.8, 2.5]), h, sites), *gammas)
    np.testing.assert_allclose(structured_energy(x, o, q), dense_energy(x, o, q), rtol=1e-12)


def test_a_joint_is_tighter_than_independent_weights():
    """The mean-field family lies inside the structured one."""
    x = golden_experts()
    assert fit_structured(x, Options()).energies[-1] < fit(x, Options()).energies[-1]


# The loops that are timed


@pytest.mark.parametrize("o", LOOPED, ids=str)
def test_the_fast_loop_takes_the_same_sweeps(o):
    x = replace(simulate(2, rows=40, experts=3, d=3, kappa=(2.0, 0.5)).experts, w_mean=0.3, alpha=1.4)
    slow, fast = fit(x, o, sweeps=6), mean_field_loop(x, o, 6)
    np.testing.assert_allclose(fast.energies, slow.energies[len(blocks(o)) - 1 :: len(blocks(o))], rtol=1e-12)
    q = slow.beliefs
    for ours, theirs in zip(fast.globals, Globals(q.mean_w, q.cov_w, q.tau, q.beta, q.kappa), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-10, atol=1e-12)
    fast_ahead, ahead = (way(x, o, fast.globals, x.phi[:5], x.yhat[:5]) for way in (forward_loop, forward))
    for ours, theirs in zip(fast_ahead, ahead, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rate", [False, True])
def test_the_fast_structured_loop_has_the_same_fixed_point(rate):
    x = replace(simulate(2, rows=40, experts=3, d=3).experts, w_mean=0.3, alpha=1.4)
    slow, fast = fit_structured(x, Options(gamma_factor=rate)), structured_loop(x, Options(gamma_factor=rate), 250)
    np.testing.assert_allclose(fast.energies[-1], slow.energies[-1], rtol=1e-12)
    np.testing.assert_allclose(fast.globals.mean_w, slow.beliefs.joint.mean_w, atol=1e-8)
    np.testing.assert_allclose(fast.globals.cov_w, slow.beliefs.joint.cov_w, atol=1e-8)


@pytest.mark.parametrize("jacobian", [0, 1])
def test_ahead_without_a_rate_prior_precision_is_a_ratio_of_lognormal_moments(jacobian):
    """The log link weighs the message to ``z`` by ``e^z``: ``E e^((1 + J) z) / E e^(J z)``."""
    x, mean, var = golden_experts(), 0.4, 0.3
    moments = [np.exp(power * mean + 0.5 * power**2 * var) for power in (jacobian, 1.0 + jacobian)]
    q = Globals(np.full((2, 2), mean), np.zeros((2, 2, 2)), np.array([[KNOWN] * 2, [1.0 / var] * 2]))
    o = Options(jacobian=jacobian, gamma_factor=False)
    found = forward(x, o, q, np.array([[0.0, 1.0]]), np.zeros((1, 2)))
    np.testing.assert_allclose(found.gamma, moments[1] / moments[0], rtol=1e-12)


# Simulation


def test_simulated_residuals_are_standard():
    """``(z - w'phi) sqrt(tau)`` and ``(yhat - y) e^(z/2)`` are standard normal: mean and square in 4.5 errors."""
    data, w, tau, z = simulate(4, rows=200, experts=50, d=2)
    errors = np.stack([(z - data.phi @ w.T) * np.sqrt(tau), (data.yhat - data.y[:, None]) * np.exp(0.5 * z)])
    assert (np.abs(errors.mean((1, 2))) <= 4.5 / np.sqrt(z.size)).all()
    assert (np.abs((errors**2).mean((1, 2)) - 1.0) <= 4.5 * np.sqrt(2.0 / z.size)).all()


def test_structured_intervals_cover_simulated_weights():
    """90% intervals of 300 data sets at known ``tau``; assert what the specification promises, above 80%."""
    data, w, _, _ = simulate(5, rows=150, experts=300, d=2, tau=(KNOWN, 4.0))
    q = structured_loop(data, Options(gamma_factor=False), 25).globals
    assert (q.tau == np.array([[KNOWN], [4.0]])).all()
    deviation = np.sqrt(np.diagonal(q.cov_w, axis1=1, axis2=2))
    assert (np.abs(w - q.mean_w) <= 1.6449 * deviation).mean() > 0.8


# Closed words


@pytest.mark.parametrize("case", golden("mp_static"))
def test_the_static_ensemble_is_golden(case):
    x, expected = {name: as_array(value) for name, value in case["inputs"].items()}, case["expected"]
    found = closed_words.static_ensemble(x["y"], x["yhat"], x["shape0"], x["rate0"])
    mean, var = found.predict(x["yhat_new"])
    actual = dict(zip(("shape", "rate", "log_evidence"), found, strict=True), pred_mean=mean, pred_var=var)
    actual["bfe"] = -found.log_evidence
    for name, value in expected.items():
        np.testing.assert_allclose(actual[name], value, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("case", golden("mp_router")["expected"], ids=lambda case: str(case["x"]))
def test_the_limit_of_the_router_is_golden(case):
    x = {name: value if name == "phi" else as_array(value) for name, value in golden("mp_router")["inputs"].items()}
    v, left, right = np.stack([x["v1"], x["v2"]]), np.stack([x["wL"]] * 2), np.stack([x["wR"]] * 2)
    found = closed_words.router_limit(np.r_[case["x"], 1.0], v, left, right, x["yhat"])
    expected = [case["h1"], case["h2"], case["m1"], case["m2"], case["mean_y"], case["var_y"]]
    np.testing.assert_allclose([*found.h, *found.m, found.mean, found.var], expected, rtol=1e-10, atol=1e-14)


def test_parameter_counts_are_golden():
    counts = golden("mp_param_counts")
    assert closed_words.parameter_counts(*counts["inputs"].values()) == counts["expected"]
