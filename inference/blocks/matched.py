"""A Gaussian cluster with factors on it that send by moment matching: expectation propagation."""

from collections.abc import Mapping

import numpy as np

from inference import matching
from inference.blocks._base import Block
from inference.blocks.gaussian import GaussianCluster
from inference.blocks.gaussian_tree import TreeCluster
from inference.errors import NoRule
from inference.families import Naturals
from inference.nodes._base import Message
from inference.program import Program, State
from inference.structure import Factor, FactorGraph, Variable


def matched_factors(graph: FactorGraph, variable: str) -> tuple[Factor, ...]:
    """The factors that send to a real variable by moment matching.

    Raises
    ------
    NoRule : another port of such a factor holds a variable.
    """
    found = tuple(
        f for f in graph.touching[variable] if (port := matching.matched_port(f)) and f.holding(variable) == [port]
    )
    for factor in found:
        others = [p for p, h in factor.ports.items() if isinstance(h, Variable) and h.name != variable]
        if others:
            raise factor.node.no_rule(
                f"{matching.matched_port(factor)} of {factor.name!r}",
                f"a latent {others[0]}: pass observed=, NaN where it is missing",
            )
    return found


class MatchedCluster(Block):
    """A Gaussian cluster and its matched factors: one update sends all their messages at once, then solves exactly.

    The free energy need not fall from one update to the next: its stationary points are the fixed points, which do not
    depend on the damping.
    """

    def __init__(self, cluster: GaussianCluster, matched: Mapping[str, tuple[Factor, ...]]) -> None:
        if cluster.links:
            raise NoRule(
                f"{cluster.name} has exp links at {', '.join(cluster.links)} and moment-matched factors at "
                f"{', '.join(matched)}, and no rule has both in one cluster; keep them apart with MeanField()"
            )
        self.cluster, self.matched = cluster, matched
        self.variables, self.children, self.silent = cluster.variables, cluster.children, cluster.silent

    def update(self, program: Program, state: State, damping: float) -> State:
        """Messages (1 - r) old + r new in natural parameters, then the joint Gaussian of all of them."""
        sent: dict[str, Naturals] = {}
        for factor, port in self._places():
            new, old = matching.target(factor, port, program, state), matching.present(factor, state)
            sent[factor.name] = tuple((1.0 - damping) * a + damping * b for a, b in zip(old, new, strict=True))
        state = state.updated(matched=sent)
        found = self.cluster.solve(self._naturals(program, state), program, state)
        return state.updated(marginals=found.marginals, pairs=found.pairs, regions=found.regions)

    def messages_into(self, variable: str, program: Program, state: State) -> list[tuple[Factor, str, Message]]:
        """Those into the root of a tree, with what was matched below it integrated out.

        Raises
        ------
        NoRule : another variable; ``result.messages.without(factor)`` has the marginal without a matched factor.
        """
        if not isinstance(self.cluster, TreeCluster):
            raise NoRule(f"{self.name} is solved as one dense Gaussian, which keeps no messages apart")
        naturals = self._naturals(program, state)
        found = self.cluster.collected(variable, naturals, program, state)
        own = {f.name for f in self.cluster.inside}
        for factor in program.graph.touching[variable]:
            for port in factor.holding(variable):
                if factor.name in state.matched:
                    found.append((factor, port, state.matched[factor.name]))
                elif factor.name not in own:
                    found.append((factor, port, factor.node.message(port, program.inbox(factor, state))))
        return found

    def explain(self, program: Program) -> list[str]:
        """One line a factor."""
        sent = [
            f"{f.name} ({f.node.letter}) -> {v}: Gaussian message by moment matching against the cavity of {v}"
            for v, some in self.matched.items()
            for f in some
        ]
        outside = [
            f"{f.name} ({f.node.letter}) -> {v}: mean-field message toward port {p}"
            for v in self.cluster.cluster
            for f in program.graph.touching[v]
            if f.name not in self._inside()
            for p in f.holding(v)
        ]
        return [*self.cluster.explain_inside(), *outside, *sent]

    def _places(self) -> list[tuple[Factor, str]]:
        return [(f, port) for some in self.matched.values() for f in some if (port := matching.matched_port(f))]

    def _inside(self) -> set[str]:
        return {f.name for f in self.cluster.inside} | {f.name for f, _ in self._places()}

    def _naturals(self, program: Program, state: State) -> dict[str, Naturals]:
        """For every variable all messages from outside the cluster and from its matched factors."""
        skip = tuple(self._inside())
        naturals = {v: program.incoming(v, state, skip=skip) for v in self.cluster.cluster}
        for v, some in self.matched.items():
            for factor in some:
                (port,) = factor.holding(v)
                message = program.reduce(factor, port, tuple(np.asarray(c) for c in state.matched[factor.name]))
                naturals[v] = tuple(a + b for a, b in zip(naturals[v], message, strict=True))
        return naturals
