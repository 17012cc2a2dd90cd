"""Every covariance family against the dense matrix it stands for."""

import math

import numpy as np
import pytest

from corners.errors import NotPositiveDefiniteError, SpecError
from corners.exact import DiagonalCovariance, FactorCovariance, LowRankCovariance, MatrixCovariance, NoCovariance
from corners.exact.covariance import as_covariance
from tests.corners.exact.test_shared_free import families

WIDTH = 4


@pytest.mark.parametrize("family", families(WIDTH))
def test_matrix_and_variances_are_dense(family):
    covariance, dense = families(WIDTH)[family]
    features = np.random.default_rng(1).standard_normal((6, WIDTH))
    np.testing.assert_allclose(covariance.matrix(WIDTH), dense, rtol=1e-13, atol=1e-15)
    expected = [row @ dense @ row for row in features]
    np.testing.assert_allclose(covariance.variances(features), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("shift", [0.0, 0.3, 1e-6])
@pytest.mark.parametrize("family", ["diagonal", "dense", "low_rank", "matrix"])
def test_shifted_determinant_and_inverse_are_dense(family, shift):
    covariance, dense = families(WIDTH)[family]
    shifted = covariance.shifted(WIDTH, shift)
    matrix = dense + shift * np.eye(WIDTH)
    np.testing.assert_allclose(shifted.log_det, np.linalg.slogdet(matrix)[1], rtol=1e-11)
    np.testing.assert_allclose(shifted.inverse @ matrix, np.eye(WIDTH), rtol=0.0, atol=1e-10)


def test_the_point_belief_has_only_the_shift():
    shifted = NoCovariance().shifted(3, 0.5)
    np.testing.assert_allclose(shifted.log_det, 3 * math.log(0.5))
    np.testing.assert_allclose(shifted.inverse, 2.0 * np.eye(3), rtol=1e-15)


@pytest.mark.parametrize(
    "singular",
    [
        NoCovariance(),
        DiagonalCovariance(np.array([1.0, 0.0])),
        FactorCovariance(np.array([[1.0, 0.0], [2.0, 0.0]])),
        LowRankCovariance(np.zeros(2), np.array([[1.0], [2.0]])),
        MatrixCovariance(np.zeros((2, 2))),
    ],
)
def test_a_singular_covariance_has_log_determinant_minus_infinity(singular):
    assert singular.log_det(2) == -math.inf
    with pytest.raises(NotPositiveDefiniteError):
        singular.shifted(2, 0.0)


def test_a_rank_one_factor_keeps_its_digits_at_an_extreme_prior():
    """``|cμμᵀ + I/α| = α^{1−H}(c‖μ‖² + 1/α)``, also at ``α = 1e12`` where a formed matrix has lost four digits."""
    mean, precision = np.array([0.3, -0.2, 0.5]), 1e12
    exact = -2.0 * math.log(precision) + math.log(float(mean @ mean) + 1.0 / precision)
    root = np.zeros((3, 3))
    root[:, 0] = mean
    for covariance in (FactorCovariance(root), LowRankCovariance(np.zeros(3), mean[:, None])):
        np.testing.assert_allclose(covariance.shifted(3, 1.0 / precision).log_det, exact, rtol=1e-12)


def test_what_is_passed_for_a_covariance():
    assert isinstance(as_covariance(None, 2), NoCovariance)
    assert isinstance(as_covariance([[1.0, 0.0], [0.0, 2.0]], 2), MatrixCovariance)
    with pytest.raises(SpecError, match="non-negative and finite"):
        DiagonalCovariance(np.ones(2), jitter=-1.0)
    with pytest.raises(SpecError, match="non-negative and finite"):
        LowRankCovariance(np.array([np.inf]), np.ones((1, 1)))
