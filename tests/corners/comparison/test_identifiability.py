"""Identifiability: what flags what, in words, and what is not defined for a family or a routing."""

import numpy as np
import pytest

from corners.comparison.identifiability import identifiability
from corners.comparison.identifiability_rules import HOLD_NOISE, RULES
from corners.errors import SpecError
from corners.exact.shared_free import shared_free_terms
from corners.method import HyperpriorSpec
from tests.support.golden import assert_golden, golden_cases
from tests.support.last_layers import golden_case, golden_layer, layer, posterior_layer, random_problem

FEATURES, TARGETS = random_problem(60, 4, 4)


def test_golden_exact_ridge():
    """``(σ², Σ, 1/α) → (σ² - tR², Σ + tI, 1/α - t)`` leaves the objective unchanged, and moves the shares."""
    case = golden_case("identifiability", "exact_ridge_constant_norm")
    given, expected = case["inputs"], case["expected"]
    after = (expected["s_after"], expected["alpha_after"], expected["sigma2_after"])
    objectives = []
    for scales, precision, noise_var in ((given["s"], given["alpha"], given["sigma2"]), after):
        fitted = layer(given["Psi"], given["y"], given["mu"], np.diag(scales), precision, noise_var, family="diagonal")
        terms = shared_free_terms(
            fitted.features, fitted.targets, fitted.mean, fitted.covariance, precision, np.sqrt(noise_var)
        )
        objectives.append(terms.total)
        assert identifiability(fitted)["feature_norm_cv"].flag
    assert_golden("identifiability", objectives, [expected["objective_before"], expected["objective_after"]])


@pytest.mark.parametrize(
    ("name", "flagged"),
    [
        ("healthy", set()),
        ("near_noiseless", {"noise_share", "attribution_ratio", "info_sigma", "hessian_min_eig", "hessian_condition"}),
        (
            "constant_norm_features",
            {"vif_sigma", "fim_corr_condition", "design_rank_diag", "design_sv_ratio_diag", "feature_norm_cv"},
        ),
        (
            "bias_feature",
            {"vif_sigma", "fim_corr_condition", "design_rank_diag", "design_sv_ratio_diag", "hessian_min_eig"},
        ),
    ],
)
def test_what_flags_what(name, flagged):
    report = identifiability(golden_layer(golden_case("identifiability", name)))
    assert {each.name for each in report.flagged} == flagged
    assert all(each.remedy for each in report.flagged)


def test_no_flag_says_so():
    assert identifiability(golden_layer(golden_case("identifiability", "healthy"))).sentence.startswith(
        "nothing is flagged"
    )


def test_small_information_with_a_tiny_gradient_is_not_convergence():
    near = identifiability(golden_layer(golden_case("identifiability", "near_noiseless")))
    assert abs(near["grad_log_sigma2_over_N"].value) < 1e-3
    assert "not because it converged" in near["info_sigma"].flag
    wide = identifiability(golden_layer(golden_case("identifiability", "sigma_dominates_prior")))
    assert "not because it converged" in wide["info_alpha"].flag


def test_noise_collapse_and_starvation_have_their_own_remedies():
    collapsed = identifiability(layer(FEATURES, TARGETS, np.zeros(4), np.eye(4), 1.0, 1e-6))["noise_share"]
    starved = identifiability(layer(FEATURES, TARGETS, np.zeros(4), 1e-8 * np.eye(4), 1.0, 1.0))["noise_share"]
    assert "noise collapse" in collapsed.flag and collapsed.remedy == HOLD_NOISE
    assert "starvation" in starved.flag and "larger covariance" in starved.remedy


def test_a_closed_belief_that_knows_its_weights_is_not_starved():
    features, targets = random_problem(4000, 2, 5)
    report = identifiability(posterior_layer(features, targets, 1.0, 0.2))
    assert report["noise_share"].value > 0.99 and not report["noise_share"].flag


@pytest.mark.parametrize("family", ["dense", "low_rank"])
def test_dense_families_report_their_design_and_no_diagonal_statistic(family):
    report = identifiability(layer(FEATURES, TARGETS, np.zeros(4), 0.1 * np.eye(4), 1.0, 0.2, family=family))
    for name in ("fim_corr_condition", "vif_sigma", "hessian_min_eig", "hessian_condition"):
        assert report[name].value is None and "diagonal family" in report[name].undefined
    assert report["design_rank_full"].value == 11 and report["info_alpha"].value is not None
    assert report.fim_per_plate is None and report.hessian_block is None


