import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import sqrtm
from scipy.spatial.distance import cdist

from inference.errors import SpecError
from inference.truth import energy_distance, energy_distance_null, gaussian_wasserstein


def random_gaussian(rng, size):
    factor = rng.normal(size=(size, size))
    return rng.normal(size=size), factor @ factor.T + 0.1 * np.eye(size)


@given(size=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_wasserstein_is_the_dense_formula(size, seed):
    rng = np.random.default_rng(seed)
    (m1, s1), (m2, s2) = random_gaussian(rng, size), random_gaussian(rng, size)
    root = sqrtm(s1)
    squared = ((m1 - m2) ** 2).sum() + np.trace(s1 + s2 - 2.0 * np.real(sqrtm(root @ s2 @ root)))
    np.testing.assert_allclose(gaussian_wasserstein(m1, s1, m2, s2), np.sqrt(squared), rtol=1e-7)
    np.testing.assert_allclose(gaussian_wasserstein(m1, s1, m2, s2), gaussian_wasserstein(m2, s2, m1, s1), rtol=1e-9)


def test_wasserstein_of_equals_and_of_a_point(generator):
    mean, covariance = random_gaussian(generator, 4)
    assert gaussian_wasserstein(mean, covariance, mean, covariance) < 1e-6 * np.sqrt(np.trace(covariance))
    to_point = gaussian_wasserstein(mean, covariance, mean, np.zeros((4, 4)))
    np.testing.assert_allclose(to_point, np.sqrt(np.trace(covariance)), rtol=1e-12)


@given(rows=st.integers(2, 30), others=st.integers(2, 30), size=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_energy_distance_is_the_mean_over_pairs(rows, others, size, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(rows, size)) + 1e3, rng.normal(size=(others, size)) + 1e3
    within = cdist(x, x).sum() / (rows * (rows - 1)) + cdist(y, y).sum() / (others * (others - 1))
    np.testing.assert_allclose(energy_distance(x, y), 2.0 * cdist(x, y).mean() - within, atol=1e-9)


def test_blocks_do_not_change_the_sum(generator, monkeypatch):
    x, y = generator.normal(size=(100, 3)), generator.normal(size=(70, 3))
    whole = energy_distance(x, y)
    monkeypatch.setattr("inference.truth.distances.CHUNK", 7)
    np.testing.assert_allclose(energy_distance(x, y), whole, rtol=1e-10)


def test_null_is_every_split_of_the_half_chains(generator):
    """Against the definition, split by split, for two chains: four pieces, three splits."""
    draws = generator.normal(size=(2, 20, 3))
    a, b, c, d = draws[0, :10], draws[1, :10], draws[0, 10:], draws[1, 10:]
    splits = [((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c))]
    expected = [energy_distance(np.concatenate(left), np.concatenate(right)) for left, right in splits]
    np.testing.assert_allclose(np.sort(energy_distance_null(draws)), np.sort(expected), rtol=1e-9)


def test_null_tells_the_same_from_another(generator):
    draws = generator.normal(size=(4, 500, 3))
    null = energy_distance_null(draws)
    same, other = generator.normal(size=(2000, 3)), 1.5 * generator.normal(size=(2000, 3))
    flat = draws.reshape(-1, 3)
    assert abs(energy_distance(flat, same)) < 3.0 * np.abs(null).max()
    assert energy_distance(flat, other) > 10.0 * np.abs(null).max()


def test_shapes_that_do_not_fit_are_named(generator):
    with pytest.raises(SpecError, match=r"S, M >= 2 are needed but got \(3, 2\), \(1, 2\)"):
        energy_distance(np.ones((3, 2)), np.ones((1, 2)))
