"""Proposition 4 in its parts: golden sample and population decompositions, the identities, and the Koenker test."""

import numpy as np
import pytest
from scipy import stats

from corners.errors import DataError
from corners.exact import (
    Evidence,
    corner_deficit,
    fit_variance,
    itakura_saito,
    koenker_test,
    population_decomposition,
    sample_decomposition,
    variance_design,
)
from tests.corners.exact.problems import problem
from tests.support.golden import as_array, assert_golden, golden

CASES = {case["id"]: case for case in golden("hetero_gap")["cases"]}
NAMES = {"diag": "diagonal", "full": "dense"}


def sample():
    """Residuals and corner variances of the golden sample: the mean is the conjugate posterior's, held fixed."""
    inputs = CASES["sample_gap"]["inputs"]
    features, targets = as_array(inputs["Psi"]), as_array(inputs["y"])
    precision, scale = float(inputs["alpha"]), float(inputs["sigma2"]) ** 0.5
    evidence = Evidence(features, targets)
    residuals = targets - features @ evidence.posterior(precision, scale).mean
    return features, residuals, scale**2 * (1.0 + evidence.leverage(precision, scale))


@pytest.mark.parametrize("family", ["diag", "full"])
def test_golden_sample_decomposition(family):
    features, residuals, corner = sample()
    expected = CASES["sample_gap"]["expected"]
    fit = fit_variance(features, residuals**2, np.random.default_rng(0), family=NAMES[family])
    gaps = sample_decomposition(residuals, corner, fit.variances)
    assert_golden("hetero_gap", gaps.best_constant, expected["best_constant"])
    assert_golden("hetero_gap", gaps.nll_constant, expected["nll_const"])
    assert_golden("hetero_gap", gaps.nll_corner, expected["nll_corner"])
    wanted = expected[family]
    assert_golden("hetero_gap", fit.variances, wanted["V"])
    assert_golden("hetero_gap", gaps.nll_free, wanted["nll_free"])
    assert_golden("hetero_gap", gaps.gap_to_constant, wanted["gap_vs_constant"])
    assert_golden("hetero_gap", gaps.identity, wanted["identity_half_logmean_minus_meanlog"])
    assert_golden("hetero_gap", gaps.stationarity + 1.0, wanted["mean_r2_over_V"])
    assert_golden("hetero_gap", gaps.gap_to_corner, wanted["gap_vs_corner"])


def test_golden_koenker_test():
    features, residuals, _ = sample()
    test, expected = koenker_test(features, residuals), CASES["sample_gap"]["expected"]["koenker_bp"]
    assert test.degrees == expected["df"]
    assert_golden("hetero_gap", [test.statistic, test.p_value], [expected["stat"], expected["p_value"]])


TRUE_VARIANCES = {
    "population_in_family": lambda x: 0.1 + (0.5 + 0.8 * x) ** 2,
    "population_outside_family": lambda x: np.exp(2.5 * x),
}


