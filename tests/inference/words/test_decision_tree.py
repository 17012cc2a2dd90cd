"""Decision trees: read from tuples, evaluated in closed form, and as graphs (message passing 4.5)."""

import numpy as np
import pytest

import inference as P
from inference.words import gated_value, routed_experts, tree_experts, tree_to_weights

# x < 0.2 ? (y < -0.3 ? 0 : 1) : (y > 0.1 ? 2 : 0)
NESTED = (np.array([-1.0, 0.0, 0.2]), (np.array([0.0, -1.0, -0.3]), 0, 1), (np.array([0.0, 1.0, -0.1]), 2, 0))


def by_hand(x):
    return np.where(x[:, 0] < 0.2, np.where(x[:, 1] < -0.3, 0, 1), np.where(x[:, 1] > 0.1, 2, 0))


def with_bias(x):
    return np.column_stack([x, np.ones(len(x))])


@pytest.fixture(scope="module")
def points():
    """Points and features, none near a boundary."""
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 2))
    return x[np.abs(with_bias(x) @ tree_to_weights(NESTED).splits.T).min(1) > 0.03][:120]


def test_nodes_come_before_their_children_and_leaves_in_order():
    w = tree_to_weights(NESTED)
    np.testing.assert_array_equal(w.left, [1, ~0, ~2])
    np.testing.assert_array_equal(w.right, [2, ~1, ~3])
    np.testing.assert_array_equal(w.leaves[:, :, -1].argmax(1), [0, 1, 2, 0])
    assert w.leaves.shape == (4, 3, 3) and w.root == 0


def test_a_sharp_tree_is_the_tree_on_a_grid(points):
    value = gated_value(tree_to_weights(NESTED), with_bias(points), 2000.0)
    np.testing.assert_array_equal(value.argmax(1), by_hand(points))
    np.testing.assert_allclose(value.max(1), 10.0, rtol=1e-12)


def test_leaves_may_be_scores_or_linear_scores():
    linear = np.array([[1.0, 0.0], [0.0, 2.0]])
    w = tree_to_weights((np.array([1.0, 0.0]), [3.0, 4.0], linear))
    value = gated_value(w, np.array([[2.0, 1.0], [-2.0, 1.0]]), 100.0)
    np.testing.assert_allclose(value, [[3.0, 4.0], [-2.0, 2.0]], rtol=1e-12)


def test_a_single_leaf_is_a_tree():
    value = gated_value(tree_to_weights(np.array([[1.0, 0.5]])), np.array([[2.0, 1.0]]), 1.0)
    np.testing.assert_allclose(value, [[2.5]])


@pytest.mark.parametrize(
    ("tree", "options", "said"),
    [
        (((-1.0, 0.5), 0, 3), {"experts": 2}, "a class below 2.* that is 3"),
        (((-1.0, 0.5), 0.5, 1), {}, "that is 0.5"),
        (((-1.0, 0.5), 0), {}, "weights over the features, left, right"),
        (((-1.0, 0.5), ((1.0, 0.0, 0.0), 0, 1), 1), {}, r"over \[2, 3\] features"),
        (1, {}, "over no features"),
        (((-1.0, 0.5), [1.0, 2.0], [1.0]), {}, r"shape \(1,\)"),
    ],
)
def test_what_is_no_tree_is_refused(tree, options, said):
    with pytest.raises(P.SpecError, match=said):
        tree_to_weights(tree, **options)


def inferred(tree, phi, **options):
    experts = tree_to_weights(tree).leaves.shape[1]
    data = {"phi": phi, "yhat": np.tile(np.arange(experts, dtype=float), (len(phi), 1)), "y": P.missing(len(phi))}
    return P.infer(tree_experts.bind(tree=tree_to_weights(tree), **options), data=data)


def test_a_single_split_is_its_closed_form_where_precisions_grow(points):
    phi, stump = with_bias(points), (np.array([-1.0, 0.0, 0.2]), 0, 1)
    found = inferred(stump, phi, sharpness=5.0, precision=1e8).posteriors["tree.split0"].mean()
    np.testing.assert_allclose(found, gated_value(tree_to_weights(stump), phi, 5.0), atol=1e-5)


def graph_limit(w, phi, sharpness):
    """Values and precisions from the leaves up: a side of precision P behind k weighs 1 / (1/k + 1/P)."""
    side = {~k: (phi @ leaf.T, np.full(len(phi), np.inf)) for k, leaf in enumerate(w.leaves)}
    for n in reversed(range(len(w.splits))):
        h = sharpness * phi @ w.splits[n]
        (a, a_precision), (b, b_precision) = side[int(w.left[n])], side[int(w.right[n])]
        left, right = 1.0 / (np.exp(-h) + 1.0 / a_precision), 1.0 / (np.exp(h) + 1.0 / b_precision)
        total = left + right
        side[n] = (left / total)[:, None] * a + (right / total)[:, None] * b, total
    return side[w.root]


@pytest.mark.parametrize("sharpness", [1.0, 7.0])
def test_a_tree_of_splits_weighs_its_sides_by_their_own_precision_too(points, sharpness):
    phi = with_bias(points)
    q = inferred(NESTED, phi, sharpness=sharpness, precision=1e8).posteriors["tree.split0"]
    mean, precision = graph_limit(tree_to_weights(NESTED), phi, sharpness)
    np.testing.assert_allclose(q.mean(), mean, atol=1e-4)
    np.testing.assert_allclose(q.var(), np.tile(1.0 / precision[:, None], 3), rtol=1e-3, atol=1e-7)


def test_a_sharp_graph_is_the_tree(points):
    """On points whose margins are beyond 1 / sharpness everywhere, graph, closed form and tree agree."""
    phi = with_bias(points)
    r = inferred(NESTED, phi, sharpness=150.0, precision=1e6)
    np.testing.assert_array_equal(r.posteriors["tree.split0"].mean().argmax(1), by_hand(points))
    np.testing.assert_allclose(r.predictions["y"].mean(), by_hand(points), atol=2e-3)


def test_scores_that_would_overflow_are_refused(points):
    with pytest.raises(P.SpecError, match=r"sharpness 2000 .* smaller sharpness, or gated_value"):
        inferred(NESTED, with_bias(points), sharpness=2000.0)


def test_a_stump_is_a_router(points):
    """Leaves of the two classes are the branches, the split the gate."""
    phi, stump = with_bias(points), (np.array([-1.0, 0.0, 0.2]), 0, 1)
    w = tree_to_weights(stump)
    data = {"phi": phi, "yhat": np.tile([0.0, 1.0], (len(phi), 1)), "y": P.missing(len(phi))}
    precise = dict.fromkeys(("gate_precision", "switch_precision", "branch_precision"), 1e8)
    routed = routed_experts.bind(gate=5.0 * w.splits[0], left=w.leaves[0], right=w.leaves[1], **precise)
    ours = inferred(stump, phi, sharpness=5.0, precision=1e8).predictions["y"]
    np.testing.assert_allclose(P.infer(routed, data=data).predictions["y"].mean(), ours.mean(), atol=1e-6)
