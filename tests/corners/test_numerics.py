"""Safe Cholesky: exact where it can be, its jitter reported, and an error that says by how much it failed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corners.errors import NotPositiveDefiniteError
from corners.numerics import LOG_2PI, safe_cholesky


@given(st.integers(0, 2**31), st.integers(1, 8))
def test_a_positive_definite_matrix_needs_no_jitter(seed, size):
    root = np.random.default_rng(seed).normal(size=(size, size))
    matrix = root @ root.T + 0.1 * np.eye(size)
    factor = safe_cholesky(matrix)
    assert factor.jitter == 0.0
    np.testing.assert_allclose(factor.lower @ factor.lower.T, matrix, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(factor.lower, np.tril(factor.lower))
    np.testing.assert_allclose(factor.log_det, np.linalg.slogdet(matrix)[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_jitter_that_was_added_is_the_one_reported(scale):
    """A singular matrix of rank one, in any unit: ``L Lᵀ = A + jitter I``, jitter small against the diagonal."""
    direction = np.array([1.0, 2.0, -1.0])
    matrix = scale * np.outer(direction, direction)
    factor = safe_cholesky(matrix)
    assert 0.0 < factor.jitter <= 1e-6 * np.diag(matrix).mean()
    expected = matrix + factor.jitter * np.eye(3)
    np.testing.assert_allclose(factor.lower @ factor.lower.T, expected, rtol=1e-12, atol=1e-15 * scale)


def test_an_indefinite_matrix_is_refused_with_its_eigenvalue_and_a_remedy():
    with pytest.raises(
        NotPositiveDefiniteError, match=r"smallest eigenvalue -0\.5.*raise the prior precision"
    ) as raised:
        safe_cholesky(np.diag([1.0, -0.5, 2.0]))
    assert "collinear" in str(raised.value)


def test_the_jitter_named_in_the_refusal_is_the_largest_one_tried():
    with pytest.raises(NotPositiveDefiniteError, match="even with jitter 1e-08"):
        safe_cholesky(np.diag([1.0, -1.0]), largest_jitter=1e-8)
    with pytest.raises(NotPositiveDefiniteError, match="even with jitter 1e-08"):
        safe_cholesky(np.diag([1.0, -1.0]), largest_jitter=5e-8)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_is_refused_in_words(bad):
    with pytest.raises(NotPositiveDefiniteError, match="NaN or infinity"):
        safe_cholesky(np.array([[1.0, 0.0], [0.0, bad]]))


def test_the_constant():
    assert LOG_2PI == 1.8378770664093453
