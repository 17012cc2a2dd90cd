import numpy as np
import pytest

from corners.data.dataset import Dataset
from corners.data.splitters import random_split
from corners.errors import DataError
from corners.study.truth_data import STATED_INPUTS, features_of, stated_inputs, truth_data

GENERATOR = np.random.default_rng(4)
X, Y = GENERATOR.uniform(1.0, 5.0, size=(40, 3)), GENERATOR.normal(3.0, 7.0, size=40)
TABLE = Dataset(X, Y, name="rooms")


def test_all_rows_are_standardised_by_themselves():
    data = truth_data(TABLE)
    np.testing.assert_allclose(data.inputs, (X - X.mean(axis=0)) / X.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(data.targets, (Y - Y.mean()) / Y.std(), rtol=1e-12)
    assert data.source["rows"] == "all 40 rows" and data.source["table_sha256"] == TABLE.fingerprint
    units = data.source["target_mean"], data.source["target_scale"]
    assert units == pytest.approx((Y.mean(), Y.std()))


def test_a_training_part_is_that_of_the_split():
    data, part = truth_data(TABLE, train_seed=5), random_split(TABLE, 5).train
    np.testing.assert_allclose(data.targets, (part.targets - part.targets.mean()) / part.targets.std(), rtol=1e-12)
    assert data.source["rows"] == "24 of 40 rows, the training part of seed 5"


@pytest.mark.parametrize(("task", "words"), [("classification", "labels from 0"), ("count", "counts")])
def test_labels_and_counts_stay_as_they_are(task, words):
    codes = np.arange(40) % 3
    data = truth_data(Dataset(X, codes, task=task))
    np.testing.assert_array_equal(data.targets, codes)
    assert data.source["targets"] == words


def test_what_nothing_can_be_learnt_from_is_refused():
    with pytest.raises(DataError, match="the targets of flat are all the same"):
        truth_data(Dataset(X, np.ones(40), name="flat"))
    with pytest.raises(DataError, match="both has 2 outputs; a truth is sampled of one"):
        truth_data(Dataset(X, np.column_stack([Y, -Y]), name="both", target_name=["a", "b"]))


def test_random_features_are_those_of_their_seed_and_bounded():
    data = truth_data(TABLE)
    first, again, other = (features_of(data, units=50, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.values, again.values)
    assert not np.array_equal(first.values, other.values) and "(seed 3), no constant" in first.words
    assert first.values.shape == (40, 50) and np.abs(first.values).max() < 1.0
    # tanh of a Gaussian of variance 2 (weights of unit spread, and a bias): neither linear nor saturated
    assert 0.3 < np.abs(features_of(data, units=2000).values).mean() < 0.8


def test_the_constant_is_the_last_feature():
    features = features_of(truth_data(TABLE), intercept=True)
    assert features.values.shape == (40, 4) and (features.values[:, 3] == 1.0).all()
    assert features.words == "3 standardised inputs and a constant"


def test_stated_inputs_of_several_columns_are_rows():
    data = truth_data(TABLE)
    at, words = stated_inputs(data)
    assert at.shape == (STATED_INPUTS, 3) and words.startswith("25 rows")
    assert all((row == data.inputs).all(axis=1).any() for row in at)
    np.testing.assert_array_equal(at[[0, -1]], data.inputs[[0, -1]])
    few, words = stated_inputs(truth_data(Dataset(X[:4], Y[:4])))
    assert few.shape == (4, 3) and words.startswith("4 rows")
