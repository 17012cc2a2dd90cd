"""The witnesses of theory 7.1: every cell that holds ``−log Z_w`` falls without bound along them."""

import numpy as np
import pytest

from corners.exact import (
    FactorCovariance,
    LowRankCovariance,
    gaussian_plates,
    prior_overlap,
    shared_closed_terms,
    shared_free_terms,
)
from tests.corners.exact.problems import problem
from tests.support.golden import as_array, assert_golden, golden

CASES = {case["id"]: case for case in golden("unbounded")["cases"]}


def arrays(case, *names):
    return [as_array(case["inputs"][name]) for name in names]


def objectives(case, covariance, precisions):
    features, targets, mean = arrays(case, "Psi", "y", "mu")
    scale = float(case["inputs"]["sigma2"]) ** 0.5
    return [shared_free_terms(features, targets, mean, covariance, float(a), scale).total for a in precisions]


def test_point_belief_at_zero():
    case = CASES["none_mu0"]
    grid = case["inputs"]["alpha_grid"]
    assert_golden("unbounded", objectives(case, None, grid), case["expected"]["objective"])


def test_rank_one_belief_without_jitter():
    """``Σ = μμᵀ`` as a factor, for which ``|M| = α^{1−H}(‖μ‖² + 1/α)`` and ``μᵀM⁻¹μ = ‖μ‖²/(‖μ‖² + 1/α)``.

    As a formed matrix its null space would hold rounding of 1e-17 against ``1/α = 1e-12``: wrong in the fifth digit.
    """
    case = CASES["full_rank1_no_jitter"]
    mean, covariance = arrays(case, "mu", "Sigma")
    np.testing.assert_allclose(np.outer(mean, mean), covariance, rtol=1e-12)
    root = np.zeros_like(covariance)
    root[:, 0] = mean
    grid = as_array(case["inputs"]["alpha_grid"])
    for rank_one in (FactorCovariance(root), LowRankCovariance(np.zeros(len(mean)), mean[:, None])):
        values = np.array(objectives(case, rank_one, grid))
        assert_golden("unbounded", values, case["expected"]["objective"])
        slope = (values[-1] - values[-2]) / np.log(grid[-1] / grid[-2])
        assert slope == pytest.approx(-(len(mean) - 1) / 2, abs=1e-6)


def test_vanishing_noise_with_interpolated_plates():
    case = CASES["full_sigma2_to_0_interpolates_H_minus_1"]
    features, targets, mean, covariance = arrays(case, "Psi", "y", "mu", "Sigma")
    exact = case["inputs"]["exact_plates"]
    means, variances = features @ mean, np.einsum("nh,hk,nk->n", features, covariance, features)
    np.testing.assert_allclose(means[:exact], targets[:exact], atol=1e-9)
    means[:exact], variances[:exact] = targets[:exact], 0.0
    prior = prior_overlap(mean, covariance, float(case["inputs"]["alpha"])).value
    grid = case["inputs"]["sigma2_grid"]
    values = [prior + gaussian_plates(targets, means, variances, v**0.5).value.sum() for v in grid]
    assert_golden("unbounded", values, case["expected"]["objective"])
    slope = (values[-1] - values[-2]) / np.log(grid[-1] / grid[-2])
    assert slope == pytest.approx(case["expected"]["slope_per_log_sigma2"], rel=1e-3)


def test_closed_cell_with_a_growing_precision():
    case = CASES["shared_closed_alpha_to_inf"]
    features, targets = arrays(case, "Psi", "y")
    grid, scale = case["inputs"]["alpha_grid"], float(case["inputs"]["sigma2"]) ** 0.5
    values = [shared_closed_terms(features, targets, float(a), scale).total for a in grid]
    assert_golden("unbounded", values, case["expected"]["objective"])
    slope = (values[-1] - values[-2]) / np.log(grid[-1] / grid[-2])
    assert slope == pytest.approx(case["expected"]["asymptotic_slope_per_log_alpha"], rel=1e-6)


def test_feature_units():
    case = CASES["feature_rescaling"]
    features, targets, mean, covariance = arrays(case, "Psi", "y", "mu", "Sigma")
    precision, c = float(case["inputs"]["alpha"]), float(case["inputs"]["c"])
    scale = float(case["inputs"]["sigma2"]) ** 0.5
    before = shared_free_terms(features, targets, mean, covariance, precision, scale)
    after = shared_free_terms(c * features, targets, mean / c, covariance / c**2, c**2 * precision, scale)
    assert_golden("unbounded", before.total, case["expected"]["before"])
    assert_golden("unbounded", after.total, case["expected"]["after"])
    np.testing.assert_allclose(after.data_terms, before.data_terms, rtol=1e-12)
    np.testing.assert_allclose(after.total - before.total, -len(mean) * np.log(c), rtol=1e-9)


def test_jitter_is_the_floor():
    """``−log Z_w ≥ ½H log 2π(ε + 1/α)``: with jitter no belief and no precision gets below it (theory 7.1)."""
    generator, jitter = np.random.default_rng(0), 1e-4
    for _ in range(50):
        root, mean = np.tril(generator.standard_normal((3, 3))), generator.standard_normal(3) * 1e-3
        precision = 10.0 ** generator.uniform(-2.0, 12.0)
        floor = 1.5 * np.log(2 * np.pi * (jitter + 1.0 / precision))
        assert prior_overlap(mean, FactorCovariance(1e-3 * root, jitter), precision).value >= floor


def test_interpolating_features_with_a_fixed_precision():
    """``H ≥ N``: the point belief that interpolates falls as ``½N log σ²`` although ``α`` is fixed (theory 7.1.4)."""
    features, targets, _, _ = problem(4, 6)
    mean = np.linalg.lstsq(features, targets, rcond=None)[0]
    values = [
        prior_overlap(mean, None, 1.0).value
        + gaussian_plates(targets, targets, np.zeros(4), noise_var**0.5).value.sum()
        for noise_var in (1e-6, 1e-10)
    ]
    assert values[1] - values[0] == pytest.approx(2.0 * np.log(1e-4), rel=1e-12)
