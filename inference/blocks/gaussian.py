"""A structured Gaussian cluster: exact where its outside is Gaussian, with sites where exp links hang on it.

An exp link is no Gaussian message. It is kept as a Gaussian site N^-1(h, l) on z; each update takes the site out of
q(z), solves the edge exactly (message_passing 2.1) and puts the matching site back, all edges at once. A step that
would raise the free energy is halved toward the old sites (2.5).
"""

import warnings
from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from inference.blocks._base import Block
from inference.blocks.links import Link, explain_far_side, far_side, push_forward
from inference.distributions import Distribution, LogNormal
from inference.errors import Stalled
from inference.families import Naturals, flat
from inference.free_energy import local
from inference.inbox import Pair
from inference.links.gaussian import solve_gaussian
from inference.program import Program, State
from inference.structure import Factor

HALVINGS = 20


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved cluster: marginals, pairwise moments by factor, and the joint entropy where it is no sum of pairs."""

    marginals: dict[str, Distribution]
    pairs: dict[str, Pair]
    regions: dict[str, float] = field(default_factory=dict)


class GaussianCluster(Block):
    """Variables joined by linear-Gaussian factors, as one joint Gaussian; how it is solved is the subclass's."""

    def __init__(
        self, cluster: tuple[str, ...], inside: tuple[Factor, ...], links: dict[str, tuple[Link, ...]]
    ) -> None:
        self.cluster, self.inside, self.links = cluster, inside, links
        self.variables = (*cluster, *(link.gamma for some in links.values() for link in some))

    @abstractmethod
    def solve(self, naturals: dict[str, Naturals], program: Program, state: State) -> Solution:
        """The joint Gaussian of these messages from outside and the factors inside."""

    @abstractmethod
    def explain_inside(self) -> list[str]:
        """How the factors inside are used."""

    def update(self, program: Program, state: State, damping: float) -> State:
        """One exact solution; with links, one step of all sites."""
        outside = {v: self._outside(program, v, state) for v in self.cluster}
        if not self.links:
            return self._solved(program, state, outside, {})
        target = self._new_sites(program, state)
        before = local(program, state, self.variables) if state.sites.keys() >= self.links.keys() else np.inf
        step = damping
        for _ in range(HALVINGS):
            proposed = self._solved(program, state, outside, self._toward(target, state, step))
            if local(program, proposed, self.variables) <= before + 1e-10 * (1.0 + abs(before)):
                return proposed
            step *= 0.5
        warnings.warn(
            f"{self.name} found no step of its sites that lowers the free energy and kept its marginals; where this "
            "repeats, the run stands still without having converged: start elsewhere (init=, restarts=), or use "
            "MeanField()",
            Stalled,
            stacklevel=2,
        )
        return state

    def explain(self, program: Program) -> list[str]:
        """One line a factor."""
        lines = self.explain_inside()
        inside = {f.name for f in self.inside} | {k.factor.name for some in self.links.values() for k in some}
        for v in self.cluster:
            lines += [
                f"{f.name} ({f.node.letter}) -> {v}: mean-field message toward port {p}"
                for f in program.graph.touching[v]
                if f.name not in inside
                for p in f.holding(v)
            ]
        for z, some in self.links.items():
            lines += explain_far_side(program, some)
            lines += [
                f"{k.factor.name} (exp) -> {z}: Gaussian site, solved exactly against the cavity of {z} (2.5)"
                for k in some
            ]
        return lines

    def _outside(self, program: Program, v: str, state: State) -> Naturals:
        skip = [f.name for f in self.inside] + [link.factor.name for link in self.links.get(v, ())]
        return program.incoming(v, state, skip=tuple(skip))

    def _solved(
        self, program: Program, state: State, outside: dict[str, Naturals], sites: dict[str, Naturals]
    ) -> State:
        naturals = {
            v: tuple(a + b for a, b in zip(n, sites[v], strict=True)) if v in sites else n for v, n in outside.items()
        }
        found = self.solve(naturals, program, state)
        gammas: dict[str, Distribution] = {}
        for z, links in self.links.items():
            q = found.marginals[z]
            gammas |= push_forward(links, LogNormal, log_mean=q.mean(), log_var=q.var())
        marginals = {**found.marginals, **gammas}
        return state.updated(marginals=marginals, pairs=found.pairs, sites=sites, regions=found.regions)

    def _new_sites(self, program: Program, state: State) -> dict[str, Naturals]:
        sites = {}
        for z, links in self.links.items():
            h, l = state.sites.get(z, flat(program.graph.variables[z]))  # noqa: E741
            q = state.marginals[z]
            cavity = np.maximum(1.0 / q.var() - l, 1e-12)
            center = (q.mean() / q.var() - h) / cavity
            s, c = far_side(program, z, links, state)
            found = solve_gaussian(cavity, center, s, c, start=l)
            sites[z] = (s - found.lam + found.lam * found.mean, found.lam)
        return sites

    def _toward(self, target: dict[str, Naturals], state: State, step: float) -> dict[str, Naturals]:
        if step == 1.0 or not state.sites.keys() >= self.links.keys():
            return target
        return {
            z: tuple((1.0 - step) * a + step * b for a, b in zip(state.sites[z], new, strict=True))
            for z, new in target.items()
        }
