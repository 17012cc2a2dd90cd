"""A tree-structured Gaussian cluster, solved exactly: messages up to the root, conditionals back down."""

from collections.abc import Mapping

import numpy as np

from inference.blocks.gaussian import GaussianCluster, Solution
from inference.blocks.links import Link
from inference.blocks.tree import Branch, Tree
from inference.distributions import Distribution, MvNormal, Normal
from inference.errors import NoRule
from inference.families import Naturals, marginal
from inference.gaussians.chain import ChainPosterior, smooth, smooth_scalar
from inference.gaussians.elimination import Belief, Conditional, Eliminated, eliminate, mapped
from inference.inbox import Pair, align
from inference.nodes._base import Linear, Message
from inference.program import Program, State
from inference.structure import Factor, Variable
from inference.types import Values

Solved = tuple[dict[str, Distribution], dict[str, Pair]]


class TreeCluster(GaussianCluster):
    """A Gaussian cluster whose ground graph is a forest: one pass up and one down are exact."""

    def __init__(self, tree: Tree, cluster: tuple[str, ...], links: dict[str, tuple[Link, ...]]) -> None:
        super().__init__(cluster, tree.inside, links)
        self.tree = tree
        self.children = tree.children

    def solve(self, naturals: dict[str, Naturals], program: Program, state: State) -> Solution:
        """Leaves first, then back from the root."""
        return Solution(*solve_tree(self.tree, naturals, program, state))

    def messages_into(self, variable: str, program: Program, state: State) -> list[tuple[Factor, str, Message]]:
        """Those from outside, and those of the variables that were integrated out into this one."""
        if self.links:
            raise self._not_apart(variable)
        naturals = {v: program.incoming(v, state, skip=tuple(f.name for f in self.inside)) for v in self.cluster}
        inside = {f.name for f in self.inside}
        outside = [m for m in super().messages_into(variable, program, state) if m[0].name not in inside]
        return self.collected(variable, naturals, program, state) + outside

    def collected(
        self, variable: str, naturals: dict[str, Naturals], program: Program, state: State
    ) -> list[tuple[Factor, str, Message]]:
        """The messages of the factors inside toward the root, given all that comes from outside the tree.

        Raises
        ------
        NoRule : the variable is not the root, or the root is a chain.
        """
        if any(b.child == variable for b in self.tree.branches) or self.tree.step is not None:
            raise self._not_apart(variable)
        naturals, found = dict(naturals), []
        for branch in reversed(self.tree.branches):
            out = _eliminated(branch, naturals[branch.child], program, state)
            if branch.parent == variable:
                found.append((branch.factor, branch.parent_port, (out.linear, out.precision)))
            message = program.reduce(branch.factor, branch.parent_port, (out.linear, out.precision))
            naturals[branch.parent] = tuple(a + b for a, b in zip(naturals[branch.parent], message, strict=True))
        return found

    def _not_apart(self, variable: str) -> NoRule:
        return NoRule(
            f"the messages toward {variable!r} inside {self.name} are not kept apart: only the root of a tree "
            "without exp links has them; ask for the root, or keep the variables apart with MeanField()"
        )

    def explain_inside(self) -> list[str]:
        """One line a factor."""
        lines = [
            f"{b.factor.name} ({b.factor.node.letter}): {b.child} is integrated out into {b.parent} (port "
            f"{b.child_port} to {b.parent_port}); back down its conditional given {b.parent}"
            for b in self.tree.branches
        ]
        if self.tree.step is not None:
            step = self.tree.step
            lines.append(f"{step.name} ({step.node.letter}): filter forward, smooth backward along {self.tree.root}")
        return lines


def solve_tree(tree: Tree, naturals: Mapping[str, Naturals], program: Program, state: State) -> Solved:
    """The marginals and the pairwise moments of the cluster.

    ``naturals`` are, for each variable, all messages from outside the cluster; the state supplies what is outside.
    """
    collected = dict(naturals)
    conditionals: dict[str, Conditional] = {}
    for branch in reversed(tree.branches):
        message, conditionals[branch.child] = _up(branch, collected[branch.child], program, state)
        collected[branch.parent] = tuple(a + b for a, b in zip(collected[branch.parent], message, strict=True))
    root = program.graph.variables[tree.root]
    pairs: dict[str, Pair] = {}
    if root.chain is None:
        marginals = {tree.root: marginal(root, collected[tree.root])}
    else:
        marginals, pairs = _solve_chain(root, tree.step, collected[tree.root], program, state)
    for branch in tree.branches:
        _down(branch, conditionals[branch.child], marginals, pairs)
    return marginals, pairs