def test_more_products_than_plates_is_flagged_for_the_dense_family_only():
    features, targets = random_problem(40, 10, 6)
    for family, flagged in (("dense", True), ("diagonal", False)):
        report = identifiability(layer(features, targets, np.zeros(10), 0.1 * np.eye(10), 1.0, 0.2, family=family))
        assert report["design_rank_full"].value == 40 and report["design_sv_ratio_full"].value == 0.0
        assert bool(report["design_rank_full"].flag) == flagged
        assert ("fewer plates (40) than columns" in report["design_rank_full"].flag) == flagged


def test_a_closed_cell_reports_what_is_defined():
    report = identifiability(posterior_layer(FEATURES, TARGETS, 2.0, 0.15))
    for name in ("info_sigma", "info_alpha", "vif_sigma", "hessian_min_eig"):
        assert report[name].value is None and "bound" in report[name].undefined
    for name in ("noise_share", "prior_fraction", "gamma_closed", "feature_norm_cv", "alpha_runaway"):
        assert report[name].value is not None
    assert not report["design_rank_full"].flag


def test_runaway_and_its_bound():
    ran = layer(FEATURES, TARGETS, np.ones(4), 0.25 * np.eye(4), 400.0, 0.2)
    report = identifiability(ran)["alpha_runaway"]
    assert report.value == pytest.approx(400.0 * (4.0 + 1.0) / 4.0) and "ran away" in report.flag
    for name, words in (("log_prior_precision", "the prior precision is at"), ("log_ridge", "the ridge")):
        held = layer(FEATURES, TARGETS, np.ones(4), np.eye(4), 1.0, 0.2, at_bound=(name,))
        assert identifiability(held)["alpha_runaway"].flag.startswith(words)


def test_saturation_needs_bounded_features():
    saturated = layer(np.sign(FEATURES), TARGETS, np.zeros(4), np.eye(4), 1.0, 0.2)
    assert identifiability(saturated)["saturation"].value == 1.0 and identifiability(saturated)["saturation"].flag
    wide = layer(3.0 * FEATURES, TARGETS, np.zeros(4), np.eye(4), 1.0, 0.2)
    assert "within [-1, 1]" in identifiability(wide)["saturation"].undefined


def point_layer(case: dict, precision: float, noise_var: float, **rest):
    width = len(case["inputs"]["Psi"][0])
    given = (case["inputs"]["Psi"], case["inputs"]["y"], np.ones(width), np.zeros((width, width)))
    return layer(*given, precision, noise_var, family="none", **rest)


@pytest.mark.parametrize("case", [case for case in golden_cases("eb_fixed_point") if case.id != "eb_runaway"])
def test_two_root_test_of_the_point_belief(case):
    expected = case["expected"]
    low, high = expected["v1_joint_map_alpha_roots_at_this_sigma2"]
    report = identifiability(point_layer(case, 1.0, expected["sigma2"]))
    assert_golden("eb_fixed_point", report.roots.roots, [low, high])
    assert "lies before the barrier" in report.sentence
    assert report["info_sigma"].value == 1.0 and report["vif_sigma"].value is None
    beyond = point_layer(case, 2.0 * high, expected["sigma2"])
    assert "it runs away" in identifiability(beyond).sentence
    held = point_layer(case, 2.0 * high, expected["sigma2"], precision_prior=HyperpriorSpec("gamma", 2.0, 1.0))
    assert "Gamma prior on the precision holds it" in identifiability(held).sentence


@pytest.mark.parametrize("case", golden_cases("eb_fixed_point", "eb_runaway"))
def test_certain_runaway_of_the_point_belief(case):
    report = identifiability(point_layer(case, 1.0, case["expected"]["null_sigma2"]))
    assert not report.roots.exists and "runs away for certain" in report.sentence


def test_text_names_value_or_reason():
    text = str(identifiability(posterior_layer(FEATURES, TARGETS, 2.0, 0.15)))
    assert "noise_share = " in text and "vif_sigma: not defined (the covariance is bound" in text


def test_reports_keep_the_order_of_the_table():
    report = identifiability(golden_layer(golden_case("identifiability", "healthy")))
    names = [rule.name for rule in RULES]
    assert [each.name for each in report.statistics] == names == [row["name"] for row in report.records()]
    with pytest.raises(SpecError, match="no statistic 'vif'"):
        report["vif"]
