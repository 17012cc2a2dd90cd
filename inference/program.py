"""A graph made ready to run: the messages, energies and entropies of its factors under a state.

The program holds what never changes (masks of missing data, Gram matrices of known features); the state holds the
marginals and is replaced, never changed, so that the last complete one can always be returned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from inference.contractions import Axes
from inference.distributions import Distribution, NormalGamma
from inference.families import Naturals, event_ndims, flat
from inference.inbox import Inbox, Moments, Pair, align, read
from inference.matching import bethe_term, matched_port
from inference.nodes.exp_link import ExpLink
from inference.structure import Factor, FactorGraph, Known, Variable
from inference.terms import Quantity, Term, total
from inference.types import Values

if TYPE_CHECKING:
    from inference.blocks._base import Block


@dataclass(frozen=True, eq=False)
class State:
    """Everything inference has found out so far.

    ``pairs`` are joint moments by factor, ``joints`` normal-gamma pairs by their two variables, ``sites`` the Gaussian
    messages of exp links inside a structured cluster, ``regions`` the entropies of clusters solved as one, ``matched``
    the messages that factors sent by moment matching, over their plates.
    """

    marginals: Mapping[str, Distribution]
    pairs: Mapping[str, Pair] = field(default_factory=dict)
    joints: Mapping[tuple[str, str], NormalGamma] = field(default_factory=dict)
    sites: Mapping[str, Naturals] = field(default_factory=dict)
    regions: Mapping[str, float] = field(default_factory=dict)
    matched: Mapping[str, Naturals] = field(default_factory=dict)

    def updated(self, **parts: Mapping[Any, Any]) -> "State":
        """A state with these entries put in place of their namesakes."""
        return replace(self, **{name: {**getattr(self, name), **new} for name, new in parts.items()})


class Program:
    """The factors of a graph with what is remembered about them.

    Parameters
    ----------
    graph : the model on its data
    blocks : how its variables are grouped; the program reads from them which ports factors read together
    """

    def __init__(self, graph: FactorGraph, blocks: "Sequence[Block]") -> None:
        self.graph, self.blocks = graph, tuple(blocks)
        self.joints: dict[str, tuple[str, str]] = {}
        self.children: dict[str, str] = {}
        self.silent: set[str] = set()
        for block in blocks:
            self.joints |= block.joints(graph)
            self.children |= block.children
            self.silent |= set(block.silent)
        self._moments: dict[str, dict[str, Moments]] = {f.name: {} for f in graph.factors}
        self._routes: dict[tuple[str, int], _Route] = {}
        self._kept: dict[str, dict[str, dict[Axes, Values]]] = {
            f.name: {port: {} for port in f.ports} for f in graph.factors
        }

    @cached_property
    def masks(self) -> dict[str, Values | None]:
        """For each factor 1 where it is present and 0 where a known port is missing, or None."""
        return {f.name: _mask(f) for f in self.graph.factors}

    @cached_property
    def counts(self) -> dict[str, Values]:
        """How often the entropy of each element of each variable stands in the Bethe free energy (1.7).

        Its degree less one, less one for every factor that takes it off: as a cluster by itself, as the conditioned-on
        side of a pair, or as the input of an exp link.
        """
        counts = {v: np.full(tuple(p.size for p in x.plates), -1.0) for v, x in self.graph.variables.items()}
        for factor in self.graph.factors:
            for port, held in factor.ports.items():
                if isinstance(held, Variable) and not self._takes_off(factor, port):
                    counts[held.name] = counts[held.name] + self.instances(factor, held)
        return {v: np.zeros_like(c) if v in self.silent else c for v, c in counts.items()}

    def _takes_off(self, factor: Factor, port: str) -> bool:
        if isinstance(factor.node, ExpLink):
            return port == "z"
        return self.children.get(factor.name) != port

    def inbox(self, factor: Factor, state: State, *, without: tuple[str, ...] = ()) -> Inbox:
        """The moments of its ports under a state, but those of ports ``without``."""
        joint = state.joints.get(self.joints.get(factor.name, ("", "")))
        if joint is not None:
            joint = _aligned_joint(factor, self.joints[factor.name][0], joint)
        kept, earlier = self._kept[factor.name], self._moments[factor.name]
        return read(factor, state.marginals, kept, state.pairs.get(factor.name), joint, without, earlier)

    def message(self, factor: Factor, port: str, state: State) -> Naturals:
        """The mean-field message toward a port, summed to the plates of the variable it holds."""
        return self.reduce(factor, port, factor.node.message(port, self.inbox(factor, state)))

    def reduce(self, factor: Factor, port: str, message: tuple[Quantity, ...], mask: Values | None = None) -> Naturals:
        """Coefficients over the factor's plates, summed over those the variable at ``port`` lacks."""
        held = factor.ports[port]
        assert isinstance(held, Variable)
        return tuple(
            self.reduce_one(factor, held, quantity, ndim, mask)
            for quantity, ndim in zip(message, event_ndims(held), strict=True)
        )

    def reduce_one(
        self, factor: Factor, held: Variable, quantity: Quantity, event_ndim: int, mask: Values | None = None
    ) -> Values:
        """One quantity over the factor's plates, summed to those of a variable it holds; ``mask`` drops more of it."""
        present = self.masks[factor.name]
        if mask is not None:
            present = mask if present is None else present * mask
        route = self._route(factor, held)
        n = len(factor.sizes)
        summed = total(_padded(quantity, n, event_ndim), route.axes, factor.sizes, present, event_ndim)
        event = summed.shape[n:]
        kept = summed.reshape((*(summed.shape[k] for k in route.kept), *event))
        if route.order is not None:
            kept = kept.transpose(*route.order, *range(len(route.order), kept.ndim))
        shape = (*route.sizes, *event)
        spread = kept if kept.shape == shape else np.broadcast_to(kept, shape)
        return spread if held.gather is None else held.gather.scatter(spread, route.source)

    def _route(self, factor: Factor, held: Variable) -> "_Route":
        key = (factor.name, id(held))
        if key not in self._routes:
            self._routes[key] = _Route.of(factor, held)
        return self._routes[key]

    def incoming(self, variable: str, state: State, *, skip: tuple[str, ...] = ()) -> Naturals:
        """The product of the mean-field messages of all factors that touch a variable, but those in ``skip``."""
        out = flat(self.graph.variables[variable])
        for factor in self.graph.touching[variable]:
            if factor.name in skip:
                continue
            for port in factor.holding(variable):
                message = self.message(factor, port, state)
                out = tuple(a + b for a, b in zip(out, message, strict=True))
        return out

    def energy(self, factor: Factor, state: State) -> float:
        """The average energy of a factor over all its plates, in nats; of a matched one its Bethe term."""
        q, port = self.inbox(factor, state), matched_port(factor)
        if port is not None and factor.name in state.matched:
            return self.sum(factor, bethe_term(factor, port, q, state.matched[factor.name]))
        return self.sum(factor, factor.node.average_energy(q))

    def sum(self, factor: Factor, quantity: Quantity) -> float:
        """A scalar quantity over a factor's plates, summed where the factor is present."""
        n = len(factor.plates)
        summed = total(_padded(quantity, n, 0), tuple(range(n)), factor.sizes, self.masks[factor.name], 0)
        return float(summed.reshape(()))

    def instances(self, factor: Factor, held: Variable) -> Values:
        """How many present factors touch each element of a variable through this port, over its base plates."""
        ones = np.ones((1,) * len(factor.plates))
        return self.reduce_one(factor, held, ones, 0)


