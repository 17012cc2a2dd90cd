"""New rows under frozen global marginals: the reduced graph, and its local variables inferred.

A variable that lives on the plates of the new rows is local, every other one is global and frozen at its posterior. A
factor whose inputs are all known or frozen becomes a prior, its forward message, which keeps the weights' uncertainty;
the local variables are then inferred as always (message_passing 4.6).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from inference.building import Model
from inference.constraints import Constraint, Fixed, Form, MeanField, Structured, parse
from inference.descent import Runner, Settings
from inference.distributions import Distribution, NormalGamma
from inference.errors import SpecError
from inference.initial import fitted, initial_state
from inference.nodes.priors import TYPES, Prior
from inference.program import Program, State
from inference.schedule import make_plan
from inference.schema import Schema
from inference.structure import Factor, FactorGraph, Known, Variable


@dataclass(frozen=True, eq=False)
class Trained:
    """What predicting needs of a result, fresh or loaded."""

    model: Model
    schema: Schema
    marginals: Mapping[str, Distribution]
    joints: Mapping[tuple[str, str], NormalGamma]
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """The model on new data, with what is frozen."""

    graph: FactorGraph
    frozen: Mapping[str, Distribution]
    joints: Mapping[tuple[str, str], NormalGamma]
    constraints: tuple[Any, ...]


def problem(trained: Trained, data: Mapping[str, Any], rows: str | None = None) -> Problem:
    """Build the model on new rows; observed data that are left out are missing, constants are those of training.

    Raises
    ------
    DataError : an argument that new rows need was left out.
    SpecError : ``rows`` names no plate, or the new data have global variables that training did not have.
    """
    free = tuple(a for a in trained.model.arguments if a not in trained.model.bound)
    graph = trained.model.build(trained.schema.complete(free, data))
    local = _row_plates(graph, data, rows)
    names = {v for v, x in graph.variables.items() if not {p.name for p in x.plates} & local}
    strangers = sorted(v for v in names if v not in trained.marginals)
    if strangers:
        raise SpecError(f"{strangers} are global variables of the new data that training did not have")
    frozen = {v: fitted(graph.variables[v], trained.marginals[v]) for v in names}
    joints = {pair: q for pair, q in trained.joints.items() if set(pair) <= names}
    return Problem(graph, frozen, joints, tuple(trained.constraints))


def _row_plates(graph: FactorGraph, data: Mapping[str, Any], rows: str | None) -> frozenset[str]:
    """The plates that the given data and what is to be predicted share: those of the new rows."""
    if rows is not None:
        if rows not in graph.plates:
            raise SpecError(f"rows names no plate; the plates are {', '.join(graph.plates)}")
        return frozenset({rows})
    held = {h.label: h for f in graph.factors for h in f.ports.values() if isinstance(h, Known)}
    given = [frozenset(p.name for p in held[name].plates) for name in data if name in held and held[name].plates]
    wanted = [
        frozenset(p.name for p in h.plates) for h in held.values() if h.present is not None and not h.present.any()
    ]
    shared = frozenset.intersection(*given) if given else frozenset()
    shared = frozenset.intersection(shared, *wanted) or shared
    if not shared:
        raise SpecError(
            "the new data share no plate, so it is not clear which variables are local to the new rows; pass rows= "
            f"with the name of their plate, one of {', '.join(graph.plates)}"
        )
    return shared


@dataclass(frozen=True, eq=False)
class Reduced:
    """The graph of the local variables, what is fixed in it, and the normal-gamma pairs that its factors read."""

    graph: FactorGraph
    fixed: tuple[Fixed, ...]
    local: frozenset[str]
    pairs: Mapping[str, tuple[str, str]]
    joints: Mapping[tuple[str, str], NormalGamma]


def reduced(problem: Problem, frozen: Mapping[str, Distribution]) -> Reduced:
    """Factors that no local variable touches go, those whose inputs are frozen become priors."""
    whole = problem.graph
    reader = Program(whole, ())
    reader.joints = {f.name: pair for pair in problem.joints for f in whole.factors if set(pair) <= set(f.variables)}
    start = State(dict(frozen), joints={} if _split_pairs(problem, frozen) else problem.joints)
    factors = tuple(_as_prior(f, reader, start, frozen) for f in whole.factors if _matters(f, frozen))
    touched = {v for f in factors for v in f.variables}
    variables = {v: x for v, x in whole.variables.items() if v in touched}
    small = FactorGraph(whole.name, whole.plates, variables, factors, whole.data)
    fixed = tuple(Fixed(v, frozen[v]) for v in variables if v in frozen)
    pairs = {f.name: reader.joints[f.name] for f in factors if f.name in reader.joints}
    return Reduced(small, fixed, frozenset(variables) - frozenset(frozen), pairs, start.joints)


def settle(problem: Problem, frozen: Mapping[str, Distribution], iterations: int) -> tuple[Program, State]:
    """Infer the local variables under frozen marginals; the program and the state it ends in."""
    small = reduced(problem, frozen)
    plan = make_plan(small.graph, [*restricted(problem.constraints, set(small.local)), *small.fixed], quiet=True)
    state = initial_state(plan.program)
    if small.local:
        settings = Settings(1, free_energy=False) if plan.single_sweep else Settings(iterations)
        state = Runner(plan, settings).run(state).state
    plan.program.joints = dict(small.pairs)
    return plan.program, state.updated(joints=small.joints)


def restricted(constraints: tuple[Any, ...], names: set[str]) -> list[Any]:
    """The constraints as far as they speak of these variables."""
    out: list[Any] = []
    for constraint in constraints:
        said = parse(constraint) if isinstance(constraint, str) else constraint
        if isinstance(said, Structured):
            clusters = [kept for c in said.clusters if (kept := tuple(v for v in c if v in names))]
            out += [Structured(*clusters)] if clusters else []
        elif isinstance(said, MeanField) and said.variables:
            kept = [v for v in said.variables if v in names]
            out += [MeanField(*kept)] if kept else []
        elif not isinstance(said, Form | Fixed) or said.variable in names:
            out.append(said)
    return out


def _split_pairs(problem: Problem, frozen: Mapping[str, Distribution]) -> bool:
    return any(not isinstance(frozen[w], NormalGamma) for w, _ in problem.joints)


def _matters(factor: Factor, frozen: Mapping[str, Distribution]) -> bool:
    """Whether a factor touches a local variable, or predicts something."""
    predicts = any(isinstance(h, Known) and h.present is not None for h in factor.ports.values())
    return predicts or not set(factor.variables) <= set(frozen)


def _as_prior(factor: Factor, reader: Program, state: State, frozen: Mapping[str, Distribution]) -> Factor:
    """The factor as a prior on its output, its forward message, where its other ports are known or frozen."""
    outputs = [p for p in factor.node.outputs if isinstance(factor.ports[p], Variable)]
    local = [v for v in factor.variables if v not in frozen]
    if len(outputs) != 1 or factor.node.kind != "stochastic" or isinstance(factor.node, Prior):
        return factor
    held = factor.ports[outputs[0]]
    if not isinstance(held, Variable) or local != [held.name] or held.gather is not None:
        return factor
    forward = factor.node.forward(outputs[0], reader.inbox(factor, state, without=factor.node.outputs))
    if type(forward) not in TYPES:
        return factor
    return replace(factor, node=Prior(forward.broadcast_to(factor.sizes)), ports={"x": held})
