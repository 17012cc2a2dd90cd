"""Decision trees as routers: every split a gate, every leaf a linear score of each expert."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from inference.building import Builder, model
from inference.errors import SpecError
from inference.structure import Plate, Variable
from inference.types import Array, Float
from inference.words.router import route

LARGEST_SCORE = 300.0


@dataclass(frozen=True, eq=False)
class TreeWeights:
    """A binary tree over features whose last is the constant 1, nodes before their children.

    ``splits`` (I, d): ``splits[n]'phi > 0`` goes left. ``left`` and ``right`` (I,): the node there, or ``~l`` for leaf
    l. ``leaves`` (L, K, d): the score of expert k there is ``leaves[l, k]'phi``.
    """

    splits: Float[Array, "I d"]
    left: Array
    right: Array
    leaves: Float[Array, "L K d"]

    @property
    def root(self) -> int:
        """Node 0, or leaf 0 where nothing is split."""
        return 0 if len(self.splits) else ~0


def tree_to_weights(tree: Any, *, experts: int | None = None, boost: float = 10.0) -> TreeWeights:
    """The weights of a nested tuple or of a fitted scikit-learn tree (message_passing 4.5).

    A nested tuple is ``(split, left, right)``, split (d,) over features whose last is the constant 1, positive to the
    left; a leaf is a class (an integer), scores (K,) or linear scores (K, d). A class gives its expert the score
    ``boost`` and the others 0: a leakage of e^-boost. Of a fitted tree the classes of a classifier, in the order of its
    ``classes_``, or the values of a regressor are taken; ``x <= threshold`` goes left, and equality is the boundary.

    Raises
    ------
    SpecError : a tree with several outputs, leaves of different shapes, a class that no expert stands for.

    Example
    -------
    >>> tree_to_weights(((-1.0, 0.5), 0, 1)).leaves[:, :, -1]
    array([[10.,  0.],
           [ 0., 10.]])
    """
    nested = _nested(tree, 0) if hasattr(tree, "tree_") else tree
    splits: list[Array] = []
    sides: list[list[int]] = []
    leaves: list[Any] = []
    _grow(nested, splits, sides, leaves)
    if experts is None:
        experts = 1 + max((int(c) for c in leaves if np.ndim(c) == 0), default=-1) or _experts_of(leaves)
    if hasattr(tree, "classes_"):
        experts = max(experts, len(tree.classes_))
    dims = {len(s) for s in splits} | {np.shape(leaf)[1] for leaf in leaves if np.ndim(leaf) == 2}
    if len(dims) != 1:
        raise SpecError(
            f"splits and linear leaves are over {sorted(dims) or 'no'} features; they need one number of them"
        )
    (d,) = dims
    scores = np.stack([_scores(leaf, experts, d, boost) for leaf in leaves])
    left, right = np.asarray(sides, dtype=np.int64).reshape(-1, 2).T
    return TreeWeights(np.asarray(splits, dtype=np.float64).reshape(-1, d), left, right, scores)


def _grow(tree: Any, splits: list[Array], sides: list[list[int]], leaves: list[Any]) -> int:
    """Append a subtree in order, parents first; its place."""
    if not isinstance(tree, tuple):
        leaves.append(tree)
        return ~(len(leaves) - 1)
    if len(tree) != 3 or np.ndim(tree[0]) != 1:
        raise SpecError(f"a split is (weights over the features, left, right); got a tuple of {len(tree)}")
    place = len(splits)
    splits.append(np.asarray(tree[0], dtype=np.float64))
    sides.append([0, 0])
    sides[place] = [_grow(side, splits, sides, leaves) for side in tree[1:]]
    return place


def _experts_of(leaves: list[Any]) -> int:
    return len(leaves[0])


def _scores(leaf: Any, experts: int, d: int, boost: float) -> Array:
    if np.ndim(leaf) == 2 and np.shape(leaf) == (experts, d):
        return np.asarray(leaf, dtype=np.float64)
    scores = np.zeros((experts, d))
    if np.ndim(leaf) == 0 and 0 <= int(leaf) < experts and int(leaf) == leaf:
        scores[int(leaf), -1] = boost
    elif np.shape(leaf) == (experts,):
        scores[:, -1] = leaf
    else:
        raise SpecError(
            f"a leaf is a class below {experts}, scores ({experts},) or linear scores ({experts}, {d}); got one of "
            f"shape {np.shape(leaf)}" + (f" that is {leaf}" if np.ndim(leaf) == 0 else "")
        )
    return scores


def _nested(fitted: Any, node: int) -> Any:
    """A fitted tree below a node as a nested tuple, read from the arrays of ``tree_``."""
    arrays = fitted.tree_
    if arrays.value.shape[1] != 1:
        raise SpecError(f"the tree has {arrays.value.shape[1]} outputs; a tree of experts has one")
    if arrays.children_left[node] < 0:
        value = arrays.value[node, 0]
        leaf = int(np.argmax(value)) if hasattr(fitted, "classes_") else value
        if arrays.node_count == 1:
            raise SpecError("the fitted tree is a single leaf and splits nothing")
        return leaf
    split = np.zeros(arrays.n_features + 1)
    split[arrays.feature[node]], split[-1] = -1.0, arrays.threshold[node]
    return split, *(_nested(fitted, int(side[node])) for side in (arrays.children_left, arrays.children_right))


def gated_value(weights: TreeWeights, phi: Float[Array, "N d"], sharpness: float) -> Float[Array, "N K"]:
    """sigmoid(2h) left + sigmoid(-2h) right from the leaves up, h = sharpness splits'phi; the tree itself as it grows.

    Example
    -------
    >>> tree = tree_to_weights(((-1.0, 0.5), 0, 1))
    >>> gated_value(tree, np.array([[0.0, 1.0], [1.0, 1.0]]), sharpness=100.0).round(3)
    array([[10.,  0.],
           [ 0., 10.]])
    """
    values = {~k: phi @ leaf.T for k, leaf in enumerate(weights.leaves)}
    for n in reversed(range(len(weights.splits))):
        toward = expit(2.0 * sharpness * (phi @ weights.splits[n]))[:, None]
        values[n] = toward * values[int(weights.left[n])] + (1.0 - toward) * values[int(weights.right[n])]
    return values[weights.root]


def decision_tree(
    m: Builder,
    name: str,
    features: Any,
    weights: TreeWeights,
    *,
    rows: Plate,
    experts: Plate,
    sharpness: float = 7.0,
    precision: float = 100.0,
) -> Variable:
    """The scores (rows, experts) of a tree as a graph: one router a split, shared by the experts (message_passing 4.5).

    Makes ``name.leaf0``, ... over rows and experts, ``name.h0``, ... over rows and ``name.split0``, ... whose first is
    the root and is returned. As ``precision`` grows, a value below a split arrives at its parent with the precision it
    has itself: a side of precision P behind k = e^h weighs 1 / (1/k + 1/P). That is :func:`gated_value` for a single
    split, and the tree itself as sharpness grows; a margin of 7 / sharpness leaves the wrong side a weight below 1e-6.
    Leave the constraints away: under mean field the values chase one another along the tree.

    Raises
    ------
    SpecError : sharpness times a margin exceeds 300, beyond which products of e^h overflow.

    Example
    -------
    >>> rows, experts = (m := Builder("one", {})).plate("row", 5), m.plate("expert", 2)
    >>> decision_tree(m, "t", np.ones((5, 2)), tree_to_weights(((-1.0, 0.5), 0, 1)), rows=rows, experts=experts)
    Variable('t.split0', real, plates (row=5, expert=2))
    """
    _check_sharpness(features, weights, sharpness)
    both, values = (rows, experts), {}
    for k, leaf in enumerate(weights.leaves):
        scores = m.data(f"{name}.leaf{k}.weights", leaf, experts)
        values[~k] = m.softdot(f"{name}.leaf{k}", scores, features, precision, plates=both)
    for n in reversed(range(len(weights.splits))):
        h = m.softdot(f"{name}.h{n}", sharpness * weights.splits[n], features, precision, plates=rows)
        left, right = values[int(weights.left[n])], values[int(weights.right[n])]
        values[n] = route(m, f"{name}.split{n}", h, left, right, plates=both, precision=precision)
    return values[weights.root]


def _check_sharpness(features: Any, weights: TreeWeights, sharpness: float) -> None:
    if isinstance(features, np.ndarray) and features.size and len(weights.splits):
        largest = sharpness * float(np.abs(features @ weights.splits.T).max())
        if largest > LARGEST_SCORE:
            raise SpecError(
                f"sharpness {sharpness:.6g} makes scores of {largest:.6g}, and their exponentials overflow beyond "
                f"{LARGEST_SCORE:.6g}; take a smaller sharpness, or gated_value, which has no such limit"
            )


@model
def tree_experts(
    m: Builder, phi: Any, yhat: Any, y: Any, *, tree: TreeWeights, sharpness: float = 7.0, precision: float = 100.0
) -> None:
    """yhat_ij ~ N(y_j, e^-m_ij), m_ij the score that a decision tree gives expert i at phi_j (message_passing 4.5).

    Bind ``tree``; ``phi`` (N, d) has the constant 1 last, as :class:`TreeWeights` has.

    Example
    -------
    >>> from inference import infer, missing
    >>> step = tree_experts.bind(tree=tree_to_weights(((-1.0, 0.5), 0, 1)), sharpness=20.0)
    >>> r = infer(step, data=dict(phi=[[0.0, 1.0], [1.0, 1.0]], yhat=[[0.0, 1.0]] * 2, y=missing(2)))
    >>> r.predictions["y"].mean().round(3)
    array([0., 1.])
    """
    rows, experts = m.plate("row", len(y)), m.plate("expert", yhat.shape[1])
    score = decision_tree(m, "tree", phi, tree, rows=rows, experts=experts, sharpness=sharpness, precision=precision)
    m.normal("yhat", mean=y, precision=m.exp("gamma", score), observed=yhat, plates=(rows, experts))