@pytest.mark.parametrize("name", TRUE_VARIANCES)
def test_golden_population_decomposition(name):
    """``x ~ U(−1, 1)``, ``ψ = (1, x)`` by Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    truth = TRUE_VARIANCES[name](nodes)
    features = np.column_stack([np.ones_like(nodes), nodes])
    split = population_decomposition(features, truth, np.random.default_rng(0), weights=weights)
    expected, half = CASES[name]["expected"], 0.5 * np.log(2.0 * np.pi)
    assert_golden("hetero_gap", split.nll_constant - half, expected["nll_const_minus_half_log2pi"])
    assert_golden("hetero_gap", split.nll_any - half, expected["nll_any_minus_half_log2pi"])
    assert_golden("hetero_gap", split.nll_family - half, expected["nll_family_minus_half_log2pi"])
    assert_golden("hetero_gap", split.total, expected["total_heteroscedasticity"])
    assert_golden("hetero_gap", split.recoverable, expected["recoverable"])
    assert_golden("hetero_gap", split.unrecoverable, expected["unrecoverable_half_itakura_saito"])


def test_expected_nats_of_any_variance_function():
    """``E nll(V) = ½ log 2π + ½ + ½E log s² + ½E IS(s², V)``, by Monte Carlo-free moments of a Gaussian residual."""
    generator = np.random.default_rng(0)
    truth, other = generator.uniform(0.2, 3.0, 50), generator.uniform(0.2, 3.0, 50)
    direct = np.mean(0.5 * (np.log(2 * np.pi * other) + truth / other))
    parts = 0.5 * np.log(2 * np.pi) + 0.5 + 0.5 * np.mean(np.log(truth)) + 0.5 * np.mean(itakura_saito(truth, other))
    assert direct == pytest.approx(parts, rel=1e-12)
    assert (itakura_saito(truth, other) >= 0.0).all()


def test_corner_deficit_is_a_difference_of_expected_nats():
    generator = np.random.default_rng(1)
    truth, corner, free = generator.uniform(0.2, 3.0, (3, 40))
    nats = [np.mean(0.5 * (np.log(v) + truth / v)) for v in (corner, free)]
    assert corner_deficit(truth, corner, free) == pytest.approx(nats[0] - nats[1], rel=1e-10)
    assert (
        corner_deficit(truth, truth, free) < 0.0
    )  # no fixed sign: a corner that is right beats a free fit that is not


def test_gap_identity_needs_stationarity():
    """``gap − identity = ½(1 − mean(r²/V))``: the identity holds exactly where the mean of ``r²/V`` is one."""
    _, residuals, corner = sample()
    free = np.random.default_rng(2).uniform(0.3, 2.0, len(residuals))
    gaps = sample_decomposition(residuals, corner, free)
    assert gaps.gap_to_constant - gaps.identity == pytest.approx(-0.5 * gaps.stationarity, rel=1e-10)


def test_held_out_constant_comes_from_training():
    gaps = sample_decomposition(np.array([2.0]), np.ones(1), np.ones(1), constant=1.0)
    assert gaps.nll_constant == gaps.nll_free
    assert gaps.best_constant == 1.0


@pytest.mark.parametrize("family", ["diagonal", "dense"])
def test_koenker_statistic_is_n_r_squared(family):
    features, targets, _, _ = problem(30, 3)
    design = variance_design(features, family)
    squares = targets**2
    fitted = design @ np.linalg.lstsq(design, squares, rcond=None)[0]
    correlation = np.corrcoef(fitted, squares)[0, 1]
    test = koenker_test(features, targets, family=family)
    assert test.statistic == pytest.approx(30 * correlation**2, rel=1e-9)
    assert test.degrees == design.shape[1] - 1
    assert test.p_value == pytest.approx(stats.chi2.sf(test.statistic, test.degrees), rel=1e-9)


def test_koenker_counts_the_rank_not_the_columns():
    features = problem(30, 2).features
    bias = np.column_stack([np.ones(30), features, features[:, :1]])
    assert koenker_test(bias, problem(30, 2).targets).degrees == 2
    assert koenker_test(np.ones((5, 1)), np.arange(5.0)).p_value == 1.0


def test_koenker_rejects_at_its_level_under_constant_variance():
    """Of 400 tests under the null about five percent reject; five standard errors of slack."""
    generator = np.random.default_rng(3)
    features = generator.standard_normal((80, 2))
    rejected = np.mean([koenker_test(features, generator.standard_normal(80)).p_value < 0.05 for _ in range(400)])
    assert abs(rejected - 0.05) < 5.0 * np.sqrt(0.05 * 0.95 / 400)


def test_variances_must_be_positive():
    with pytest.raises(DataError, match="positive"):
        sample_decomposition(np.ones(2), np.ones(2), np.zeros(2))
    with pytest.raises(DataError, match="true_variances must be positive"):
        population_decomposition(np.ones((2, 1)), np.zeros(2), np.random.default_rng(0))
