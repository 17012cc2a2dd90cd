"""The numbers of theory 7.3: golden values, definitions of closed cells, jitter, dead features, designs."""

import numpy as np
import pytest

from corners.comparison.layer_statistics import LARGEST_DESIGN, layer_statistics
from tests.support.golden import assert_golden, golden
from tests.support.last_layers import golden_layer, layer, posterior_layer, random_problem

SCALARS = [
    "noise_share", "attribution_ratio", "info_sigma", "info_alpha", "prior_fraction", "gamma_closed",
    "grad_log_sigma2_over_N", "grad_log_alpha_over_H", "vif_sigma", "hessian_min_eig", "hessian_condition",
    "design_sv_ratio_diag", "design_sv_ratio_full", "design_rank_diag", "design_rank_full", "feature_norm_cv",
]  # fmt: skip
CASES = [case for case in golden("identifiability")["cases"] if "noise_share" in case["expected"]]
FEATURES, TARGETS = random_problem(60, 4, 4)


@pytest.fixture(params=CASES, ids=[case["id"] for case in CASES])
def case(request):
    return request.param


@pytest.mark.parametrize("name", SCALARS)
def test_golden_statistics(case, name):
    assert_golden(
        "identifiability", layer_statistics(golden_layer(case)).values[name], case["expected"][name], label=name
    )


def test_golden_matrices(case):
    report = layer_statistics(golden_layer(case))
    assert_golden("identifiability", report.fim_per_plate, case["expected"]["fim_per_plate"])
    assert_golden("identifiability", report.hessian_block, case["expected"]["hessian_block"])


def test_golden_correlation_condition(case):
    """Above 1e12 the number is rounding alone (the file's note): only that it is above can be asked."""
    value, expected = (
        layer_statistics(golden_layer(case)).values["fim_corr_condition"],
        case["expected"]["fim_corr_condition"],
    )
    if expected > 1e12:
        assert value > 1e12
    else:
        assert_golden("identifiability", value, expected)


@pytest.mark.parametrize("cavity", ["sequential", "leave_one_out", "shared"])
def test_gradients_of_closed_cells_are_those_of_their_own_objective(cavity):
    """Finite differences of dense definitions: evidence, refitted leave-one-out, posterior on its own data."""
    precision, noise_var, step = 1.7, 0.2, 1e-5

    def objective(log_precision: float, log_noise: float) -> float:
        return closed_objective(cavity, np.exp(log_precision), np.exp(log_noise))

    at = np.log([precision, noise_var])
    slopes = [(objective(*(at + step * unit)) - objective(*(at - step * unit))) / (2 * step) for unit in np.eye(2)]
    report = layer_statistics(posterior_layer(FEATURES, TARGETS, precision, noise_var, cavity=cavity))
    np.testing.assert_allclose(report.values["grad_log_alpha_over_H"], slopes[0] / 4, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(report.values["grad_log_sigma2_over_N"], slopes[1] / 60, rtol=1e-6, atol=1e-8)


def closed_objective(cavity: str, precision: float, noise_var: float) -> float:
    def normal(y, mean, variance):
        return 0.5 * (np.log(2 * np.pi * variance) + (y - mean) ** 2 / variance)

    if cavity == "sequential":
        total = noise_var * np.eye(60) + FEATURES @ FEATURES.T / precision
        return 0.5 * (np.linalg.slogdet(2 * np.pi * total)[1] + TARGETS @ np.linalg.solve(total, TARGETS))
    whole = posterior_layer(FEATURES, TARGETS, precision, noise_var)
    if cavity == "shared":
        overlap = whole.covariance + np.eye(4) / precision
        prior = 0.5 * (np.linalg.slogdet(2 * np.pi * overlap)[1] + whole.mean @ np.linalg.solve(overlap, whole.mean))
        variance = noise_var + np.einsum("nh,hk,nk->n", FEATURES, whole.covariance, FEATURES)
        return prior + normal(TARGETS, FEATURES @ whole.mean, variance).sum()
    terms = []
    for n in range(60):
        rest = posterior_layer(np.delete(FEATURES, n, 0), np.delete(TARGETS, n), precision, noise_var)
        terms.append(
            normal(TARGETS[n], FEATURES[n] @ rest.mean, noise_var + FEATURES[n] @ rest.covariance @ FEATURES[n])
        )
    return float(np.sum(terms))


def test_the_jitter_is_part_of_the_variances_and_no_parameter():
    """Σ = diag(s) + εI: the same Σ with another split into s and ε has the same shares, another information on s."""
    scales, jitter = np.array([0.1, 0.2, 0.3, 0.4]), 0.05
    with_jitter = layer(
        FEATURES, TARGETS, np.ones(4), np.diag(scales + jitter), 1.0, 0.2, family="diagonal", jitter=jitter
    )
    without = layer(FEATURES, TARGETS, np.ones(4), np.diag(scales + jitter), 1.0, 0.2, family="diagonal")
    first, second = layer_statistics(with_jitter), layer_statistics(without)
    for name in ("noise_share", "info_sigma", "info_alpha", "prior_fraction", "grad_log_alpha_over_H"):
        assert first.values[name] == second.values[name]
    np.testing.assert_allclose(
        np.diag(first.fim_per_plate)[1:] / np.diag(second.fim_per_plate)[1:],
        (scales / (scales + jitter)) ** 2,
        rtol=1e-12,
    )


def test_a_dead_feature_does_not_hide_the_noise():
    features = FEATURES.copy()
    features[:, 2] = 0.0
    dead = layer(features, TARGETS, np.zeros(4), 0.1 * np.eye(4), 1.0, 0.2, family="diagonal")
    alive = layer(np.delete(features, 2, 1), TARGETS, np.zeros(3), 0.1 * np.eye(3), 1.0, 0.2, family="diagonal")
    np.testing.assert_allclose(
        layer_statistics(dead).values["vif_sigma"], layer_statistics(alive).values["vif_sigma"], rtol=1e-9
    )
    assert layer_statistics(dead).values["design_rank_diag"] == 4


def test_fifty_features_are_still_done_and_more_than_the_limit_are_skipped_with_the_reason():
    features, targets = random_problem(30, LARGEST_DESIGN + 1, 7)
    wide = layer_statistics(layer(features, targets, np.zeros(101), np.eye(101), 1.0, 0.2))
    assert "skipped: 101 features give 5152 columns" in wide.undefined["design_rank_full"]
    features, targets = random_problem(1400, 50, 7)
    fifty = layer_statistics(layer(features, targets, np.zeros(50), np.eye(50), 1.0, 0.2))
    assert fifty.values["design_rank_full"] == 1276


def test_every_statistic_has_a_value_or_a_reason():
    """Over families and routings the names are always the same, each either defined or explained."""
    names = set()
    for family in ("none", "diagonal", "dense", "low_rank"):
        for routing in ("free", "mean_closed", "closed"):
            covariance = np.zeros((4, 4)) if family == "none" else 0.1 * np.eye(4)
            if (routing, family) == ("closed", "low_rank"):
                continue  # the routing has no such member
            found = layer_statistics(
                layer(FEATURES, TARGETS, np.ones(4), covariance, 1.0, 0.2, family=family, routing=routing)
            )
            assert not set(found.values) & set(found.undefined)
            names.add(frozenset(found.values) | frozenset(found.undefined))
    assert len(names) == 1


def test_the_gradient_of_a_jittered_closed_cell_is_not_claimed():
    found = layer_statistics(posterior_layer(FEATURES, TARGETS, 2.0, 0.15, cavity="shared", jitter=1e-4))
    assert "without jitter" in found.undefined["grad_log_alpha_over_H"]
