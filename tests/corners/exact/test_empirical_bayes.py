"""Type-II maximum likelihood: golden fixed points, the null model, floors and their sentences, global over every
basin.
"""

import math

import numpy as np
import pytest
from hypothesis import given

from corners.errors import SpecError
from corners.exact import NOISE_VAR_FLOOR, Evidence, empirical_bayes, null_boundary
from corners.exact.empirical_bayes import maximise_evidence
from tests.corners.exact.problems import EVERY_SHAPE, problem
from tests.support.golden import as_array, assert_golden, golden, golden_cases
from tests.support.strategies import layers

FIXED_POINTS = [case for case in golden_cases("eb_fixed_point") if "runaway" not in case.id]


def evidence_of(case):
    return Evidence(as_array(case["inputs"]["Psi"]), as_array(case["inputs"]["y"]))


@pytest.mark.parametrize("case", FIXED_POINTS)
def test_golden_fixed_points(case):
    best, expected = evidence_of(case).maximise(), case["expected"]
    assert_golden("eb_fixed_point", best.prior_precision, expected["alpha"])
    assert_golden("eb_fixed_point", best.noise_var, expected["sigma2"])
    assert_golden("eb_fixed_point", best.effective_dimension, expected["gamma"])
    assert_golden("eb_fixed_point", -best.log_evidence, expected["neg_log_evidence"])
    assert best.converged
    assert best.status.startswith("converged")


@pytest.mark.parametrize("case", golden_cases("eb_fixed_point"))
def test_golden_null_boundary(case):
    evidence, expected = evidence_of(case), case["expected"]
    boundary = null_boundary(evidence.features, evidence.targets)
    if "null_boundary" in expected:
        assert_golden("eb_fixed_point", boundary.signal, expected["null_boundary"]["y_K_y_over_yy"])
        assert_golden("eb_fixed_point", boundary.threshold, expected["null_boundary"]["trK_over_N"])
        expected = expected["null_boundary"]
    assert boundary.is_local_minimum == expected["alpha_infinite_is_local_min"]


def test_golden_runaway_is_the_null_model():
    case = next(c for c in golden("eb_fixed_point")["cases"] if c["id"] == "eb_runaway")
    evidence, expected = evidence_of(case), case["expected"]
    best = evidence.maximise()
    assert best.prior_precision == math.inf
    assert_golden("eb_fixed_point", best.noise_var, expected["null_sigma2"])
    assert_golden("eb_fixed_point", -best.log_evidence, expected["null_neg_log_evidence"])
    assert best.status.startswith("null model")
    assert not evidence.posterior(best.prior_precision, best.noise_scale).mean.any()
    for precision, value in zip(
        expected["profile_neg_log_evidence_alpha_grid"], expected["profile_neg_log_evidence"], strict=True
    ):
        held = [evidence.log_evidence(precision, s) for s in np.exp(np.linspace(-1.0, 1.0, 401))]
        np.testing.assert_allclose(-max(held), value, atol=1e-3)
        assert best.log_evidence > max(held)


@given(layers())
def test_it_is_stationary_and_beats_a_grid(layer):
    evidence = Evidence(layer.features, layer.targets)
    best = evidence.maximise()
    assert best.converged
    grid = [
        evidence.log_evidence(a, s)
        for a in np.logspace(-4, 5, 19)
        for s in np.logspace(-3, 2, 16)
        if s**2 > NOISE_VAR_FLOOR
    ]
    assert best.log_evidence >= max(grid) - 1e-9 * (1.0 + abs(best.log_evidence))
    gradient = evidence.gradient(best.prior_precision, best.noise_scale)
    if best.status.startswith("converged"):
        np.testing.assert_allclose(gradient, 0.0, atol=1e-5 * len(layer.targets))
    if best.prior_precision < math.inf:
        assert abs(gradient.log_prior_precision) < 1e-5 * len(layer.targets)


@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_a_given_noise_is_held(given_problem):
    best = Evidence(*given_problem[:2]).maximise(noise_scale=0.8)
    assert best.noise_fixed
    assert best.noise_scale == pytest.approx(0.8, rel=1e-15)
    assert "null model" in best.status or "noise_var fixed at 0.64" in best.status


