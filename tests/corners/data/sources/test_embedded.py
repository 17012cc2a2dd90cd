import numpy as np
import pytest
from sklearn import datasets

from corners.data.sources.embedded import EmbeddedSource
from corners.data.sources.folder import FolderSource


@pytest.mark.parametrize(
    ("name", "bunch"),
    [
        ("diabetes", datasets.load_diabetes(scaled=False)),
        ("breast_cancer", datasets.load_breast_cancer()),
        ("iris", datasets.load_iris()),
        ("wine_cultivar", datasets.load_wine()),
        ("digits", datasets.load_digits()),
    ],
)
def test_values_are_those_of_scikit_learn(name, bunch):
    data = EmbeddedSource().load(name)
    np.testing.assert_array_equal(data.inputs, bunch.data)
    np.testing.assert_array_equal(data.targets, bunch.target)
    if data.task == "classification":
        assert data.labels == tuple(str(label) for label in bunch.target_names)


def test_names_carry_no_unit_and_no_space():
    assert EmbeddedSource().load("iris").feature_names[0] == "sepal_length"


@pytest.mark.needs_tables
@pytest.mark.parametrize("name", ["iris", "breast_cancer"])
def test_the_folders_copy_is_the_same_table(data_folder, name):
    embedded, copy = EmbeddedSource().load(name), FolderSource(data_folder).load(name)
    np.testing.assert_array_equal(embedded.inputs, copy.inputs)
    np.testing.assert_array_equal(embedded.targets, copy.targets)
    assert (embedded.labels, embedded.feature_names) == (copy.labels, copy.feature_names)
