"""The plan of a Gaussian cluster: its variables as a tree over plates, leaves eliminated first.

Every factor repeats over plates, so the tree of variables stands for many elements. The ground graph is a forest when
the variables form a tree that can be rooted so that, away from the root, a factor's plates only grow and each child
has exactly the plates of its factor: then every element of a child hangs on one element of its parent.
"""

from dataclasses import dataclass

from inference.structure import Factor, FactorGraph, Variable


@dataclass(frozen=True, eq=False)
class Branch:
    """A child variable, the factor it hangs on and the parent; ports of the factor for both."""

    factor: Factor
    child: str
    child_port: str
    parent: str
    parent_port: str


@dataclass(frozen=True, eq=False)
class Tree:
    """A root and its branches, outermost last; ``step`` is the transition of a root that is a chain."""

    root: str
    branches: tuple[Branch, ...]
    step: Factor | None = None

    @property
    def inside(self) -> tuple[Factor, ...]:
        """The factors that join two variables (or two times) of the cluster."""
        return tuple(b.factor for b in self.branches) + (() if self.step is None else (self.step,))

    @property
    def children(self) -> dict[str, str]:
        """For each of those factors the port that is eliminated; in a chain an earlier state given the next."""
        out = {b.factor.name: b.child_port for b in self.branches}
        if self.step is not None:
            (out[self.step.name],) = set(self.step.holding(self.root)) - set(self.step.node.outputs)
        return out


def inner_factors(graph: FactorGraph, cluster: frozenset[str]) -> list[Factor]:
    """The factors with at least two ports in the cluster."""
    return [f for f in graph.factors if sum(len(f.holding(v)) for v in cluster) > 1]


def find_tree(graph: FactorGraph, cluster: frozenset[str]) -> Tree | None:
    """The cluster as a tree, or None where its ground graph has loops."""
    inside = inner_factors(graph, cluster)
    steps = [f for f in inside if len(f.variables_in(cluster)) == 1]
    joining = [f for f in inside if f not in steps]
    chains = [v for v in cluster if graph.variables[v].chain is not None]
    if len(chains) > 1 or len(joining) != len(cluster) - 1:
        return None
    roots = chains or sorted(cluster, key=lambda v: graph.variables[v].size)
    for root in roots:
        branches = _grow(root, joining, cluster)
        if branches is not None:
            return Tree(root, branches, steps[0] if steps else None)
    return None


def _grow(root: str, joining: list[Factor], cluster: frozenset[str]) -> tuple[Branch, ...] | None:
    branches: list[Branch] = []
    reached, left = [root], list(joining)
    for parent in reached:
        for factor in [f for f in left if parent in f.variables]:
            (child,) = factor.variables_in(cluster) - {parent}
            branch = Branch(factor, child, factor.holding(child)[0], parent, factor.holding(parent)[0])
            if not _grows(branch):
                return None
            left.remove(factor)
            branches.append(branch)
            reached.append(child)
    return tuple(branches) if not left and len(reached) == len(cluster) else None


def _grows(branch: Branch) -> bool:
    """Whether every element of the child has its own factor and one parent."""
    child, parent = branch.factor.ports[branch.child_port], branch.factor.ports[branch.parent_port]
    assert isinstance(child, Variable) and isinstance(parent, Variable)
    own = {p.name for p in branch.factor.plates}
    return child.gather is None and {p.name for p in child.plates} == own and {p.name for p in parent.plates} <= own
