"""Entropy of class predictions in two parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corners.comparison.entropy import entropy_split, require_draws
from corners.errors import DataError
from corners.predictive.categorical import CategoricalPredictive
from tests.support.forecasts import softmax


@st.composite
def draws(draw):
    """Class probabilities of several draws, some of them zero or one."""
    shape = (draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(2, 4)))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return softmax(draw(st.sampled_from([1e-9, 1.0, 30.0, 2000.0])) * generator.standard_normal(shape))


def entropy(p):
    return -sum(value * np.log(value) for value in p if value > 0.0)


@given(draws())
def test_every_part_is_its_definition(p):
    split = entropy_split(p)
    for n in range(p.shape[1]):
        mean = [sum(p[:, n, k]) / len(p) for k in range(p.shape[2])]
        np.testing.assert_allclose(split.total[n], entropy(mean), rtol=1e-10, atol=1e-13)
        aleatoric = sum(entropy(one) for one in p[:, n]) / len(p)
        np.testing.assert_allclose(split.aleatoric[n], aleatoric, rtol=1e-10, atol=1e-13)


@given(draws())
def test_the_parts_add_up_and_keep_their_bounds(p):
    split = entropy_split(p)
    np.testing.assert_allclose(split.aleatoric + split.epistemic, split.total, rtol=1e-10, atol=1e-13)
    assert (split.epistemic >= 0.0).all() and (split.aleatoric >= 0.0).all()
    assert (split.epistemic <= np.log(len(p)) + 1e-12).all() and (split.total <= np.log(p.shape[2]) + 1e-12).all()


@given(draws())
def test_the_order_of_draws_points_and_classes_does_not_matter(p):
    straight, turned = entropy_split(p), entropy_split(p[::-1, ::-1, ::-1])
    for part in ("total", "aleatoric", "epistemic"):
        np.testing.assert_allclose(getattr(turned, part)[::-1], getattr(straight, part), rtol=1e-10, atol=1e-14)


def test_denormal_probabilities_are_no_disagreement():
    """The mean of 5e-324 and zeros is zero: that draw's divergence from it would be infinite."""
    p = np.zeros((6, 1, 2))
    p[:, :, 1], p[0, 0, 0] = 1.0, 5e-324
    assert entropy_split(p).epistemic[0] == 0.0


def test_a_probability_an_ulp_above_one_has_no_entropy():
    above = np.nextafter(1.0, 2.0)
    split = entropy_split(np.full((2, 1, 2), [above, 0.0]))
    assert split.total[0] == split.aleatoric[0] == split.epistemic[0] == 0.0


def test_a_tiny_disagreement_keeps_its_digits():
    """``KL(½ ± ε ‖ ½) = 2ε² + O(ε⁴)``: total minus aleatoric would be rounding alone."""
    step = 1e-7
    p = np.array([[[0.5 + step, 0.5 - step]], [[0.5 - step, 0.5 + step]]])
    np.testing.assert_allclose(entropy_split(p).epistemic, 2.0 * step**2, rtol=1e-2)


def test_it_agrees_with_the_predictive_of_the_draws():
    p = softmax(np.random.default_rng(0).standard_normal((5, 7, 3)))
    predictive, split = CategoricalPredictive.from_draws(np.log(p)), entropy_split(p)
    np.testing.assert_allclose(predictive.entropy, split.total, rtol=1e-12)
    assert predictive.aleatoric_entropy is not None
    np.testing.assert_allclose(predictive.aleatoric_entropy, split.aleatoric, rtol=1e-12)


@pytest.mark.parametrize(
    ("given_draws", "words"),
    [
        (np.full((2, 2), 0.5), r"shape \(S, N, K\)"),
        (np.ones((0, 2, 2)), r"none of them 0"),
        (np.array([[[0.5, 0.5], [0.7, 0.7]]]), "draw 0 of point 1"),
        (np.array([[[1.5, -0.5]]]), "instead of logits"),
        (np.array([[[np.nan, 1.0]]]), "draw 0 of point 0"),
    ],
)
def test_what_are_no_probabilities_is_refused(given_draws, words):
    with pytest.raises(DataError, match=words):
        require_draws(given_draws)
