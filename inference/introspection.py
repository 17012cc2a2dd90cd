"""A model as a graph to look at: nodes, edges, types, plates, degrees and clusters, as text or for Graphviz.

A plate stands for all its repetitions, so the view of a million edges is as small as that of one.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inference.building import Model
from inference.constraints import Constraint
from inference.drawing import dot
from inference.errors import SpecError
from inference.program import Program
from inference.schedule import make_plan
from inference.structure import Factor, FactorGraph, Held, Known, Plate, Variable


@dataclass(frozen=True)
class NodeView:
    """A factor: its name, letter and kind, its plates, what each port holds, and its constants as they are written."""

    name: str
    letter: str
    kind: str
    plates: tuple[str, ...]
    ports: Mapping[str, str]
    outputs: tuple[str, ...]
    constants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class VariableView:
    """A latent variable or a known value.

    ``degree`` is how many factors touch one element of it, least and most over its plates; what is missing counts as
    absent. ``text`` is how it is written: the name, or the value of a known number.
    """

    name: str
    type: str
    plates: tuple[str, ...]
    event: tuple[int, ...]
    known: bool
    degree: tuple[int, int] = (0, 0)
    missing: int = 0
    text: str = ""


@dataclass(frozen=True)
class EdgeView:
    """A port of a factor and the variable it holds; ``indexed`` where the variable is seen through an index."""

    node: str
    port: str
    variable: str
    type: str
    indexed: bool = False


@dataclass(frozen=True)
class GraphView:
    """What :func:`graph` returns; ``clusters`` are the blocks of the plan, by the variables they hold.

    ``print`` it to read it; ``to_dot`` writes it for Graphviz.
    """

    name: str
    plates: Mapping[str, int]
    nodes: tuple[NodeView, ...]
    variables: Mapping[str, VariableView]
    edges: tuple[EdgeView, ...]
    clusters: tuple[tuple[str, ...], ...]
    n_edges: int = field(default=0)

    @property
    def types(self) -> dict[str, str]:
        """The type of each latent variable."""
        return {v.name: v.type for v in self.variables.values() if not v.known}

    @property
    def degrees(self) -> dict[str, tuple[int, int]]:
        """The least and the largest degree of each latent variable."""
        return {v.name: v.degree for v in self.variables.values() if not v.known}

    def to_dot(self) -> str:
        """The graph in Graphviz's language: square factors, round variables, known ones grey, clusters coloured."""
        return dot(self)

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def graph(
    model: Model | FactorGraph,
    data: Mapping[str, Any] | None = None,
    constraints: Iterable[Constraint] | Constraint = (),
) -> GraphView:
    """Build a model on data and show its structure and the clusters that inference would use; nothing is inferred.

    Parameters
    ----------
    model : what ``@model`` made, or the ``graph`` of a result
    data : its arguments by name
    constraints : as :func:`inference.infer` takes them

    Raises
    ------
    DataError, SpecError, NoRule : as :func:`inference.infer` raises them.

    Example
    -------
    >>> from inference.building import model
    >>> @model
    ... def level(m, y):
    ...     mu = m.normal("mu", mean=0.0, precision=1.0)
    ...     m.normal("y", mean=mu, precision=1.0, observed=y, plates=m.plate("row", len(y)))
    >>> print(graph(level, dict(y=[3.0, 4.0])))
    level: 2 factors, 1 latent variable; plates row=2
      mu ~ normal(mean=0, precision=1)  real, degree 3
      for row:
        [y] ~ normal(mean=mu, precision=1)
    clusters: q(mu)
    """
    if not isinstance(model, Model | FactorGraph):
        raise SpecError(f"graph takes a model made by @model, or the graph of a result, not {model!r}")
    built = model.build(data) if isinstance(model, Model) else model
    plan = make_plan(built, constraints, quiet=True)
    return GraphView(
        built.name,
        {name: p.size for name, p in built.plates.items()},
        tuple(_node(f) for f in built.factors),
        _variables(built, plan.program),
        tuple(_edge(f, port, held) for f in built.factors for port, held in f.ports.items()),
        tuple(b.variables for b in plan.blocks),
        sum(int(np.prod(f.sizes, dtype=np.int64)) * len(f.ports) for f in built.factors),
    )


def _node(factor: Factor) -> NodeView:
    ports = {port: _name(held) for port, held in factor.ports.items()}
    node = factor.node
    return NodeView(
        factor.name, node.letter, node.kind, _names(factor.plates), ports, tuple(node.outputs), _constants(node)
    )


