"""Situations a letter is checked in: which ports are known, what marginals the others have, which of them are joint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from inference.checking.draws import length, random_marginal, random_moments
from inference.checking.quadrature import Axis, marginal_axis, normal_gamma_axis, normal_points
from inference.distributions import (
    Beta,
    Distribution,
    Gamma,
    LogGamma,
    LogNormal,
    MvNormal,
    Normal,
    NormalGamma,
    PointMass,
)
from inference.inbox import Inbox, Pair, read
from inference.nodes._base import Linear, Node
from inference.structure import Factor, Held, Known, Plate, Variable
from inference.types import Values

ROWS = Plate("row", 2)
BUDGET = 200_000  # points of one grid

Events = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Place:
    """A factor over two rows with random marginals at its latent ports; some ports vary over the rows, some do not.

    ``group`` are two ports with one joint marginal: a Gaussian (``joint_mean``, ``joint_covariance``, stacked in the
    order of the group) or a normal-gamma.
    """

    factor: Factor
    marginals: Mapping[str, Distribution]
    group: tuple[str, ...] = ()
    joint_mean: Values | None = None
    joint_covariance: Values | None = None
    joint: NormalGamma | None = None
    pair: Pair | None = None

    @property
    def node(self) -> Node:
        """The letter with its constants."""
        return self.factor.node

    @property
    def latent(self) -> list[str]:
        """The ports that are variables."""
        return list(self.marginals)

    @property
    def given(self) -> str:
        """What each port holds, in words."""
        kinds = {p: _said(q) for p, q in self.marginals.items()}
        known = [p for p in self.factor.ports if p not in kinds]
        parts = [f"{p} ~ {kind}" for p, kind in kinds.items() if p not in self.group]
        parts += [f"({', '.join(self.group)}) joint"] * bool(self.group)
        return ", ".join(parts + [f"{p} known" for p in known]) or "nothing"

    def inbox(self, without: tuple[str, ...] = ()) -> Inbox:
        """What the engine would hand to a rule here."""
        kept: dict[str, dict[Any, Values]] = {port: {} for port in self.factor.ports}
        return read(self.factor, self.marginals, kept, self.pair, self.joint, without)

    def axes(
        self, row: int, skip: Sequence[str], coarse: bool, points: int = 1, only: Sequence[str] | None = None
    ) -> list[Axis]:
        """A grid over all ports but ``skip``, which have ``points``; ports outside ``only`` are put at their mean."""
        order, widen = self._order(skip, only, points) - int(coarse), 1.25 if coarse else 1.0
        out = [] if not self.group or set(self.group) & set(skip) else [self._group_axis(row, order, widen)]
        for port, held in self.factor.ports.items():
            if port in skip or port in self.group:
                continue
            if isinstance(held, Known):
                out.append(Axis({port: _entry(held.values, held, row)[None]}, np.ones(1)))
                continue
            q = _entry(self.marginals[port], held, row)
            fixed = only is not None and port not in only
            out.append(marginal_axis(port, PointMass(q.mean()) if fixed else q, order, widen))
        return out

    def with_pair(self, linear: Linear) -> "Place":
        """With the joint moments of output and mapped input that the engine derives from the coefficient."""
        assert self.joint_mean is not None and self.joint_covariance is not None
        k = self.joint_mean.shape[-1] - length(self.factor.ports[linear.input].event)
        ordered = self.group == (linear.output, linear.input)
        first = np.arange(k) if ordered else np.arange(self.joint_mean.shape[-1])[-k:]
        second = np.setdiff1d(np.arange(self.joint_mean.shape[-1]), first)
        C = linear.coefficient
        C = C if linear.vector_output else C[..., None, :] if linear.vector_input else C[..., None, None]
        between = self.joint_covariance[:, first[:, None], second]
        mean = np.matmul(C, self.joint_mean[:, second, None])[..., 0]
        var = C @ self.joint_covariance[:, second[:, None], second] @ C.swapaxes(-1, -2)
        cross = between @ C.swapaxes(-1, -2)
        if not linear.vector_output:
            mean, var, cross, between = mean[..., 0], var[..., 0, 0], cross[..., 0, 0], between[..., 0, :]
            between = between if linear.vector_input else between[..., 0]
        ports, nothing = (linear.output, linear.input), np.zeros(ROWS.size)
        return replace(self, pair=Pair(ports, mean, var, cross, nothing, lambda: between))

    def _group_axis(self, row: int, order: int, widen: float) -> Axis:
        if self.joint is not None:
            scalar = not self.factor.ports[self.group[0]].event
            return normal_gamma_axis((self.group[0], self.group[1]), self.joint[row], scalar, order, widen)
        assert self.joint_mean is not None and self.joint_covariance is not None
        points, weights = normal_points(self.joint_mean[row], self.joint_covariance[row], order)
        values, start = {}, 0
        for port in self.group:
            event = self.factor.ports[port].event
            stop = start + length(event)
            values[port] = points[:, start:stop] if event else points[:, start]
            start = stop
        return Axis(values, weights)

    def _order(self, skip: Sequence[str], only: Sequence[str] | None, points: int) -> int:
        """As many Gaussian points a coordinate as the budget allows; three are exact for a quartic."""
        dims = 0
        for port, q in self.marginals.items():
            if port in skip or (only is not None and port not in only):
                continue
            if isinstance(q, Gamma | Beta | LogGamma):
                points *= 45
            elif isinstance(q, Normal | MvNormal | LogNormal | NormalGamma):
                dims += length(self.factor.ports[port].event)
        return max(3, min(24, int((BUDGET / points) ** (1.0 / max(dims, 1)))))


def apart(node: Node, events: Events, known: Mapping[str, Values], kinds: Mapping[str, str], rng: Any) -> Place:
    """A place where every latent port has a marginal of its own; ``kinds`` names the ports of a special form."""
    ports: dict[str, Held] = {}
    marginals: dict[str, Distribution] = {}
    for k, (port, event) in enumerate(events.items()):
        plates = (ROWS,) if (k + len(known)) % 2 == 0 else ()
        shape = tuple(p.size for p in plates)
        kind = node.port_types()[port]
        if port in known:
            values = known[port] if plates else np.asarray(known[port][0])
            ports[port] = Known(port, values, plates, event, kind)
        else:
            ports[port] = Variable(port, kind, plates, event)
            marginals[port] = random_marginal(kinds.get(port, kind), shape, event, rng)
    return Place(Factor("checked", node, ports, (ROWS,)), marginals)


def together(place: Place, group: tuple[str, str], rng: Any) -> Place:
    """The same place with a random joint marginal of two ports, over all rows."""
    ports = dict(place.factor.ports)
    events = [ports[p].event for p in group]
    for port in group:
        ports[port] = Variable(port, ports[port].type, (ROWS,), ports[port].event)
    factor = replace(place.factor, ports=ports)
    sizes = [length(event) for event in events]
    if ports[group[1]].type == "positive":
        mean, covariance = random_moments((ROWS.size,), sizes[0], rng)
        shape = rng.uniform(4.0, 7.0, ROWS.size)
        joint = NormalGamma(mean, np.linalg.inv(covariance), shape, shape * rng.uniform(0.6, 1.5, ROWS.size))
        marginals = {**place.marginals, group[0]: joint, group[1]: joint.marginal_precision()}
        return replace(place, factor=factor, marginals=marginals, group=group, joint=joint)
    mean, covariance = random_moments((ROWS.size,), sum(sizes), rng)
    marginals = dict(place.marginals)
    for port, event, start in zip(group, events, (0, sizes[0]), strict=True):
        part = slice(start, start + length(event))
        if event:
            marginals[port] = MvNormal(mean[:, part], cov=covariance[:, part, part])
        else:
            marginals[port] = Normal(mean[:, start], covariance[:, start, start])
    return replace(place, factor=factor, marginals=marginals, group=group, joint_mean=mean, joint_covariance=covariance)


def known_subsets(latent: Sequence[str]) -> list[tuple[str, ...]]:
    """Every choice of ports to be known, none first.

    Example
    -------
    >>> known_subsets(["x", "y"])
    [(), ('y',), ('x',), ('x', 'y')]
    """
    return [
        tuple(p for p, k in zip(latent, keep, strict=True) if k) for keep in product((False, True), repeat=len(latent))
    ]


def _entry(batched: Any, held: Held, row: int) -> Any:
    return batched[row] if held.plates else batched


def _said(q: Distribution) -> str:
    return "diagonal MvNormal" if isinstance(q, MvNormal) and q.is_diagonal else type(q).__name__
