"""The categorical predictive: scores of labels, entropies, draws, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import special

from corners.errors import DataError
from corners.predictive.categorical import CategoricalPredictive, require_labels

PROBABILITIES = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0], [0.4, 0.4, 0.2]])
DRAWS = 40_000


@pytest.fixture
def predictive() -> CategoricalPredictive:
    return CategoricalPredictive(PROBABILITIES)


def test_log_prob_is_that_of_the_label(predictive):
    np.testing.assert_array_equal(predictive.log_prob(np.array([2.0, 0.0, 1.0])), np.log([0.3, 1.0, 0.4]))
    assert predictive.log_prob(np.array([0.0, 1.0, 0.0]))[1] == -np.inf


def test_logarithms_survive_where_probabilities_underflow():
    logarithms = special.log_softmax(np.array([[0.0, -2000.0]]), axis=1)
    predictive = CategoricalPredictive.from_logarithms(logarithms)
    assert predictive.probabilities.tolist() == [[1.0, 0.0]]
    assert predictive.log_prob(np.array([1.0])).tolist() == [-2000.0]


def test_label_is_the_most_probable_class_and_ties_go_to_the_lowest(predictive):
    assert predictive.label.tolist() == [1.0, 0.0, 0.0]
    assert predictive.classes == 3


def test_entropy_is_its_sum(predictive):
    expected = [-0.2 * np.log(0.2) - 0.5 * np.log(0.5) - 0.3 * np.log(0.3), 0.0, -0.8 * np.log(0.4) - 0.2 * np.log(0.2)]
    np.testing.assert_allclose(predictive.entropy, expected, rtol=1e-14)
    assert predictive.aleatoric_entropy is None


def test_sample_follows_the_probabilities(predictive):
    draws = predictive.sample(DRAWS, np.random.default_rng(3))
    assert draws.shape == (DRAWS, 3)
    for k in range(3):
        error = np.sqrt(PROBABILITIES[:, k] * (1.0 - PROBABILITIES[:, k]) / DRAWS)
        assert (np.abs((draws == k).mean(axis=0) - PROBABILITIES[:, k]) <= 5.0 * error).all()


def test_draws_are_averaged_and_their_entropy_split():
    """Two members sure of different classes: all uncertainty is epistemic; two alike: none is."""
    apart, alike = np.array([[0.99, 0.01], [0.01, 0.99]]), np.array([[0.7, 0.3], [0.7, 0.3]])
    predictive = CategoricalPredictive.from_draws(np.log(np.stack((apart, alike), axis=1)))
    np.testing.assert_allclose(predictive.probabilities, [[0.5, 0.5], [0.7, 0.3]], rtol=1e-14)
    binary = [-0.99 * np.log(0.99) - 0.01 * np.log(0.01), -0.7 * np.log(0.7) - 0.3 * np.log(0.3)]
    np.testing.assert_allclose(predictive.aleatoric_entropy, binary, rtol=1e-14)
    np.testing.assert_allclose(predictive.entropy, [np.log(2.0), binary[1]], rtol=1e-14)


@given(arrays.arrays(np.float64, (4, 3, 5), elements=st.floats(-50.0, 50.0)))
def test_entropy_is_between_its_aleatoric_part_and_log_k(logits):
    predictive = CategoricalPredictive.from_draws(special.log_softmax(logits, axis=2))
    assert (predictive.aleatoric_entropy >= 0.0).all()
    assert (predictive.aleatoric_entropy <= predictive.entropy + 1e-12).all()
    assert (predictive.entropy <= np.log(5.0) + 1e-12).all()


def test_float32_probabilities_are_promoted():
    predictive = CategoricalPredictive(PROBABILITIES.astype(np.float32))
    assert predictive.log_prob(np.zeros(3)).dtype == np.float64


@pytest.mark.parametrize(
    ("row", "words"),
    [([0.5, 0.6], "sum to 1"), ([-0.1, 1.1], "at least 0"), ([np.nan, 1.0], "at least 0"), ([np.inf, 0.0], "sum to 1")],
)
def test_rows_that_are_no_probabilities_are_refused(row, words):
    with pytest.raises(DataError, match=rf"{words}.*1 of 2 rows do not \(first at point 1"):
        CategoricalPredictive(np.array([[0.5, 0.5], row]))


@pytest.mark.parametrize("shape", [(0, 2), (3, 1)])
def test_shapes_without_data_or_choice_are_refused(shape):
    with pytest.raises(DataError, match=r"shape \(N, K\) with N > 0 and at least two classes"):
        CategoricalPredictive(np.ones(shape))


def test_logarithms_of_something_else_are_refused():
    with pytest.raises(DataError, match="must be the logarithms of the probabilities"):
        CategoricalPredictive(np.array([[0.5, 0.5]]), np.log([[0.4, 0.6]]))


@pytest.mark.parametrize("labels", [[0.0, 1.0, 3.0], [0.0, 1.0, -1.0], [0.0, 1.0, 1.5], [0.0, 1.0, np.nan]])
def test_wrong_labels_are_refused(predictive, labels):
    with pytest.raises(DataError, match=r"must be 0 to 2, one code a class; 1 of 3 are not \(such as"):
        predictive.log_prob(np.array(labels))


def test_labels_of_another_shape_are_refused(predictive):
    with pytest.raises(DataError, match=r"labels must have shape \(3,\), one a data point; got \(2,\)"):
        predictive.log_prob(np.zeros(2))


def test_labels_without_an_end_and_no_labels():
    assert require_labels(np.array([0.0, 41.0])).tolist() == [0.0, 41.0]
    with pytest.raises(DataError, match="whole numbers 0, 1, 2"):
        require_labels(np.array([0.5]))
    with pytest.raises(DataError, match="no labels"):
        require_labels(np.array([]))
