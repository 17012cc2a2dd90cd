"""A graph view in Graphviz's language: plates as boxes, factors square, variables round, known ones grey."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inference.introspection import GraphView

PALETTE = ("#cfe2f3", "#d9ead3", "#fff2cc", "#f4cccc", "#d9d2e9", "#fce5cd", "#d0e0e3", "#ead1dc")
"""The colours of structured clusters, in turn; a variable that is by itself stays white."""

Plates = frozenset[str]


def dot(view: "GraphView") -> str:
    """The text of an undirected graph; ``dot -Tsvg`` draws it.

    A box is a plate (or several), drawn inside the box of those of its plates that something is repeated over alone.

    Example
    -------
    >>> from inference.introspection import GraphView
    >>> print(dot(GraphView("empty", {}, (), {}, (), ())))
    graph "empty" {
      node [fontname="Helvetica"];
      edge [fontname="Helvetica", fontsize=9];
    }
    """
    inside: dict[Plates, list[str]] = {}
    for plates, line in _vertices(view):
        inside.setdefault(frozenset(plates), []).append(line)
    edges = [f"  {_quoted(f'factor {e.node}')} -- {_quoted(e.variable)} [label={_quoted(e.port)}];" for e in view.edges]
    head = [
        f"graph {_quoted(view.name)} {{",
        '  node [fontname="Helvetica"];',
        '  edge [fontname="Helvetica", fontsize=9];',
    ]
    return "\n".join([*head, *_boxes(view, frozenset(), inside, "  "), *edges, "}"])


def _vertices(view: "GraphView") -> Iterator[tuple[tuple[str, ...], str]]:
    colours = _colours(view)
    for name, v in view.variables.items():
        fill = "#d9d9d9" if v.known else colours.get(name, "white")
        yield v.plates, f'{_quoted(name)} [label={_quoted(v.text)}, shape=ellipse, style=filled, fillcolor="{fill}"];'
    for n in view.nodes:
        yield n.plates, f"{_quoted(f'factor {n.name}')} [label={_quoted(n.letter)}, shape=box];"


def _colours(view: "GraphView") -> dict[str, str]:
    joint = [cluster for cluster in view.clusters if len(cluster) > 1]
    return {v: PALETTE[k % len(PALETTE)] for k, cluster in enumerate(joint) for v in cluster}


def _boxes(view: "GraphView", at: Plates, inside: dict[Plates, list[str]], indent: str) -> Iterator[str]:
    """The lines of one box: its own vertices, then the boxes inside it."""
    yield from (indent + line for line in inside.get(at, []))
    for plates in inside:
        if plates and _parent(plates, inside) == at:
            added = [f"{name} = {size}" for name, size in view.plates.items() if name in plates - at]
            yield f"{indent}subgraph {_quoted('cluster ' + ','.join(sorted(plates)))} {{"
            yield f"{indent}  label={_quoted(', '.join(added))};"
            yield from _boxes(view, plates, inside, indent + "  ")
            yield f"{indent}}}"


def _parent(plates: Plates, inside: dict[Plates, list[str]]) -> Plates:
    """The largest box that this one fits into; the first of several."""
    return max((other for other in inside if other < plates), key=len, default=frozenset())


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