@dataclass(frozen=True)
class _Route:
    """From a factor's plates to those of a variable: which are summed, which stay, in which order."""

    axes: Axes
    kept: tuple[int, ...]
    order: tuple[int, ...] | None
    sizes: tuple[int, ...]
    source: int

    @classmethod
    def of(cls, factor: Factor, held: Variable) -> "_Route":
        names = [p.name for p in factor.plates]
        places = [names.index(p.name) for p in held.plates]
        order = tuple(sorted(places).index(k) for k in places)
        return cls(
            axes=tuple(k for k in range(len(names)) if k not in places),
            kept=tuple(sorted(places)),
            order=None if list(order) == sorted(order) else order,
            sizes=tuple(p.size for p in held.plates),
            source=-1 if held.gather is None else held.root.plates.index(held.gather.source),
        )


def _padded(quantity: Quantity, plates: int, event_ndim: int) -> Quantity:
    """An array that leaves out leading plates gets them with size 1."""
    if isinstance(quantity, Term):
        return quantity
    array = np.asarray(quantity, dtype=np.float64)
    return array.reshape((1,) * (plates + event_ndim - array.ndim) + array.shape)


def _mask(factor: Factor) -> Values | None:
    present = [
        align(held.present, held, factor.plates)
        for held in factor.ports.values()
        if isinstance(held, Known) and held.present is not None
    ]
    if not present:
        return None
    together = present[0]
    for mask in present[1:]:
        together = together & mask
    return together.astype(np.float64)


def _aligned_joint(factor: Factor, variable: str, joint: NormalGamma) -> NormalGamma:
    held = next(h for h in factor.ports.values() if isinstance(h, Variable) and h.name == variable)
    spread = {name: align(array, held, factor.plates) for name, array in joint.arrays().items()}
    return NormalGamma._trusted(**spread)
