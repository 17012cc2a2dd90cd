"""The heteroscedasticity report: sizes of the gaps by dense formulas, the test's level and its power."""

import numpy as np
import pytest

from corners.comparison.heteroscedasticity import PLATES_A_COLUMN, heteroscedasticity
from corners.errors import DataError
from corners.exact.evidence import Evidence
from tests.support.last_layers import layer


def problem(count: int, seed: int, spread: float, width: int = 2):
    """Targets with variance ``0.1 + spread ψ₁²`` around a known mean, and a test part of the same kind."""
    generator = np.random.default_rng(seed)
    features = generator.uniform(-1, 1, size=(2 * count, width))
    mean = generator.normal(size=width)
    scale = np.sqrt(0.1 + spread * features[:, 0] ** 2)
    targets = features @ mean + scale * generator.standard_normal(2 * count)
    covariance = np.zeros((width, width))
    covariance[0, 0] = spread
    rest = {"test_features": features[count:], "test_targets": targets[count:]}
    return features[:count], targets[:count], mean, covariance, rest


def report(count: int, seed: int, spread: float, width: int = 2):
    features, targets, mean, covariance, rest = problem(count, seed, spread, width)
    return heteroscedasticity(layer(features, targets, mean, covariance, 1.0, 0.1, **rest))


def test_the_gaps_are_differences_of_mean_nll():
    features, targets, mean, covariance, rest = problem(60, 1, 2.0)
    fitted = layer(features, targets, mean, covariance, 1.0, 0.1, **rest)
    best = Evidence(features, targets).maximise()
    posterior = np.linalg.inv(best.prior_precision * np.eye(2) + features.T @ features / best.noise_var)

    def nll(residuals, variances):
        return 0.5 * (np.log(2 * np.pi * variances) + residuals**2 / variances).mean()

    residuals = fitted.test_targets - fitted.test_features @ mean
    free = 0.1 + np.einsum("nh,hk,nk->n", fitted.test_features, covariance, fitted.test_features)
    corner = best.noise_var + np.einsum("nh,hk,nk->n", fitted.test_features, posterior, fitted.test_features)
    constant = np.full(60, ((targets - features @ mean) ** 2).mean())
    found = heteroscedasticity(fitted).test
    np.testing.assert_allclose(found.gap_to_constant, nll(residuals, constant) - nll(residuals, free), rtol=1e-9)
    np.testing.assert_allclose(found.gap_to_corner, nll(residuals, corner) - nll(residuals, free), rtol=1e-9)


def test_strong_heteroscedasticity_is_detected_and_worth_something():
    found = report(400, 2, 5.0)
    assert found.detected and found.test.gap_to_constant > 0.1 and found.test.gap_to_corner > 0.1
    assert "is detected" in found.sentence


def test_the_tests_keep_their_level_without_heteroscedasticity():
    pvalues = np.array([report(200, 100 + seed, 0.0).diagonal.p_value for seed in range(100)])
    rate = (pvalues < 0.05).mean()
    assert abs(rate - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 100)


@pytest.mark.parametrize(("width", "given"), [(2, True), (8, False)])
def test_the_dense_test_needs_enough_plates_a_column(width, given):
    columns = 1 + width * (width + 1) // 2
    assert (PLATES_A_COLUMN * columns <= 150) == given
    assert (report(150, 3, 1.0, width).dense is not None) == given


def test_an_exact_fit_has_nothing_to_explain():
    features = np.eye(3)
    with pytest.raises(DataError, match="must be positive"):
        heteroscedasticity(layer(features, np.ones(3), np.ones(3), np.eye(3), 1.0, 0.1))


def test_records_are_flat():
    rows = report(60, 4, 1.0).records()
    assert [row["part"] for row in rows] == ["train", "test"]
    assert all(isinstance(value, str | bool | float | None) for row in rows for value in row.values())
