"""Minimum of the leave-one-out objective: golden optimum, stationarity, floors and edges with their sentences."""

import math

import numpy as np
import pytest
from hypothesis import given

from corners.exact import NOISE_VAR_FLOOR, Evidence
from corners.exact.leave_one_out_fit import leave_one_out_profile
from tests.corners.exact.problems import problem
from tests.support.golden import as_array, golden, golden_cases
from tests.support.strategies import layers

FIXED_POINTS = [case for case in golden_cases("eb_fixed_point") if "runaway" not in case.id]


@pytest.mark.parametrize("case", FIXED_POINTS)
def test_golden_optimum(case):
    best = Evidence(as_array(case["inputs"]["Psi"]), as_array(case["inputs"]["y"])).maximise_leave_one_out()
    tolerance = golden("eb_fixed_point")["tolerance"]
    assert best.prior_precision == pytest.approx(case["expected"]["loo_alpha"], rel=tolerance["loo_rel"])
    assert best.noise_var == pytest.approx(case["expected"]["loo_sigma2"], rel=tolerance["loo_rel"])
    assert best.objective == pytest.approx(
        case["expected"]["loo_objective"], rel=tolerance["rel"], abs=tolerance["abs"]
    )
    assert best.converged


@given(layers(rows=(2, 9)))
def test_it_is_stationary_and_beats_a_grid(layer):
    evidence = Evidence(layer.features, layer.targets)
    best = evidence.maximise_leave_one_out()
    grid = [
        evidence.leave_one_out(a, s).total
        for a in np.logspace(-4, 5, 13)
        for s in np.logspace(-2.9, 2, 11)
        if s**2 > NOISE_VAR_FLOOR
    ]
    assert best.objective <= min(grid) + 1e-8 * (1.0 + abs(best.objective))
    if best.status.startswith("converged"):
        gradient = evidence.leave_one_out_gradient(best.prior_precision, best.noise_scale)
        np.testing.assert_allclose(gradient[:2], 0.0, atol=1e-6 * len(layer.targets))
    if best.prior_precision < math.inf:
        at = evidence.leave_one_out(best.prior_precision, best.noise_scale).total
        np.testing.assert_allclose(best.objective, at, rtol=1e-8, atol=1e-8)


def test_profile_is_the_objective_at_its_best_noise():
    evidence = Evidence(*problem(9, 3)[:2])
    ridges = np.array([0.01, 0.5, 30.0])
    profile = leave_one_out_profile(evidence.factorisation, ridges)
    for ridge, noise_var, objective in zip(ridges, profile.noise_var, profile.objective, strict=True):
        scored = evidence.leave_one_out(ridge / noise_var, noise_var**0.5)
        np.testing.assert_allclose(scored.total, objective, rtol=1e-12)
        np.testing.assert_allclose(scored.profile_noise_var, noise_var, rtol=1e-12)


@pytest.mark.parametrize(
    ("features", "targets"),
    [
        (problem(10, 3).features, np.zeros(10)),
        (np.repeat(problem(4, 6).features, 2, axis=0), np.repeat(problem(4, 6).targets, 2)),
        (problem(10, 3).features, problem(10, 3).features @ np.array([1.0, -2.0, 0.5])),
    ],
    ids=["constant target", "rows in pairs", "features that reproduce the targets"],
)
def test_vanishing_errors_stop_at_the_floor_and_are_said(features, targets):
    best = Evidence(features, targets).maximise_leave_one_out()
    assert best.noise_var == pytest.approx(NOISE_VAR_FLOOR)
    assert best.status.startswith("degenerate")


def test_rows_in_pairs_alone_keep_the_minimum():
    """Degenerate only where the features reproduce the targets: the squares outside the span, 1.6, are a bound."""
    best = Evidence([[1.0], [1.0], [2.0], [2.0]], [1.0, 1.0, 0.0, 0.0]).maximise_leave_one_out()
    assert not best.status.startswith("degenerate")
    assert best.objective > 2.0 * (math.log(2.0 * math.pi * 1.6 / 4.0) + 1.0)


def test_a_target_without_signal_is_the_null_model():
    features = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    best = Evidence(features, np.array([1.0, 1.0, -1.0, -1.0])).maximise_leave_one_out()
    assert best.prior_precision == math.inf
    assert best.status.startswith("null model")
    assert best.noise_var == pytest.approx(1.0)


def test_a_ridge_that_runs_to_zero_is_not_called_converged():
    """Where the objective rises with the ridge from its very start there is no minimum at a positive one."""
    evidence = Evidence([[1.0], [2.0], [3.0]], [1.0, 1.0, 3.0])
    best = evidence.maximise_leave_one_out()
    assert not best.converged
    assert best.status.startswith("prior precision at the edge of the search")
    totals = [evidence.leave_one_out(a, best.noise_scale).total for a in (1e-6, 1e-3, 1e-1)]
    assert best.objective <= totals[0] < totals[1] < totals[2]
