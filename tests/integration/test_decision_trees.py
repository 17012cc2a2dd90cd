"""Fitted scikit-learn trees as routers: read by their arrays alone, equal in prediction (message passing 4.5)."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import inference as P
from inference.words import gated_value, tree_experts, tree_to_weights


def with_bias(x):
    return np.column_stack([x, np.ones(len(x))])


@pytest.fixture(scope="module")
def moons():
    x, labels = make_moons(600, noise=0.25, random_state=0)
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, labels)


def test_a_tree_of_depth_four_is_reproduced_at_random_points(moons):
    x = np.random.default_rng(1).uniform([-2.0, -1.5], [3.0, 2.0], (5000, 2))
    weights = tree_to_weights(moons)
    off = np.abs(with_bias(x) @ weights.splits.T).min(1) > 1e-6
    value = gated_value(weights, with_bias(x), sharpness=2e7)
    np.testing.assert_array_equal(moons.classes_[value[off].argmax(1)], moons.predict(x[off]))
    assert off.mean() > 0.999 and weights.leaves.shape[0] == moons.get_n_leaves()


def test_at_sharpness_2000_it_is_reproduced_off_the_boundaries(moons):
    x = np.random.default_rng(2).uniform([-2.0, -1.5], [3.0, 2.0], (5000, 2))
    weights = tree_to_weights(moons)
    off = np.abs(with_bias(x) @ weights.splits.T).min(1) > 7.0 / 2000.0
    value = gated_value(weights, with_bias(x), sharpness=2000.0)
    np.testing.assert_array_equal(value[off].argmax(1), moons.predict(x[off]))


def test_classes_are_experts_in_the_order_of_classes():
    x, species = load_iris(return_X_y=True)
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(
        x, np.array(["setosa", "versicolor", "virginica"])[species]
    )
    value = gated_value(tree_to_weights(fitted), with_bias(x), sharpness=1e6)
    np.testing.assert_array_equal(fitted.classes_[value.argmax(1)], fitted.predict(x))


def test_a_regression_tree_is_one_expert_of_values():
    generator = np.random.default_rng(3)
    x = generator.uniform(-1.0, 1.0, (300, 2))
    fitted = DecisionTreeRegressor(max_depth=3, random_state=0).fit(x, np.sin(3.0 * x[:, 0]) + x[:, 1])
    np.testing.assert_allclose(
        gated_value(tree_to_weights(fitted), with_bias(x), 1e8)[:, 0], fitted.predict(x), rtol=1e-12
    )


def test_a_fitted_tree_runs_as_a_graph():
    x, labels = make_moons(200, noise=0.2, random_state=0)
    fitted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, labels)
    weights = tree_to_weights(fitted)
    x = x[np.abs(with_bias(x) @ weights.splits.T).min(1) > 0.1]
    data = {"phi": with_bias(x), "yhat": np.tile([0.0, 1.0], (len(x), 1)), "y": P.missing(len(x))}
    r = P.infer(tree_experts.bind(tree=weights, sharpness=70.0, precision=1e6), data=data)
    np.testing.assert_array_equal(r.predictions["y"].mean() > 0.5, fitted.predict(x) == 1)


def test_trees_with_several_outputs_or_none_are_refused():
    x = np.random.default_rng(4).uniform(size=(50, 2))
    with pytest.raises(P.SpecError, match="2 outputs"):
        tree_to_weights(DecisionTreeRegressor(max_depth=2).fit(x, x))
    with pytest.raises(P.SpecError, match="single leaf"):
        tree_to_weights(DecisionTreeRegressor().fit(x, np.ones(50)))
