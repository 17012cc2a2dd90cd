"""From constraints to blocks: which variables are updated together, by which rule, in which order."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from inference.blocks._base import Block
from inference.blocks.conjugate import Conjugate
from inference.blocks.dense import DenseCluster
from inference.blocks.fixed import Fixed
from inference.blocks.gaussian import GaussianCluster
from inference.blocks.gaussian_tree import TreeCluster
from inference.blocks.links import LinkBlock, links_of
from inference.blocks.normal_gamma import make_pair
from inference.blocks.tree import find_tree, inner_factors
from inference.constraints import Constraint, Reading, read_constraints
from inference.errors import DualProjection, LoopyBP, NoRule, SpecError
from inference.nodes.exp_link import ExpLink
from inference.nodes.normal_gamma import NormalGamma
from inference.program import Program
from inference.structure import FactorGraph

DENSE_LIMIT = 2000


@dataclass(frozen=True, eq=False)
class Plan:
    """The blocks in the order they are updated, with the reasons.

    ``blocks_apart`` is the same graph under mean field, from which structured clusters with exp links are started.
    """

    program: Program
    notes: tuple[str, ...] = ()
    start: Program | None = field(default=None, repr=False)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """In order of update."""
        return self.program.blocks

    @property
    def factorisation(self) -> str:
        """The approximate posterior, written out."""
        return "".join(b.name for b in self.blocks)

    @property
    def exact(self) -> bool:
        """Whether one sweep finds the exact posterior: a single cluster and no exp link."""
        return len(self.blocks) == 1 and not any(isinstance(f.node, ExpLink) for f in self.program.graph.factors)

    def explain(self, variable: str | None = None) -> str:
        """Which rule sends each message into the block of a variable, or into all blocks.

        Raises
        ------
        SpecError : no block holds the variable.
        """
        chosen = [b for b in self.blocks if variable is None or variable in b.variables]
        if not chosen:
            raise SpecError(f"no block holds {variable!r}; the plan is {self.factorisation}")
        lines: list[str] = []
        for block in chosen:
            lines += [block.name, *(f"  {line}" for line in block.explain(self.program))]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return "\n".join([f"Plan {self.factorisation}", *(f"  {note}" for note in self.notes)])


def make_plan(graph: FactorGraph, constraints: Iterable[Constraint] = (), order: Sequence[str] | None = None) -> Plan:
    """Group the latent variables of a graph into blocks and order them.

    Variables that no constraint mentions are joined where an exact rule exists. ``order`` names one variable of each
    block to be updated first, in that order.

    Raises
    ------
    NoRule : a constraint asks for a cluster or a form that no rule computes.
    SpecError : constraints or order name what is not there.
    """
    reading = read_constraints(constraints, graph)
    notes: list[str] = []
    clusters = _clusters(graph, reading, notes)
    blocks = _ordered([_block(graph, c, reading, notes) for c in clusters], graph, order)
    apart = _mean_field(graph, reading, order) if _needs_start(blocks) else None
    return Plan(Program(graph, blocks), tuple(notes), None if apart is None else Program(graph, apart))


def _needs_start(blocks: Sequence[Block]) -> bool:
    return any(isinstance(b, GaussianCluster) and b.links and len(b.cluster) > 1 for b in blocks)


def _mean_field(graph: FactorGraph, reading: Reading, order: Sequence[str] | None) -> list[Block]:
    apart = Reading(reading.apart, (), reading.forms, reading.fixed, all_apart=True)
    notes: list[str] = []
    return _ordered([_block(graph, c, apart, notes) for c in _clusters(graph, apart, notes)], graph, order)


def _clusters(graph: FactorGraph, reading: Reading, notes: list[str]) -> list[frozenset[str]]:
    """A partition of the latent variables that are no image of an exp link."""
    images = {
        held.name for f in graph.factors if isinstance(f.node, ExpLink) and hasattr(held := f.ports["gamma"], "chain")
    }
    part = {v: frozenset({v}) for v in graph.variables if v not in images}
    for factor in graph.factors:
        if isinstance(factor.node, NormalGamma):
            _merge(part, frozenset(factor.variables))
    for cluster in reading.clusters:
        wanted = cluster - images
        _merge(part, wanted)
        _demand_rules(graph, part[next(iter(wanted))])
    if not reading.all_apart:
        _join_where_exact(graph, reading, part)
    clusters = list(dict.fromkeys(part[v] for v in graph.variables if v in part))
    return [c for cluster in clusters for c in _split_if_loopy(graph, cluster, reading, notes)]


def _merge(part: dict[str, frozenset[str]], together: frozenset[str]) -> None:
    merged = frozenset().union(*(part[v] for v in together))
    for v in merged:
        part[v] = merged


def _join_where_exact(graph: FactorGraph, reading: Reading, part: dict[str, frozenset[str]]) -> None:
    """Join Gaussian variables along every factor that has a rule for it, unless a constraint speaks of them."""
    bound = reading.apart | frozenset(reading.fixed) | {v for v, form in reading.forms.items() if form != "gaussian"}
    bound |= {v for cluster in reading.clusters for v in cluster}
    for factor in graph.factors:
        for ports in factor.node.couples:
            names = frozenset(h.name for p in ports if hasattr(h := factor.ports[p], "chain"))
            if len(names) != 2 or names & bound or any(graph.variables[v].type != "real" for v in names):
                continue
            merged = frozenset().union(*(part[v] for v in names))
            if _has_rules(graph, merged):
                _merge(part, names)


def _ports_in(graph: FactorGraph, cluster: frozenset[str]) -> list[tuple[object, frozenset[str]]]:
    return [(f, frozenset(p for v in cluster for p in f.holding(v))) for f in inner_factors(graph, cluster)]


def _has_rules(graph: FactorGraph, cluster: frozenset[str]) -> bool:
    return all(ports in factor.node.couples for factor, ports in _ports_in(graph, cluster))  # pyright: ignore


def _demand_rules(graph: FactorGraph, cluster: frozenset[str]) -> None:
    for factor, ports in _ports_in(graph, cluster):
        if ports not in factor.node.couples:  # pyright: ignore[reportAttributeAccessIssue]
            raise factor.node.no_rule(f"the joint of {sorted(ports)}", f"the cluster q({', '.join(sorted(cluster))})")  # pyright: ignore
    if not _connected(graph, cluster):
        raise NoRule(
            f"no factor joins the variables of q({', '.join(sorted(cluster))}); a cluster is made of variables that "
            "share factors: leave out the one that does not belong, or write q(a)q(b)"
        )


def _connected(graph: FactorGraph, cluster: frozenset[str]) -> bool:
    reached = {next(iter(cluster))}
    for _ in cluster:
        for factor in inner_factors(graph, cluster):
            names = factor.variables_in(cluster)
            reached |= names if names & reached else frozenset()
    return reached == cluster


def _split_if_loopy(
    graph: FactorGraph, cluster: frozenset[str], reading: Reading, notes: list[str]
) -> list[frozenset[str]]:
    if len(cluster) == 1 or any(graph.variables[v].type != "real" for v in cluster):
        return [cluster]
    if find_tree(graph, cluster) is not None:
        return [cluster]
    named, size = ", ".join(sorted(cluster)), sum(graph.variables[v].size for v in cluster)
    if reading.tree_demanded:
        raise NoRule(
            f"the linear factors among {named} make loops, and BeliefPropagation() is exact on trees only; leave it "
            "out to have them solved as one dense Gaussian, or keep them apart with MeanField()"
        )
    if size <= DENSE_LIMIT:
        notes.append(f"q({named}) has loops and is solved exactly as one dense Gaussian of {size} dimensions")
        return [cluster]
    text = (
        f"q({named}) has loops and {size} dimensions, more than {DENSE_LIMIT}; its variables are kept apart, so that the "
        "free energy stays a bound"
    )
    warnings.warn(text, LoopyBP, stacklevel=6)
    notes.append(text)
    return [frozenset({v}) for v in graph.variables if v in cluster]


def _block(graph: FactorGraph, cluster: frozenset[str], reading: Reading, notes: list[str]) -> Block:
    names = tuple(v for v in graph.variables if v in cluster)
    if len(names) == 1 and names[0] in reading.fixed:
        return Fixed(names[0], reading.fixed[names[0]])
    if any(graph.variables[v].type != "real" for v in names):
        if len(names) > 1:
            return make_pair(graph, graph.maker(names[0]))
        return Conjugate(names[0], _form(reading, names[0], ("point_mass",)))
    links = {v: found for v in names if (found := links_of(graph, v))}
    if len(names) == 1 and graph.variables[names[0]].chain is None:
        (name,) = names
        if links:
            return _link_block(name, links[name], reading)
        return Conjugate(name, _form(reading, name, ("diagonal", "point_mass")))
    for v in names:
        _form(reading, v, ("gaussian",) if v in links else ())
    tree = find_tree(graph, cluster)
    return DenseCluster(graph, names, links) if tree is None else TreeCluster(tree, names, links)


def _link_block(name: str, links: tuple, reading: Reading) -> LinkBlock:
    form = _form(reading, name, ("gaussian", "gamma", "dual"))
    if form == "dual":
        warnings.warn(
            f"q({name}) uses the published dual projection: its two marginals are no push-forwards of each other and its "
            "free energy bounds nothing; it is reported as free_energy_diagnostic",
            DualProjection,
            stacklevel=7,
        )
    return LinkBlock(name, links, "gaussian" if form == "exact" else form)


def _form(reading: Reading, variable: str, allowed: tuple[str, ...]) -> str:
    form = reading.forms.get(variable, "exact")
    if form != "exact" and form not in allowed:
        raise NoRule(
            f"q({variable}) cannot have the form {form!r} here; forms with a rule: {', '.join(allowed) or 'none'}. "
            f"A form that simplifies a variable needs it by itself: MeanField({variable!r})"
        )
    return form


def _ordered(blocks: list[Block], graph: FactorGraph, order: Sequence[str] | None) -> list[Block]:
    """Links first, then Gaussians, then precisions: every block sees the freshest statistics (section 3)."""
    rank = {v: k for k, v in enumerate(order or ())}
    unknown = [v for v in rank if v not in graph.variables]
    if unknown:
        raise SpecError(f"order names {unknown}; the variables are {', '.join(graph.variables)}")

    def key(block: Block) -> tuple[float, int]:
        asked = min((rank[v] for v in block.variables if v in rank), default=float("inf"))
        linked = any(isinstance(f.node, ExpLink) for v in block.variables for f in graph.touching[v])
        real = any(graph.variables[v].type == "real" for v in block.variables)
        return asked, 0 if linked else 1 if real else 2

    return sorted(blocks, key=key)