def _constants(node: Any) -> dict[str, str]:
    """The constants that were given: numbers as they are, arrays by their shape."""
    fields = dataclasses.fields(node) if dataclasses.is_dataclass(node) else ()
    given = {f.name: getattr(node, f.name) for f in fields if f.init and getattr(node, f.name) is not f.default}
    return {name: _written(value) for name, value in given.items()}


def _written(value: Any) -> str:
    if isinstance(value, int | float):
        return f"{value:.4g}"
    return "x".join(map(str, value.shape)) + " array" if isinstance(value, np.ndarray) else repr(value)


def _edge(factor: Factor, port: str, held: Held) -> EdgeView:
    indexed = isinstance(held, Variable) and held.gather is not None
    return EdgeView(factor.name, port, _name(held), factor.node.port_types()[port], indexed)


def _name(held: Held) -> str:
    """A variable by its name, a known value by its label; a known value may not pass for a variable."""
    if isinstance(held, Variable):
        return held.name
    return f"[{held.label}]"


def _variables(built: FactorGraph, program: Program) -> dict[str, VariableView]:
    out = {v: _latent(variable, built, program) for v, variable in built.variables.items()}
    for factor in built.factors:
        for held in factor.ports.values():
            if isinstance(held, Known):
                out.setdefault(_name(held), _known(held))
    return out


def _latent(variable: Variable, built: FactorGraph, program: Program) -> VariableView:
    count = np.zeros(tuple(p.size for p in variable.plates))
    for factor in built.touching[variable.name]:
        for port in factor.holding(variable.name):
            held = factor.ports[port]
            assert isinstance(held, Variable)
            count = count + program.instances(factor, held)
    degree = (int(count.min()), int(count.max())) if count.size else (0, 0)
    return VariableView(
        variable.name, variable.type, _names(variable.plates), variable.event, False, degree, 0, variable.name
    )


def _known(held: Known) -> VariableView:
    gone = 0 if held.present is None else int(held.present.size - held.present.sum())
    number = not held.plates and held.values.size and np.all(held.values == held.values.flat[0])
    text = f"{float(held.values.flat[0]):.4g}" if number else f"[{held.label}]"
    return VariableView(f"[{held.label}]", held.type, _names(held.plates), held.event, True, (0, 0), gone, text)


def _names(plates: tuple[Plate, ...]) -> tuple[str, ...]:
    return tuple(p.name for p in plates)


def _lines(view: GraphView) -> Iterator[str]:
    latent = [v for v in view.variables.values() if not v.known]
    sizes = ", ".join(f"{name}={size}" for name, size in view.plates.items())
    yield (
        f"{view.name}: {_counted(len(view.nodes), 'factor')}, {_counted(len(latent), 'latent variable')}"
        + (f"; plates {sizes}" if sizes else "")
    )
    rows = [row for plates in dict.fromkeys(n.plates for n in view.nodes) for row in _block_lines(view, plates)]
    width = min(max((len(left) for left, right in rows if right), default=0), 60)
    for left, right in rows:
        yield f"{left.ljust(width)}  {right}".rstrip() if right else left
    yield "clusters: " + ("".join(f"q({', '.join(c)})" for c in view.clusters) or "none, nothing is latent")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _block_lines(view: GraphView, plates: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if plates:
        yield f"  for {', '.join(plates)}:", ""
    indent = "    " if plates else "  "
    for node in (n for n in view.nodes if n.plates == plates):
        yield indent + _statement(view, node), _remark(view, node)


def _statement(view: GraphView, node: NodeView) -> str:
    def said(port: str) -> str:
        held = node.ports[port]
        indexed = any(e.indexed for e in view.edges if (e.node, e.port) == (node.name, port))
        return view.variables[held].text + ("[.]" if indexed else "")

    made = ", ".join(said(port) for port in node.outputs)
    given = [text if (text := said(p)) == p else f"{p}={text}" for p in node.ports if p not in node.outputs]
    given += [f"{name}={text}" for name, text in node.constants.items()]
    sign = "=" if node.kind == "deterministic" else "~"
    return f"{made} {sign} {node.letter}({', '.join(given)})"


def _remark(view: GraphView, node: NodeView) -> str:
    parts: list[str] = []
    for port in node.outputs:
        held = view.variables[node.ports[port]]
        if held.known:
            parts += [f"{held.missing} missing"] * bool(held.missing)
        elif node.name == _maker(view, held.name):
            low, high = held.degree
            event = f" of {'x'.join(map(str, held.event))}" if held.event else ""
            parts.append(f"{held.type}{event}, degree {low if low == high else f'{low}..{high}'}")
    return "; ".join(parts)


def _maker(view: GraphView, variable: str) -> str:
    return next(n.name for n in view.nodes if variable in (n.ports[p] for p in n.outputs))
