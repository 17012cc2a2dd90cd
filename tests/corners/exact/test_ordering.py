"""MAP <= Bethe <= ELBO: golden gaps and verdicts, the exact gap formulas, the thresholds, and what reverses at an
optimum.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corners.errors import DataError
from corners.exact import (
    PRIOR_BELIEF_THRESHOLD,
    UNIVERSAL_THRESHOLD,
    Objective,
    find_free_optimum,
    gaussian_plates,
    jensen_gap,
    kl_to_prior,
    ordering_at,
    ordering_of,
    plate_condition,
    prior_gaps,
    prior_overlap,
)
from tests.corners.exact.problems import problem
from tests.support.golden import as_array, assert_golden, golden_cases


def unpack(case):
    inputs = case["inputs"]
    arrays = [as_array(inputs[name]) for name in ("Psi", "y", "mu", "Sigma")]
    return *arrays, float(inputs["alpha"]), float(inputs["sigma2"]) ** 0.5


@pytest.mark.parametrize("case", golden_cases("ordering"))
def test_golden_terms_gaps_and_verdicts(case):
    report, expected = ordering_at(*unpack(case)), case["expected"]
    for name, objective in (("MAP", report.map), ("Bethe", report.bethe), ("ELBO", report.elbo)):
        assert_golden("ordering", objective.prior_term, expected["prior"][name], label=name)
        assert_golden("ordering", objective.data_terms, expected["data_terms"][name], label=name)
        assert_golden("ordering", objective.total, expected["total"][name], label=name)
    for gap, name in ((report.map_bethe, "map_bethe"), (report.bethe_elbo, "bethe_elbo")):
        for part in ("total", "data", "prior"):
            assert_golden("ordering", getattr(gap, part), expected[f"gap_{name}"][part], label=f"{name} {part}")
        assert gap.verdict == expected[f"verdict_{name}"]
    assert report.verdict == expected["verdict_overall"]
    assert report.plates_map_le_bethe == pytest.approx(expected["frac_plates_map_le_bethe"])


@pytest.mark.parametrize("case", golden_cases("ordering"))
def test_golden_plate_condition_and_exact_gaps(case):
    features, targets, mean, covariance, precision, scale = unpack(case)
    residual, variances = targets - features @ mean, np.einsum("nh,hk,nk->n", features, covariance, features)
    assert plate_condition(residual, variances, scale).tolist() == case["expected"]["plate_fd_condition"]
    gaps = prior_gaps(mean, covariance, precision)
    assert_golden("ordering", gaps.map_bethe, case["expected"]["gap_map_bethe"]["prior"])
    assert_golden("ordering", gaps.bethe_elbo, case["expected"]["gap_bethe_elbo"]["prior"])
    assert_golden("ordering", jensen_gap(residual, variances, scale).sum(), case["expected"]["gap_bethe_elbo"]["data"])
    positive = np.mean(gaussian_plates(targets, features @ mean, variances, scale).slope_var > 0.0)
    assert positive == pytest.approx(case["expected"]["frac_plates_dv_positive_at_V"])


VALUES = st.floats(-30.0, 30.0)
SIZES = st.floats(0.0, 50.0)


@given(st.lists(st.tuples(VALUES, SIZES), min_size=1, max_size=6), st.floats(0.05, 5.0))
def test_plate_condition_is_the_finite_difference(plates, scale):
    residual, variances = (np.array(column) for column in zip(*plates, strict=True))
    at = gaussian_plates(residual, np.zeros_like(residual), variances, scale).value
    without = gaussian_plates(residual, np.zeros_like(residual), np.zeros_like(variances), scale).value
    clear = np.abs(at - without) > 1e-9 * (1.0 + np.abs(without))
    np.testing.assert_array_equal(plate_condition(residual, variances, scale)[clear], (at >= without)[clear])
    assert plate_condition(np.minimum(np.abs(residual), scale), variances, scale).all()  # r² ≤ σ² suffices for every v


@given(st.lists(st.tuples(VALUES, SIZES), min_size=1, max_size=6), st.floats(0.05, 5.0))
def test_bethe_never_exceeds_the_elbo_on_a_plate(plates, scale):
    residual, variances = (np.array(column) for column in zip(*plates, strict=True))
    at = gaussian_plates(residual, np.zeros_like(residual), variances, scale).value
    expected_log = 0.5 * (np.log(2 * np.pi * scale**2) + (residual**2 + variances) / scale**2)
    gap = jensen_gap(residual, variances, scale)
    assert (gap >= 0.0).all()
    np.testing.assert_allclose(gap, expected_log - at, rtol=1e-7, atol=1e-9 * (1.0 + np.abs(expected_log).max()))


@given(st.integers(1, 4), st.integers(0, 2**31), st.floats(-4.0, 4.0))
def test_prior_gaps_are_differences_of_the_terms(width, seed, log_precision):
    generator = np.random.default_rng(seed)
    root = generator.standard_normal((width, width)) * 10.0 ** generator.uniform(-1.0, 1.0)
    mean, covariance, precision = (
        generator.standard_normal(width),
        root @ root.T + 1e-3 * np.eye(width),
        10.0**log_precision,
    )
    gaps = prior_gaps(mean, covariance, precision)
    bethe, elbo = prior_overlap(mean, covariance, precision).value, kl_to_prior(mean, covariance, precision)
    point = 0.5 * (width * math.log(2 * math.pi / precision) + precision * float(mean @ mean))
    np.testing.assert_allclose(gaps.bethe_elbo, elbo - bethe, rtol=1e-7, atol=1e-7 * (1.0 + abs(elbo)))
    np.testing.assert_allclose(gaps.map_bethe, bethe - point, rtol=1e-7, atol=1e-7 * (1.0 + abs(point)))
    assert gaps.jensen >= 0.0
    sign, log_det = np.linalg.slogdet(2 * math.pi * math.e * covariance)
    np.testing.assert_allclose(gaps.entropy, 0.5 * sign * log_det, rtol=1e-8, atol=1e-8)


def test_the_universal_threshold_is_sharp():
    """At ``b = φ`` the bracket is least: just below the threshold one belief violates the prior inequality, above it
    none.
    """
    golden_ratio = (1.0 + 5.0**0.5) / 2.0
    assert pytest.approx(14.3461, abs=5e-5) == UNIVERSAL_THRESHOLD
    for precision, holds in ((UNIVERSAL_THRESHOLD * 1.0001, True), (UNIVERSAL_THRESHOLD * 0.9999, False)):
        worst = golden_ratio / precision * np.eye(3)
        assert (prior_gaps(np.zeros(3), worst, precision).bethe_elbo >= 0.0) is holds
    generator = np.random.default_rng(0)
    for _ in range(200):
        spread = np.diag(10.0 ** generator.uniform(-3.0, 2.0, 2))
        assert prior_gaps(generator.standard_normal(2), spread, UNIVERSAL_THRESHOLD).bethe_elbo >= -1e-12


def test_the_prior_as_belief_fails_exactly_below_four_pi():
    for precision, holds in ((1.0001 * 4 * math.pi, True), (0.9999 * 4 * math.pi, False)):
        assert (prior_gaps(np.zeros(2), np.eye(2) / precision, precision).bethe_elbo >= 0.0) is holds
    assert 4.0 * math.pi == PRIOR_BELIEF_THRESHOLD


def test_map_below_bethe_reverses_at_the_free_optimum():
    """The point belief is feasible, so at an optimum over ``Σ`` Bethe is at most MAP at the same mean (theory 4.3)."""
    features, targets, _, _ = problem(20, 3)
    best = find_free_optimum(
        features, targets, np.random.default_rng(0), family="diagonal", prior_precision=1.3, noise_scale=0.3, jitter=0.0
    )
    report = ordering_at(features, targets, best.mean, best.covariance, 1.3, 0.3)
    assert report.map_bethe.total <= 1e-9
    assert report.map_bethe.verdict in {"fails", "data_term_only"}


def objective(prior, *data):
    return Objective(prior, np.array(data))


@pytest.mark.parametrize(
    ("lower", "upper", "verdict"),
    [
        (objective(0.0, 1.0), objective(0.0, 1.0), "holds"),
        (objective(0.0, 1.0), objective(0.5, 2.0), "holds"),
        (objective(1.0, 1.0), objective(0.5, 2.0), "holds_total_only"),
        (objective(0.0, 2.0), objective(3.0, 1.0), "holds_total_only"),
        (objective(3.0, 1.0), objective(0.0, 2.0), "data_term_only"),
        (objective(0.0, 2.0), objective(0.0, 1.0), "fails"),
        (objective(0.0, 1e6), objective(0.0, 1e6 - 1e-4), "holds"),
        (objective(0.0, 1.0), objective(math.inf, 2.0), "holds"),
    ],
)
def test_verdicts_of_a_pair(lower, upper, verdict):
    assert ordering_of(lower, upper, upper).map_bethe.verdict == verdict


def test_overall_verdict_looks_at_totals_then_at_data():
    low, high = objective(1.0, 1.0), objective(0.5, 2.0)
    assert ordering_of(low, high, high).verdict == "holds"  # although the pair holds in total only
    assert ordering_of(objective(9.0, 1.0), objective(0.0, 2.0), objective(0.0, 3.0)).verdict == "data_term_only"
    assert ordering_of(objective(9.0, 1.0), objective(0.0, 2.0), objective(9.0, 1.0)).verdict == "fails"


def test_objectives_over_different_plates_are_refused():
    with pytest.raises(DataError, match=r"\[1, 2\] plates"):
        ordering_of(objective(0.0, 1.0), objective(0.0, 1.0, 2.0), objective(0.0, 1.0))
