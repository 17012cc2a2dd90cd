"""A network with two random weight layers is no tree of factors: two rows close a cycle (theory 13.2)."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import multivariate_normal

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if
from corners.claims._problems import Problem, drawn_problem

Place = tuple[str, tuple[int, ...]]
Edge = tuple[Place, Place]


@CLAIMS.register("feed_forward_is_a_tree")
@dataclass(frozen=True)
class FeedForwardIsATree(Claim):
    """A feed-forward network is a tree of factors only while a single weight vector is random.

    The graphs are those of the message-passing runtime, its plates rolled out. Cycles are counted by edges, nodes and
    components, and found by stripping leaves. On the last layer alone the runtime's free energy is the evidence.
    """

    name: ClassVar[str] = "feed_forward_is_a_tree"
    statement: ClassVar[str] = "The factor graph of a feed-forward network without skip connections is a tree."
    formula: ClassVar[str] = "independent cycles = edges - nodes + components; two random layers, N rows: N - 1"
    claimed_in: ClassVar[str] = "paper v1, tree of a feed-forward network; theory 13.2"
    expected: ClassVar[str] = FAILS
    takes_data: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "FeedForwardIsATree":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Five rows of three features; two rows are enough for a cycle."""
        return drawn_problem("5 rows, 3 features", rows=5, width=3, seed=11)

    def check(self, problem: Problem) -> Finding:
        """Both graphs, rolled out and counted two ways, and what the runtime makes of them."""
        one, two, whole = (_edges(problem, rows, layers=2) for rows in (1, 2, problem.rows))
        star = _edges(problem, problem.rows, layers=1)
        loop = _stripped(two)
        excess, odd = _excess(problem), abs(_cycles(whole) - problem.rows + 1)
        margins = (
            at_least("two random layers, two rows: independent cycles", float(_cycles(two)), 1.0),
            at_least("two random layers, two rows: nodes on the cycle", float(len(_places(loop))), 8.0),
            at_most("two random layers: cycles, from one a row but the first", float(odd), 0.0),
            at_most("two random layers, one row: independent cycles", float(_cycles(one)), 0.0),
            at_most("last layer alone: independent cycles", float(_cycles(star)), 0.0),
            at_most("last layer alone: edges left when leaves are stripped", float(len(_stripped(star))), 0.0),
            at_most("edges rolled out, from the degrees that the runtime reports", float(_miscounted(problem)), 0.0),
            at_most("last layer alone: |free energy + log Z|", excess, 1e-9, "nats"),
        )
        sentence = (
            f"two random layers on two rows are {len(two)} edges on {len(_places(two))} nodes with the cycle "
            f"{_walk(loop)}, on {problem.rows} rows {_cycles(whole)} cycles; with the last layer alone random it "
            f"is a star, and the runtime's free energy is -log Z to {max(excess, 1e-16):.0e} nats"
        )
        return fails_if(margins, sentence)


def _model(layers: int) -> Any:
    """A linear network with one hidden unit: both layers random, or the last one on known features."""
    import inference as P

    @P.model
    def network(m, x, y, *, alpha, tau):
        rows = m.plate("row", len(y))
        w1 = m.mvnormal("w1", mean=0.0, precision=alpha, dim=x.shape[1])
        hidden = m.softdot("h", w1, x, tau, plates=rows)
        w2 = m.normal("w2", mean=0.0, precision=alpha)
        m.softdot("y", w2, hidden, tau, observed=y, plates=rows)

    @P.model
    def last_layer(m, x, y, *, alpha, tau):
        w = m.mvnormal("w", mean=0.0, precision=alpha, dim=x.shape[1])
        m.softdot("y", w, x, tau, observed=y, plates=m.plate("row", len(y)))

    return network if layers == 2 else last_layer


def _data(problem: Problem, rows: int) -> dict[str, Any]:
    known = {"alpha": problem.prior_precision, "tau": 1.0 / problem.noise_var}
    return {"x": problem.features[:rows], "y": problem.targets[:rows], **known}


def _edges(problem: Problem, rows: int, *, layers: int) -> list[Edge]:
    """Factor and latent variable of every edge, one for every repetition of a plate."""
    import inference as P

    view = P.graph(_model(layers), _data(problem, rows))
    edges = []
    for node in view.nodes:
        for place in itertools.product(*(range(view.plates[name]) for name in node.plates)):
            at = dict(zip(node.plates, place, strict=True))
            held = [view.variables[name] for name in node.ports.values()]
            edges += [
                ((f"factor {node.name}", place), (v.name, tuple(at[name] for name in v.plates)))
                for v in held
                if not v.known
            ]
    return edges


def _miscounted(problem: Problem) -> int:
    """How many edges the rolled-out network has more or less than its variables have degrees."""
    import inference as P

    view = P.graph(_model(2), _data(problem, problem.rows))
    latent = [v for v in view.variables.values() if not v.known]
    degrees = sum(v.degree[0] * int(np.prod([view.plates[name] for name in v.plates])) for v in latent)
    return abs(int(degrees) - len(_edges(problem, problem.rows, layers=2)))


def _places(edges: Iterable[Edge]) -> list[Place]:
    return sorted({place for edge in edges for place in edge})


def _cycles(edges: list[Edge]) -> int:
    """``E - V + C``, zero for a tree."""
    index = {place: k for k, place in enumerate(_places(edges))}
    ends = np.array([[index[a], index[b]] for a, b in edges])
    table = coo_array((np.ones(len(edges)), (ends[:, 0], ends[:, 1])), shape=(len(index), len(index)))
    components = connected_components(table, directed=False)[0]
    return len(edges) - len(index) + int(components)


def _stripped(edges: list[Edge]) -> list[Edge]:
    """The edges left after leaves are taken off until there are none: those of cycles and between them."""
    while True:
        ends = [place for edge in edges for place in edge]
        kept = [edge for edge in edges if all(ends.count(place) > 1 for place in edge)]
        if len(kept) == len(edges):
            return kept
        edges = kept


def _walk(loop: list[Edge]) -> str:
    """The variables of a cycle in order, closed."""
    if not loop:
        return "none"
    left, here = loop[1:], loop[0][1]
    walk = [here]
    while left:
        edge = next((edge for edge in left if here in edge), left[0])
        left = [each for each in left if each != edge]
        here = edge[0] if edge[1] == here else edge[1]
        walk += [here] if not here[0].startswith("factor") else []
    return " - ".join(name + "".join(f"[{k}]" for k in place) for name, place in [*walk, walk[0]])


def _excess(problem: Problem) -> float:
    """How far the runtime's free energy of the last layer is from the dense ``-log N(y; 0, σ²I + ΨΨᵀ/α)``."""
    import inference as P

    found = P.infer(_model(1), data=_data(problem, problem.rows))
    dense: Any = problem.features @ problem.features.T / problem.prior_precision + problem.noise_var * np.eye(
        problem.rows
    )
    assert found.free_energy is not None
    return abs(float(found.free_energy[-1] + multivariate_normal(cov=dense).logpdf(problem.targets)))
