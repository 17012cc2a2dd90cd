"""Leave-one-out predictives against golden values, N refits, the dual route and autograd through the refits."""

import numpy as np
import pytest
from hypothesis import given

from corners.exact import Evidence, leave_one_out_dual, leave_one_out_predictives
from tests.corners.exact import torch_cells
from tests.corners.exact.problems import EVERY_SHAPE, problem
from tests.support import oracles
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.strategies import layers

GOLDEN_NAMES = {
    "means": "pred_mean",
    "variances": "pred_var",
    "terms": "terms",
    "total": "total",
    "leverage": "leverage",
    "residuals": "residual",
    "profile_noise_var": "profile_sigma2_loo_at_fixed_lambda",
}


def unpack(case):
    inputs = case["inputs"]
    return as_array(inputs["Psi"]), as_array(inputs["y"]), float(inputs["alpha"]), float(inputs["sigma2"]) ** 0.5


@pytest.mark.parametrize("route", [leave_one_out_predictives, leave_one_out_dual])
@pytest.mark.parametrize("case", golden_cases("loo"))
def test_golden_predictives_by_both_routes(case, route):
    scored = route(*unpack(case))
    for ours, theirs in GOLDEN_NAMES.items():
        assert_golden("loo", getattr(scored, ours), case["expected"][theirs], label=ours)


@pytest.mark.parametrize("case", golden_cases("loo"))
def test_golden_gradients_and_profile(case):
    features, targets, precision, scale = unpack(case)
    evidence = Evidence(features, targets)
    gradient = evidence.leave_one_out_gradient(precision, scale)
    assert_golden("loo", gradient.log_prior_precision, case["expected"]["grad_log_alpha"])
    assert_golden("loo", gradient.log_noise_var, case["expected"]["grad_log_sigma2"])
    assert_golden("loo", gradient.features, case["expected"]["grad_Psi"])
    profile = evidence.profile_noise_scale(precision * scale**2) ** 2
    assert_golden("loo", profile, case["expected"]["profile_sigma2_evidence_at_fixed_lambda"])


@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_it_is_refitting_without_each_plate(given_problem):
    expected = oracles.leave_one_out(*given_problem)
    for scored in (leave_one_out_predictives(*given_problem.arguments), leave_one_out_dual(*given_problem.arguments)):
        for name in ("means", "variances", "terms"):
            np.testing.assert_allclose(getattr(scored, name), getattr(expected, name), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_gradients_are_those_of_autograd_through_the_refits(given_problem):
    leaves = torch_cells.Leaves(given_problem)
    prior, noise, slope = leaves.gradients(torch_cells.leave_one_out(leaves))
    evidence = Evidence(*given_problem[:2])
    gradient = evidence.leave_one_out_gradient(given_problem.precision, given_problem.noise_scale)
    np.testing.assert_allclose(gradient[:2], [prior, noise], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(gradient.features, slope, rtol=1e-9, atol=1e-10)


@given(layers())
def test_primal_and_dual_agree_in_every_regime(layer):
    arguments = layer.features, layer.targets, layer.precision, layer.noise_var**0.5
    primal, dual = leave_one_out_predictives(*arguments), leave_one_out_dual(*arguments)
    np.testing.assert_allclose(primal.terms, dual.terms, rtol=1e-6, atol=1e-6)
    assert ((primal.leverage >= 0.0) & (primal.one_minus_leverage > 0.0)).all()
    np.testing.assert_allclose(primal.leverage + primal.one_minus_leverage, 1.0, rtol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_one_minus_leverage_does_not_cancel(seed):
    """Orthogonal features that reach every plate: ``1 − h = λ/(1 + λ)`` exactly, far below the rounding of 1."""
    generator = np.random.default_rng(seed)
    features = np.linalg.qr(generator.standard_normal((6, 6)))[0]
    scored = leave_one_out_predictives(features, generator.standard_normal(6), 1e-10, 1e-5)
    np.testing.assert_allclose(scored.one_minus_leverage, 1e-20, rtol=1e-9)


def test_profile_noise_is_the_minimum_at_its_ridge():
    features, targets, _, _ = problem(12, 4)
    evidence, ridge = Evidence(features, targets), 0.4
    best = evidence.leave_one_out(ridge, 1.0).profile_noise_var
    totals = [evidence.leave_one_out(ridge / v, v**0.5).total for v in (0.999 * best, best, 1.001 * best)]
    assert totals[1] < min(totals[0], totals[2])


def test_a_single_plate_is_scored_by_the_prior():
    scored = leave_one_out_predictives(np.array([[2.0, 1.0]]), np.array([3.0]), 0.5, 0.7)
    np.testing.assert_allclose([scored.means[0], scored.variances[0]], [0.0, 0.49 + 5.0 / 0.5], rtol=1e-12, atol=1e-12)
