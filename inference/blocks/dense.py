"""A Gaussian cluster with loops, solved as one dense Gaussian: exact, and cubic in its length."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from inference.blocks.gaussian import GaussianCluster, Solution
from inference.blocks.links import Link
from inference.blocks.tree import inner_factors
from inference.contractions import lift
from inference.distributions import Distribution, MvNormal, Normal
from inference.errors import ImproperMarginal
from inference.families import Naturals
from inference.inbox import Pair, align
from inference.nodes._base import Linear
from inference.program import Program, State
from inference.structure import Factor, FactorGraph, Variable
from inference.types import Values


class DenseCluster(GaussianCluster):
    """All elements of the cluster's variables as one vector; its entropy counts once, as a region."""

    def __init__(self, graph: FactorGraph, cluster: tuple[str, ...], links: dict[str, tuple[Link, ...]]) -> None:
        super().__init__(cluster, tuple(inner_factors(graph, frozenset(cluster))), links)
        self.silent = cluster

    def solve(self, naturals: dict[str, Naturals], program: Program, state: State) -> Solution:
        """Assemble the joint precision, factorise it, read marginals and pairs off the covariance."""
        places = _places(program.graph, self.cluster)
        size = sum(p.size for p in places.values())
        h, P = np.zeros(size), np.zeros((size, size))
        for v, (linear, precision) in naturals.items():
            _add_naturals(h, P, places[v], linear, precision, bool(program.graph.variables[v].event))
        potentials = [_potential(f, places, program, state) for f in self.inside]
        for potential in potentials:
            potential.add_to(h, P)
        mean, covariance, entropy = _solved(h, P, self.cluster)
        pairs = {p.factor.name: p.pair(mean, covariance) for p in potentials}
        marginals = {v: _marginal(program.graph.variables[v], i, mean, covariance) for v, i in places.items()}
        return Solution(marginals, pairs, {",".join(self.cluster): entropy})

    def explain_inside(self) -> list[str]:
        """One line a factor."""
        return [f"{f.name} ({f.node.letter}): a part of the dense joint precision" for f in self.inside]


def _places(graph: FactorGraph, cluster: tuple[str, ...]) -> dict[str, Values]:
    """Where each element of each variable stands in the joint vector."""
    places, start = {}, 0
    for v in cluster:
        variable = graph.variables[v]
        places[v] = np.arange(start, start + variable.size).reshape(variable.shape)
        start += variable.size
    return places


def _add_naturals(h: Values, P: Values, place: Values, linear: Values, precision: Values, vector: bool) -> None:
    h[place] += linear
    if vector:
        P[place[..., :, None], place[..., None, :]] += precision
    else:
        P[place, place] += precision


@dataclass(frozen=True, eq=False)
class _Potential:
    """A factor as exp(-(B x - o)' W (B x - o) / 2 - ...) on the places of its output and input, side by side."""

    factor: Factor
    linear: Linear
    output: Values
    input: Values
    mask: Values

    def add_to(self, h: Values, P: Values) -> None:
        """Scatter its precision and linear term."""
        A, W = self._map(), self._noise()
        k = self.output.shape[-1]
        B = np.concatenate([np.broadcast_to(np.eye(k), (*A.shape[:-2], k, k)), -A], axis=-1)
        Bt = B.swapaxes(-1, -2)
        precision = Bt @ W @ B
        if self.linear.extra is not None:
            extra = self.linear.extra if self.linear.vector_input else lift(self.linear.extra, 2)
            precision = precision.copy()
            precision[..., k:, k:] += extra
        where = np.concatenate([self.output, self.input], axis=-1)
        spread = np.broadcast_to(precision, (*where.shape[:-1], *precision.shape[-2:])) * lift(self.mask, 2)
        np.add.at(P, (where[..., :, None], where[..., None, :]), spread)
        if self.linear.offset is not None:
            offset = self.linear.offset if self.linear.vector_output else lift(self.linear.offset, 1)
            target = (Bt @ W @ offset[..., None])[..., 0]
            np.add.at(h, where, np.broadcast_to(target, where.shape) * lift(self.mask, 1))

    def pair(self, mean: Values, covariance: Values) -> Pair:
        """The joint moments of output and mapped input; the entropy is counted in the region."""
        A = self._map()
        a = np.matmul(A, mean[self.input][..., None])[..., 0]
        va = A @ covariance[self.input[..., :, None], self.input[..., None, :]] @ A.swapaxes(-1, -2)
        between = covariance[self.output[..., :, None], self.input[..., None, :]]
        cross = between @ A.swapaxes(-1, -2)
        nothing = np.zeros((1,) * len(self.factor.plates))
        if not self.linear.vector_output:
            a, va, cross, between = a[..., 0], va[..., 0, 0], cross[..., 0, 0], between[..., 0, :]
            between = between if self.linear.vector_input else between[..., 0]
        return Pair((self.linear.output, self.linear.input), a, va, cross, nothing, lambda: between)

    def _map(self) -> Values:
        c = self.linear.coefficient
        if self.linear.vector_output:
            return c
        return c[..., None, :] if self.linear.vector_input else lift(c, 2)

    def _noise(self) -> Values:
        return self.linear.precision if self.linear.vector_output else lift(self.linear.precision, 2)


def _potential(factor: Factor, places: dict[str, Values], program: Program, state: State) -> _Potential:
    ports = frozenset(p for p, held in factor.ports.items() if isinstance(held, Variable) and held.name in places)
    linear = factor.node.linear(ports, program.inbox(factor, state))
    sizes = tuple(p.size for p in factor.plates)

    def where(port: str) -> Values:
        held = factor.ports[port]
        assert isinstance(held, Variable)
        index = align(places[held.name], held, factor.plates)
        index = index if held.event else index[..., None]
        return np.broadcast_to(index, (*sizes, index.shape[-1]))

    mask = program.masks[factor.name]
    mask = np.ones(sizes) if mask is None else np.broadcast_to(mask, sizes)
    return _Potential(factor, linear, where(linear.output), where(linear.input), mask)


def _solved(h: Values, P: Values, cluster: tuple[str, ...]) -> tuple[Values, Values, float]:
    try:
        factor = np.linalg.cholesky(P)
    except np.linalg.LinAlgError:
        raise ImproperMarginal(
            f"the joint precision of q({', '.join(cluster)}) is not positive definite; give these proper priors"
        ) from None
    covariance = cho_solve((factor, True), np.eye(len(h)))
    entropy = 0.5 * len(h) * (np.log(2.0 * np.pi) + 1.0) - np.log(np.diagonal(factor)).sum()
    return cho_solve((factor, True), h), 0.5 * (covariance + covariance.T), float(entropy)


def _marginal(variable: Variable, place: Values, mean: Values, covariance: Values) -> Distribution:
    if variable.event:
        return MvNormal._trusted(mean=mean[place], cov=covariance[place[..., :, None], place[..., None, :]])
    return Normal._trusted(mean=mean[place], var=covariance[place, place])
