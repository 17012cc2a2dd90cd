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
from inference.blocks.matched import MatchedCluster, matched_factors
from inference.blocks.normal_gamma import make_pair
from inference.blocks.tree import find_tree
from inference.constraints import Constraint, Reading, read_constraints
from inference.errors import DualProjection, NoRule, SpecError
from inference.naming import meant
from inference.nodes.exp_link import ExpLink
from inference.nodes.normal_gamma import NormalGamma
from inference.partition import Findings, partition
from inference.program import Program
from inference.structure import FactorGraph


@dataclass(frozen=True, eq=False)
class Plan:
    """The blocks in the order they are updated, with the reasons.

    ``start`` is the same graph under mean field, from which structured clusters with exp links are started.
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
        """Whether one sweep of full steps finds the posterior: a single cluster, no exp link and nothing matched."""
        linked = any(isinstance(f.node, ExpLink) for f in self.program.graph.factors)
        return len(self.blocks) <= 1 and not linked and not any(isinstance(b, MatchedCluster) for b in self.blocks)

    @property
    def single_sweep(self) -> bool:
        """Whether one sweep of full steps ends the run: one block is not fixed, and its update is in closed form."""
        moving = [b for b in self.blocks if not isinstance(b, Fixed)]
        repeats = any(isinstance(b, MatchedCluster) or (isinstance(b, GaussianCluster) and b.links) for b in moving)
        return len(moving) <= 1 and not repeats

    def explain(self, variable: str | None = None) -> str:
        """Which rule sends each message into the block of a variable, or into all blocks.

        Raises
        ------
        SpecError : no block holds the variable.
        """
        chosen = [b for b in self.blocks if variable is None or variable in b.variables]
        if not chosen and variable is not None:
            known = [v for b in self.blocks for v in b.variables]
            raise SpecError(f"no block holds {meant([variable], known)}; the plan is {self.factorisation}")
        lines: list[str] = []
        for block in chosen:
            lines += [block.name, *(f"  {line}" for line in block.explain(self.program))]
        return "\n".join(lines)

    def __repr__(self) -> str:
        blocks = [f"  {b.name}: {_said(b, self.program.graph)}" for b in self.blocks]
        return "\n".join([f"Plan {self.factorisation}", *blocks, *(f"  {note}" for note in self.notes)])


def make_plan(
    graph: FactorGraph,
    constraints: Iterable[Constraint] | Constraint = (),
    order: Sequence[str] | None = None,
    *,
    quiet: bool = False,
) -> Plan:
    """Group the latent variables of a graph into blocks and order them.

    Variables that no constraint mentions are joined where an exact rule exists. ``order`` names one variable of each
    block to be updated first, in that order. ``quiet`` keeps the warnings back, for a graph that was planned before.

    Raises
    ------
    NoRule : a constraint asks for a cluster or a form that no rule computes.
    SpecError : constraints or order name what is not there.

    Warns
    -----
    LoopyBP : a Gaussian cluster with loops is too large to be solved as one.
    DualProjection : the published projection was asked for; its free energy bounds nothing.
    """
    reading, findings = read_constraints(constraints, graph), Findings()
    clusters = partition(graph, reading, findings)
    blocks = _ordered([_block(graph, c, reading) for c in clusters], graph, order)
    apart = _mean_field(graph, reading, order) if _needs_start(blocks) else None
    dual = [b.z for b in blocks if isinstance(b, LinkBlock) and b.form == "dual"]
    for doubt in [] if quiet else [*findings.doubts, *_dual_doubt(dual)]:
        warnings.warn(doubt, stacklevel=3)
    return Plan(Program(graph, blocks), tuple(findings.notes), None if apart is None else Program(graph, apart))


def _dual_doubt(variables: Sequence[str]) -> list[Warning]:
    if not variables:
        return []
    text = (
        f"q({', '.join(variables)}) uses the published dual projection: its two marginals are no push-forwards of each "
        "other and its free energy bounds nothing; it is reported as free_energy_diagnostic"
    )
    return [DualProjection(text)]


def _needs_start(blocks: Sequence[Block]) -> bool:
    return any(isinstance(b, GaussianCluster) and b.links and len(b.cluster) > 1 for b in blocks)


def _mean_field(graph: FactorGraph, reading: Reading, order: Sequence[str] | None) -> list[Block]:
    apart = Reading(reading.apart, (), reading.forms, reading.fixed, all_apart=True)
    return _ordered([_block(graph, c, apart) for c in partition(graph, apart, Findings())], graph, order)


def _block(graph: FactorGraph, cluster: frozenset[str], reading: Reading) -> Block:
    names = [v for v in graph.variables if v in cluster]
    if len(names) == 1 and names[0] in reading.fixed:
        return Fixed(names[0], reading.fixed[names[0]])
    if any(graph.variables[v].type != "real" for v in names):
        if len(names) > 1:
            return _pair(graph, names, reading)
        return Conjugate(names[0], _form(graph, names[0], reading))
    links = {v: found for v in names if (found := links_of(graph, v))}
    matched = {v: found for v in names if (found := matched_factors(graph, v))}
    if len(names) == 1 and graph.variables[names[0]].chain is None and not matched:
        form = _form(graph, names[0], reading, linked=bool(links))
        return LinkBlock(names[0], links[names[0]], form) if links else Conjugate(names[0], form)
    for v in names:
        _form(graph, v, reading, linked=v in links, alone=False)
    tree = find_tree(graph, cluster)
    joint = DenseCluster(graph, tuple(names), links) if tree is None else TreeCluster(tree, tuple(names), links)
    return MatchedCluster(joint, matched) if matched else joint


def _pair(graph: FactorGraph, names: list[str], reading: Reading) -> Block:
    maker, said = graph.maker(names[0]), ", ".join(names)
    spoken = sorted(v for v in names if v in reading.fixed or v in reading.forms)
    if spoken:
        raise NoRule(f"q({said}) is one normal-gamma marginal; {spoken} cannot be fixed or given a form by itself")
    if not isinstance(maker.node, NormalGamma) or set(maker.variables) != set(names):
        raise NoRule(
            f"q({said}) joins a precision to other variables, for which the prior m.normal_gamma((w, tau), ...) "
            f"alone has a rule; {maker.name!r} is a {maker.node.letter}. Keep them apart: "
            f"{''.join(f'q({v})' for v in names)}"
        )
    return make_pair(graph, maker)


def _form(graph: FactorGraph, name: str, reading: Reading, *, linked: bool = False, alone: bool = True) -> str:
    """The form of a marginal as its block calls it; ``exact`` where its own family is what was asked for."""
    variable = graph.variables[name]
    own = {"real": "gaussian", "positive": "gamma"}.get(variable.type, "")
    form = reading.forms.get(name, own)
    simple = ["diagonal"] * bool(variable.event) + ["point_mass"] * bool(own)
    allowed = [own, *(["gamma", "dual"] if linked else simple if variable.chain is None else [])] if alone else [own]
    if form not in allowed:
        raise NoRule(
            f"q({name}) cannot have the form {form!r} here; forms with a rule: "
            f"{', '.join(filter(None, allowed)) or 'none'}"
            + ("" if alone else f". A form that simplifies a variable needs it by itself: MeanField({name!r})")
        )
    return form if linked or form != own else "exact"


def _said(block: Block, graph: FactorGraph) -> str:
    """How a block is solved, in words."""
    if isinstance(block, MatchedCluster):
        sending = ", ".join(f.name for some in block.matched.values() for f in some)
        return f"{_said(block.cluster, graph)}; {sending} by moment matching (expectation propagation)"
    if isinstance(block, GaussianCluster):
        size = sum(graph.variables[v].size for v in block.cluster)
        shape = "one pass up and down its tree" if isinstance(block, TreeCluster) else "dense"
        return f"joint Gaussian of {size} dimensions, {shape}" + (
            ", with sites at its exp links" if block.links else ""
        )
    if isinstance(block, LinkBlock):
        return f"exp link, {block.form} marginal, every edge solved exactly"
    if isinstance(block, Conjugate):
        return "product of its messages" + ("" if block.form == "exact" else f", as {block.form}")
    return "fixed" if isinstance(block, Fixed) else "normal-gamma pair, product of its joint messages"


def _ordered(blocks: list[Block], graph: FactorGraph, order: Sequence[str] | None) -> list[Block]:
    """Links first, then Gaussians, then precisions: every block sees the freshest statistics (section 3)."""
    rank = {v: float(k) for k, v in enumerate(order or ())}
    unknown = [v for v in rank if v not in graph.variables]
    if unknown:
        raise SpecError(
            f"order names {meant(unknown, graph.variables)}; the variables are {', '.join(graph.variables)}"
        )

    def key(block: Block) -> tuple[float, int]:
        asked = min((float(rank[v]) for v in block.variables if v in rank), default=float("inf"))
        linked = any(isinstance(f.node, ExpLink) for v in block.variables for f in graph.touching[v])
        real = any(graph.variables[v].type == "real" for v in block.variables)
        return asked, 0 if linked else 1 if real else 2

    return sorted(blocks, key=key)
