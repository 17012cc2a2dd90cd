"""Mixture: its parts, weights, vectors of parts, and an entropy that is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from inference.distributions import Bernoulli, Distribution, Gamma, Mixture, MvNormal, Normal, NormalGamma, PointMass
from inference.errors import SpecError


def test_one_part_is_that_part():
    part = Gamma([[1.3, 4.0]], [[0.7, 2.0]])
    mixture = Mixture(part, [1.0])
    for value, expected in [
        (mixture.mean(), part.mean()[0]),
        (mixture.var(), part.var()[0]),
        (mixture.logpdf(1.7), part[0].logpdf(1.7)),
        (mixture.quantile([0.05, 0.6]), part[0].quantile([0.05, 0.6])),
    ]:
        np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_equal_parts_do_not_depend_on_their_weights():
    one, other = (Mixture(Normal([2.0, 2.0], 3.0), weights) for weights in ([0.5, 0.5], [0.9, 0.1]))
    np.testing.assert_allclose(one.logpdf([0.0, 4.0]), other.logpdf([0.0, 4.0]), rtol=1e-13)


@given(st.floats(0.02, 0.98), st.floats(-4, 4), st.floats(0.05, 5.0), st.floats(1e-4, 1 - 1e-4))
def test_quantiles_against_a_scalar_root_finder(weight, mean, var, level):
    mixture = Mixture(Normal([0.0, mean], [1.0, var]), [weight, 1.0 - weight])

    def excess(x):
        return weight * stats.norm.cdf(x) + (1 - weight) * stats.norm.cdf(x, mean, np.sqrt(var)) - level

    expected = optimize.brentq(excess, -60.0, 60.0, xtol=1e-13, rtol=1e-13)
    found = float(mixture.quantile(level))
    assert abs(excess(found)) <= 1e-13 or abs(found - expected) <= 1e-11


@pytest.mark.parametrize(
    "mixture",
    [
        Mixture(Normal([-100.0, 100.0], 1.0), [0.5, 0.5]),
        Mixture(Normal([0.0, 0.0, 0.0], [1e-12, 1.0, 1e12]), [0.3, 0.3, 0.4]),
        Mixture(Gamma([0.1, 50.0], [1.0, 1e-3]), [0.5, 0.5]),
        Mixture(Normal([0.0, 1e9], 1.0), [1.0, 0.0]),
    ],
    ids=["apart", "scales", "pole", "absent"],
)
def test_hard_quantiles(mixture):
    levels = np.array([1e-12, 1e-3, 0.2, 0.5, 0.55, 0.999])
    np.testing.assert_allclose(mixture.cdf(mixture.quantile(levels)), levels, rtol=1e-12)


def test_ends_of_the_support():
    assert Mixture(Normal([0.0, 9.0], 1.0), [1.0, 0.0]).quantile([0.0, 1.0]).tolist() == [-np.inf, np.inf]
    assert Mixture(Gamma([1.0, 2.0], 1.0), [0.5, 0.5]).quantile([0.0, 1.0]).tolist() == [0.0, np.inf]


def test_jumps_are_found_exactly():
    steps = Mixture(PointMass([0.0, 1.0, 5.0]), [0.25, 0.25, 0.5])
    assert steps.quantile([0.0, 0.1, 0.25, 0.3, 0.5, 0.6, 1.0]).tolist() == [0.0, 0.0, 0.0, 1.0, 1.0, 5.0, 5.0]
    coins = Mixture(Bernoulli([0.2, 0.8]), [0.5, 0.5])
    assert coins.quantile([0.4, 0.6]).tolist() == [0.0, 1.0]
    np.testing.assert_allclose(coins.mean(), 0.5, rtol=1e-15)


def test_vectors():
    parts = MvNormal([[0.0, 1.0], [3.0, -4.0]], [[[1.0, 0.3], [0.3, 2.0]], [[0.5, -0.2], [-0.2, 4.0]]])
    mixture = Mixture(parts, [0.4, 0.6])
    assert mixture.batch_shape == () and mixture.event_shape == (2,)
    x = np.array([1.0, -1.0])
    expected = np.log(0.4 * np.exp(parts[0].logpdf(x)) + 0.6 * np.exp(parts[1].logpdf(x)))
    np.testing.assert_allclose(mixture.logpdf(x), expected, rtol=1e-12)
    coordinate = Mixture(Normal(parts.mean()[:, 1], parts.variance[:, 1]), [0.4, 0.6])
    np.testing.assert_allclose(mixture.var()[1], coordinate.var(), rtol=1e-13)
    np.testing.assert_allclose(mixture.quantile([0.1, 0.7])[:, 1], coordinate.quantile([0.1, 0.7]), rtol=1e-10)
    drawn = mixture.sample(20_000, np.random.default_rng(2))
    assert (np.abs(drawn.mean(0) - mixture.mean()) < 5.0 * mixture.std() / np.sqrt(20_000)).all()


def test_draws_of_two_plates_are_independent_and_right():
    weights = np.array([0.3, 0.7])[:, None, None]
    mixture = Mixture(
        Normal(np.array([-5.0, 5.0])[:, None, None] * np.ones((2, 2, 3)), 0.1), weights * np.ones((2, 2, 3))
    )
    drawn = mixture.sample(5000, np.random.default_rng(8))
    assert drawn.shape == (5000, 2, 3)
    fractions = (drawn > 0.0).mean(axis=0)
    assert (np.abs(fractions - 0.7) < 5.0 * np.sqrt(0.21 / 5000)).all()
    assert np.abs(np.corrcoef(drawn.reshape(5000, 6).T) - np.eye(6)).max() < 5.0 / np.sqrt(5000)


def test_a_mixture_of_mixtures_is_saved_and_read():
    inner = Mixture(Normal(np.arange(4.0).reshape(2, 2), 1.0), [[0.3, 0.6], [0.7, 0.4]])
    outer = Mixture(inner, [0.5, 0.5])
    again = Distribution.named("Mixture").from_arrays(outer.arrays())
    np.testing.assert_array_equal(again.logpdf([0.0, 2.0]), outer.logpdf([0.0, 2.0]))
    np.testing.assert_allclose(outer.mean(), 0.5 * (0.3 * 0 + 0.7 * 2) + 0.5 * (0.6 * 1 + 0.4 * 3), rtol=1e-14)


def test_entropy_is_refused():
    with pytest.raises(SpecError, match="a mixture has no closed-form entropy; estimate it"):
        Mixture.example().entropy()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Mixture(Normal(0.0, 1.0), [1.0]), "a batch whose first axis counts them"),
        (lambda: Mixture(NormalGamma.example(), [0.5, 0.5]), "scalar or vector family"),
        (lambda: Mixture(Normal([0.0, 1.0], 1.0), [0.5, 0.6]), r"must sum to 1 .* they sum to 1.1"),
        (lambda: Mixture(Normal([0.0, 1.0], 1.0), [1.5, -0.5]), r"weights must be between 0 and 1"),
        (lambda: Mixture(Normal([0.0, 1.0], 1.0), [1.0]), r"the components' batch, \(2,\)"),
        (lambda: Mixture(Normal(np.zeros((2, 3)), 1.0), np.full((2, 2), 0.5)), r"\(2, 3\), or \(2,\); got \(2, 2\)"),
    ],
)
def test_refusals(build, words):
    with pytest.raises(SpecError, match=words):
        build()