@pytest.mark.parametrize("start", [0.1, 1.0, 10.0])
def test_noise_is_estimated_whatever_the_units(start):
    """The noise of a sinusoid is found within ten percent, in any units of the targets."""
    generator = np.random.default_rng(0)
    inputs = np.linspace(-3.0, 3.0, 200)
    features = np.cos(np.outer(inputs, np.arange(1, 9)) * 0.5 + generator.uniform(0.0, 6.0, 8))
    targets = start * (np.sin(inputs) + 0.3 * generator.standard_normal(200))
    assert Evidence(features, targets).maximise().noise_scale == pytest.approx(0.3 * start, rel=0.1)


def test_a_constant_target_is_degenerate_and_said_so():
    features = problem(10, 3).features
    best = Evidence(features, np.zeros(10)).maximise()
    assert best.prior_precision == math.inf
    assert best.noise_var == pytest.approx(NOISE_VAR_FLOOR)
    assert best.status.startswith("degenerate: the targets are constant")


def test_interpolation_stops_at_the_floor_and_says_so():
    features, _, _, _ = problem(12, 4)
    best = Evidence(features, features @ np.arange(1.0, 5.0)).maximise(noise_var_floor=1e-6)
    assert best.noise_var == pytest.approx(1e-6)
    assert "at its floor 1e-06" in best.status
    assert best.converged


@pytest.mark.parametrize(
    ("singular", "projected", "maxima"),
    [
        ([11.3398, 2.237, 0.2108], [3.13, 2.331, 0.23], [(1.750901, 0.168434), (11.495957, 1.414414)]),
        ([0.0244, 8.0278, 0.0387, 149.1603], [0.121, 4.937, 1.874, 3.265], [(15463.6, 3.04626), (7.136455, 1.406481)]),
    ],
    ids=["smaller precision wins", "larger precision wins"],
)
def test_the_global_maximum_is_found_among_two(singular, projected, maxima):
    """Features of several scales give the evidence two local maxima, named here with the better one first."""
    evidence = Evidence(np.diag(singular), np.array(projected))
    best = evidence.maximise()
    values = [evidence.log_evidence(*point) for point in maxima]
    for point, value in zip(maxima, values, strict=True):
        np.testing.assert_allclose(evidence.gradient(*point), 0.0, atol=1e-4)
        around = [evidence.log_evidence(point[0] * a, point[1] * s) for a in (0.9, 1.0, 1.1) for s in (0.95, 1.0, 1.05)]
        assert max(around) <= value + 1e-9
    assert values[0] > values[1] + 0.5
    assert best.log_evidence == pytest.approx(values[0], abs=1e-6)
    assert best.prior_precision == pytest.approx(maxima[0][0], rel=1e-4)


def test_an_overshooting_step_is_replaced_by_em(monkeypatch):
    """MacKay's step made to overshoot a hundredfold: the guard takes EM steps, to the same fixed point."""
    evidence = Evidence(*problem(12, 3)[:2])
    expected = evidence.maximise()
    step = empirical_bayes._mackay_step
    monkeypatch.setattr(
        empirical_bayes, "_mackay_step", lambda *given: step(*given)._replace(prior_precision=100.0 * given[1][0])
    )
    guarded = evidence.maximise()
    assert guarded.converged
    assert guarded.steps > expected.steps
    np.testing.assert_allclose(guarded.prior_precision, expected.prior_precision, rtol=1e-7)
    np.testing.assert_allclose(guarded.noise_scale, expected.noise_scale, rtol=1e-7)


def test_a_basin_without_a_bottom_is_the_null_model():
    """MacKay's steps from a plateau of the profile drift to infinity; that is reported as the null model, not as
    1e163.
    """
    singular = [154.408, 0.8572, 0.379, 0.1926, 0.0058, 0.0023]
    best = Evidence(np.diag(singular), np.array([12.67, 33.514, 28.345, 0.12, 80.51, 0.172])).maximise()
    assert best.prior_precision == math.inf
    assert best.status.startswith("null model")


def test_too_few_steps_are_not_called_converged():
    evidence = Evidence(*problem(20, 6)[:2])
    best = maximise_evidence(evidence.factorisation, max_steps=1)
    assert not best.converged
    assert best.status.startswith("step limit")


def test_a_floor_that_is_no_number_is_refused():
    with pytest.raises(SpecError, match="noise_var_floor"):
        Evidence(*problem(5, 2)[:2]).maximise(noise_var_floor=0.0)
