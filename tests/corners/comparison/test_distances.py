"""Wasserstein and energy distances against independent formulas, and the null of split chains."""

import numpy as np
import pytest
from scipy import integrate, linalg, stats

from corners.comparison.distances import energy_distance, energy_null, gaussian_w2, psd_root, thin
from corners.errors import DataError
from tests.support.statistics import assert_within_se


def covariance(seed: int, size: int = 4) -> np.ndarray:
    root = np.random.default_rng(seed).normal(size=(size, size))
    return root @ root.T + 0.1 * np.eye(size)


@pytest.mark.parametrize("seed", range(5))
def test_w2_is_the_formula_with_matrix_roots(seed):
    generator = np.random.default_rng(seed)
    first, second = covariance(seed), covariance(seed + 100)
    means = generator.normal(size=(2, 4))
    root = linalg.sqrtm(first)
    squared = ((means[0] - means[1]) ** 2).sum() + np.trace(
        first + second - 2 * linalg.sqrtm(root @ second @ root)
    ).real
    np.testing.assert_allclose(gaussian_w2(means[0], first, means[1], second), np.sqrt(squared), rtol=1e-9)
    np.testing.assert_allclose(
        gaussian_w2(means[1], second, means[0], first), gaussian_w2(means[0], first, means[1], second), rtol=1e-9
    )


def test_w2_to_itself_is_zero_and_to_a_point_is_the_spread():
    first, zero = covariance(1), np.zeros(4)
    assert gaussian_w2(zero, first, zero, first) < 1e-6
    np.testing.assert_allclose(gaussian_w2(zero, first, zero, np.zeros((4, 4))), np.sqrt(np.trace(first)), rtol=1e-12)


def test_energy_distance_of_two_gaussians_is_twice_the_squared_distance_of_their_cdfs():
    """In one dimension it is ``2 ∫ (F - G)² dt``; the estimate is unbiased, so its mean over samples is judged."""
    expected = 2.0 * integrate.quad(lambda t: (stats.norm.cdf(t) - stats.norm.cdf(t, 0.5, 1.5)) ** 2, -12, 14)[0]
    generator = np.random.default_rng(2)
    samples = [
        energy_distance(generator.normal(size=(60, 1)), generator.normal(0.5, 1.5, size=(90, 1))) for _ in range(400)
    ]
    assert_within_se(np.array(samples), expected)


def test_energy_distance_of_equal_laws_is_zero_on_average():
    generator = np.random.default_rng(3)
    assert_within_se(np.array([energy_distance(*generator.normal(size=(2, 40, 3))) for _ in range(400)]), 0.0)


@pytest.mark.parametrize(("chains", "ways"), [(1, 1), (2, 3), (4, 35)])
def test_the_null_counts_every_way_to_halve_once(chains, ways):
    assert energy_null(np.random.default_rng(4).normal(size=(chains, 60, 2))).shape == (ways,)


def test_chains_that_disagree_widen_the_null():
    generator = np.random.default_rng(5)
    draws = generator.normal(size=(4, 300, 2))
    apart = draws + np.arange(4)[:, None, None]
    assert energy_null(apart).max() > 20 * np.abs(energy_null(draws)).max()


def test_thinning_keeps_the_ends_and_never_repeats():
    draws = np.arange(24.0).reshape(2, 12, 1)
    assert thin(draws, 5)[[0, -1], 0].tolist() == [0.0, 23.0]
    assert thin(draws, 100).shape == (24, 1)
    np.testing.assert_array_equal(thin(draws, 24)[:, 0], np.arange(24.0))


def test_the_root_of_a_singular_matrix():
    vector = np.array([3.0, 4.0])
    np.testing.assert_allclose(psd_root(np.outer(vector, vector)), np.outer(vector, vector) / 5.0, atol=1e-12)


def test_one_draw_is_refused():
    with pytest.raises(DataError, match="at least two draws a side; got 1 and 5"):
        energy_distance(np.zeros((1, 2)), np.zeros((5, 2)))
