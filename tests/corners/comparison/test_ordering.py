"""The ordering report: golden cases through the wrapper, its words, and beliefs that make it infinite."""

import numpy as np
import pytest

from corners.comparison.ordering import ordering, threshold_sentence
from corners.exact.ordering import AT_FREE_OPTIMUM
from tests.support.golden import assert_golden, golden_cases
from tests.support.last_layers import golden_layer, layer, posterior_layer, random_problem

FEATURES, TARGETS = random_problem(30, 4, 1)


@pytest.fixture(params=golden_cases("ordering"))
def case(request):
    return request.param


def test_golden_objectives(case):
    report, expected = ordering(golden_layer(case)), case["expected"]
    for name, terms in (("MAP", report.map), ("Bethe", report.bethe), ("ELBO", report.elbo)):
        assert_golden("ordering", terms.total, expected["total"][name], label=name)
        assert_golden("ordering", terms.prior, expected["prior"][name], label=name)
        assert_golden("ordering", terms.data, np.sum(expected["data_terms"][name]), label=name)


def test_golden_gaps_and_verdicts(case):
    report, expected = ordering(golden_layer(case)), case["expected"]
    for pair in ("map_bethe", "bethe_elbo"):
        gap = getattr(report, pair)
        for part in ("total", "data", "prior"):
            assert_golden("ordering", getattr(gap, part), expected[f"gap_{pair}"][part], label=f"{pair} {part}")
        assert gap.verdict == expected[f"verdict_{pair}"]
    assert report.verdict == expected["verdict_overall"]
    assert_golden("ordering", report.plates_map_le_bethe, expected["frac_plates_map_le_bethe"])
    np.testing.assert_array_equal(report.map_bethe_plates >= 0.0, expected["plate_fd_condition"])


def test_the_elbo_of_the_posterior_is_the_negative_log_evidence():
    """Closed cells are compared at their posterior; the identity of theory 3.6 needs no golden number."""
    report = ordering(posterior_layer(FEATURES, TARGETS, 2.0, 0.3))
    covariance = 0.3 * np.eye(30) + FEATURES @ FEATURES.T / 2.0
    expected = 0.5 * (
        30 * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1] + TARGETS @ np.linalg.solve(covariance, TARGETS)
    )
    np.testing.assert_allclose(report.elbo.total, expected, rtol=1e-12)
    assert "sequential cell was not trained on any of the three" in str(report)


def test_data_gap_to_the_elbo_is_never_negative_on_any_plate():
    generator = np.random.default_rng(2)
    for _ in range(50):
        root = generator.normal(size=(4, 4)) * generator.uniform(0, 2)
        report = ordering(
            layer(FEATURES, TARGETS, generator.normal(size=4), root @ root.T, 1.0, generator.uniform(0.01, 2))
        )
        assert (report.bethe_elbo_plates >= -1e-12).all()


@pytest.mark.parametrize("family", ["none", "dense"])
def test_a_point_belief_has_an_infinite_elbo_and_says_why(family):
    report = ordering(layer(FEATURES, TARGETS, np.ones(4), np.zeros((4, 4)), 3.0, 0.5, family=family))
    assert report.elbo.total == np.inf and np.isfinite(report.elbo.data)
    assert report.map_bethe.total == pytest.approx(0.0, abs=1e-12) and report.verdict == "holds"
    assert report.plates_map_le_bethe == 1.0 and "gap infinite" in report.sentence
    assert ("is a point" if family == "none" else "singular in float64") in str(report)


def test_a_singular_covariance_of_rank_one_is_handled():
    report = ordering(layer(FEATURES, TARGETS, np.zeros(4), np.outer(np.ones(4), np.ones(4)), 3.0, 0.5))
    assert report.elbo.total == np.inf and np.isfinite(report.bethe.total)


def test_the_text_of_the_free_optimum_comes_with_free_routing_or_on_request():
    free = golden_layer(golden_cases("ordering")[0].values[0])
    assert AT_FREE_OPTIMUM in ordering(free).notes
    assert AT_FREE_OPTIMUM not in ordering(free, at_free_optimum=False).notes
    closed = posterior_layer(FEATURES, TARGETS, 2.0, 0.3)
    assert AT_FREE_OPTIMUM not in ordering(closed).notes
    assert AT_FREE_OPTIMUM in ordering(closed, at_free_optimum=True).notes


@pytest.mark.parametrize(
    ("precision", "words"), [(12.5, "below 4π"), (12.6, "between 4π"), (14.34, "between 4π"), (14.35, "at least 14.35")]
)
def test_thresholds_of_the_prior_term(precision, words):
    assert words in threshold_sentence(precision)


def test_a_covariance_asymmetric_in_its_last_digits_is_accepted():
    covariance = np.diag([1.0, 2.0, 3.0, 4.0])
    rounded = covariance.copy()
    rounded[0, 1] = 1e-17
    given = ordering(layer(FEATURES, TARGETS, np.ones(4), rounded, 1.0, 1.0))
    exact = ordering(layer(FEATURES, TARGETS, np.ones(4), covariance, 1.0, 1.0))
    np.testing.assert_allclose(given.bethe.total, exact.bethe.total, rtol=1e-14)


def test_records_and_text_hold_the_same_verdicts(case):
    report = ordering(golden_layer(case))
    first, second = report.records()
    assert (first["pair"], first["verdict"]) == ("MAP <= Bethe", report.map_bethe.verdict)
    assert (second["pair"], second["total"]) == ("Bethe <= ELBO", report.bethe_elbo.total)
    assert report.sentence in str(report) and str(report).count(report.map_bethe.verdict) >= 1
