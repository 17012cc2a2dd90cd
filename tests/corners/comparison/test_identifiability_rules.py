"""The table of rules: thresholds of theory 7.3 from both sides, and that nothing is missing."""

import numpy as np
import pytest

from corners.comparison.identifiability_rules import RULES, Context
from corners.comparison.layer_statistics import layer_statistics
from tests.support.last_layers import golden_case, golden_layer, layer, random_problem

LIMITS = [
    ("noise_share", 0.05, "below"),
    ("noise_share", 0.99, "above"),
    ("attribution_ratio", 0.05, "below"),
    ("attribution_ratio", 0.99, "above"),
    ("info_sigma", 0.01, "below"),
    ("info_alpha", 0.05, "below"),
    ("prior_fraction", 0.1, "below"),
    ("fim_corr_condition", 1e4, "above"),
    ("vif_sigma", 100.0, "above"),
    ("hessian_min_eig", 1e-3 * 30, "below"),
    ("hessian_condition", 1e4, "above"),
    ("design_rank_diag", 4.0, "below"),
    ("design_sv_ratio_diag", 1e-3, "below"),
    ("feature_norm_cv", 0.1, "below"),
    ("saturation", 0.5, "above"),
    ("alpha_runaway", 100.0, "above"),
]
BY_NAME = {rule.name: rule for rule in RULES}


def context(case_id: str = "healthy") -> Context:
    fitted = golden_layer(golden_case("identifiability", case_id))
    return Context(fitted, layer_statistics(fitted))


@pytest.mark.parametrize(("name", "limit", "side"), LIMITS)
def test_each_threshold_from_both_sides(name, limit, side):
    rule, step = BY_NAME[name], 1e-6 * limit
    inside, outside = (limit + step, limit - step) if side == "below" else (limit - step, limit + step)
    assert not rule.flag(inside, context()) and rule.flag(outside, context())
    assert rule.remedy_for(outside)


@pytest.mark.parametrize("name", ["design_rank_full", "design_sv_ratio_full"])
def test_products_concern_dense_and_low_rank_covariances(name):
    features, targets = random_problem(60, 4, 4)
    for family, flagged in (("dense", True), ("low_rank", True), ("diagonal", False)):
        fitted = layer(features, targets, np.zeros(4), 0.1 * np.eye(4), 1.0, 0.2, family=family)
        assert bool(BY_NAME[name].flag(0.0, Context(fitted, layer_statistics(fitted)))) == flagged


def test_every_statistic_has_a_rule_with_a_formula():
    found = context().statistics
    assert [rule.name for rule in RULES] == list(BY_NAME)
    assert set(found.values) | set(found.undefined) == set(BY_NAME)
    assert all(rule.formula and rule.threshold for rule in RULES)


def test_a_flat_direction_is_told_from_convergence_by_its_information():
    near = context("near_noiseless")
    assert "not because it converged" in BY_NAME["info_sigma"].flag(near.statistics.values["info_sigma"], near)
    assert not near.flat("no such statistic")