def _up(branch: Branch, naturals: Naturals, program: Program, state: State) -> tuple[Naturals, Conditional]:
    out = _eliminated(branch, naturals, program, state)
    return program.reduce(branch.factor, branch.parent_port, (out.linear, out.precision)), out.conditional


def _eliminated(branch: Branch, naturals: Naturals, program: Program, state: State) -> Eliminated:
    factor = branch.factor
    inside = frozenset({branch.child_port, branch.parent_port})
    linear = factor.node.linear(inside, program.inbox(factor, state))
    held = factor.ports[branch.child_port]
    assert isinstance(held, Variable)
    h, L = (align(a, held, factor.plates) for a in naturals)
    return eliminate(linear, branch.child_port, h, L)


def _down(
    branch: Branch,
    conditional: Conditional,
    marginals: dict[str, Distribution],
    pairs: dict[str, Pair],
) -> None:
    factor = branch.factor
    parent, child = factor.ports[branch.parent_port], factor.ports[branch.child_port]
    assert isinstance(parent, Variable) and isinstance(child, Variable)
    belief, pair = conditional.down(_belief(marginals[branch.parent], parent, factor))
    marginals[branch.child] = _distribution(belief, child, factor)
    pairs[factor.name] = pair


def _belief(distribution: Distribution, held: Variable, factor: Factor) -> Belief:
    spread = distribution.covariance if isinstance(distribution, MvNormal) else distribution.var()
    return Belief(align(distribution.mean(), held, factor.plates), align(spread, held, factor.plates))


def _distribution(belief: Belief, child: Variable, factor: Factor) -> Distribution:
    """The child's belief, from the factor's plates to its own, which are the same in another order at most."""
    names = [p.name for p in factor.plates]
    order = [names.index(p.name) for p in child.plates]
    plates = tuple(p.size for p in child.plates)

    def own(array: Values, ndim: int) -> Values:
        moved = array.transpose(*order, *range(len(order), array.ndim)) if order != sorted(order) else array
        return np.broadcast_to(moved, (*plates, *child.event * ndim))

    if child.event:
        return MvNormal._trusted(mean=own(belief.mean, 1), cov=own(belief.spread, 2))
    return Normal._trusted(mean=own(belief.mean, 1), var=own(belief.spread, 1))


def _solve_chain(root: Variable, step: Factor | None, naturals: Naturals, program: Program, state: State) -> Solved:
    """The chain by filtering and smoothing; its start is the message that its first place received."""
    h, L = naturals
    if step is None:
        return {root.name: marginal(root, naturals)}, {}
    linear = step.node.linear(frozenset(step.holding(root.name)), program.inbox(step, state))
    if linear.extra is not None:
        held = step.ports[linear.input]
        assert isinstance(held, Variable)
        L = L + program.reduce_one(step, held, linear.extra, 2 * len(root.event))
    first = (slice(None),) * (len(root.plates) - 1) + (0,)
    start, h, L = (h[first], L[first]), h.copy(), L.copy()
    h[first], L[first] = 0.0, 0.0
    offset = np.zeros(root.event) if linear.offset is None else linear.offset
    if root.event:
        c = smooth(
            h, L, start_linear=start[0], start_precision=start[1], matrix=linear.coefficient, offset=offset,
            noise_precision=linear.precision,
        )  # fmt: skip
        q: Distribution = MvNormal._trusted(mean=c.mean, cov=c.covariance)
        return {root.name: q}, {step.name: _vector_pair(linear, c)}
    c = smooth_scalar(
        h, L, start_linear=start[0], start_precision=start[1], coefficient=linear.coefficient, offset=offset,
        noise_precision=linear.precision,
    )  # fmt: skip
    q = Normal._trusted(mean=c.mean, var=c.var)
    a, va = mapped(linear, Belief(c.mean[..., :-1], c.var[..., :-1]))
    entropy = c.conditional_entropy[..., :-1]
    pair = Pair((linear.output, linear.input), a, va, linear.coefficient * c.cross, entropy, lambda: c.cross)
    return {root.name: q}, {step.name: pair}


def _vector_pair(linear: Linear, chain: ChainPosterior) -> Pair:
    A = linear.coefficient
    mean = np.matmul(A, chain.mean[..., :-1, :, None])[..., 0]
    var = A @ chain.covariance[..., :-1, :, :] @ A.swapaxes(-1, -2)
    cross = chain.cross.swapaxes(-1, -2) @ A.swapaxes(-1, -2)
    return Pair((linear.output, linear.input), mean, var, cross, chain.conditional_entropy[..., :-1])
