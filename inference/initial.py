"""Where inference starts: every variable at the forward message of its own factor, in the order they were written."""

from collections.abc import Callable, Mapping

import numpy as np

from inference.blocks.fixed import Fixed
from inference.constraints import images_of
from inference.distributions import Distribution, Normal, NormalGamma, PointMass
from inference.errors import SpecError
from inference.naming import meant
from inference.program import Program, State
from inference.structure import Factor, Variable
from inference.types import Array

_SUPPORTS = {
    "real": ("real", "point", "joint"),
    "positive": ("positive", "point"),
    "probability": ("unit", "point"),
    "binary": ("binary", "point"),
}
_INSIDE: dict[str, Callable[[Array], bool]] = {
    "real": lambda x: bool(np.all(np.isfinite(x))),
    "positive": lambda x: bool(np.all(x > 0)),
    "probability": lambda x: bool(np.all((x > 0) & (x < 1))),
    "binary": lambda x: bool(np.all((x == 0) | (x == 1))),
}


def initial_state(program: Program, init: Mapping[str, Distribution] | None = None) -> State:
    """The state before the first update.

    Raises
    ------
    SpecError : ``init`` names what is not there or does not fit, or variables have no default; all are listed.
    """
    given, graph = dict(init or {}), program.graph
    unknown = [v for v in given if v not in graph.variables]
    if unknown:
        raise SpecError(f"init names {meant(unknown, graph.variables)}; the variables are {', '.join(graph.variables)}")
    images = images_of(graph)
    for name in images.keys() & given.keys():
        raise SpecError(f"init names {name!r}, which is e^{images[name]}; start {images[name]!r} in its place")
    given |= {b.variables[0]: b.distribution for b in program.blocks if isinstance(b, Fixed)}
    state, stuck = State({}), {}
    for name, variable in graph.variables.items():
        if name in given:
            state = state.updated(marginals={name: fitted(variable, given[name])})
            continue
        try:
            state = _default(program, variable, state)
        except (LookupError, ValueError, ArithmeticError) as error:
            stuck[name] = _reason(program.graph.maker(name), stuck, error)
    if stuck:
        said = "; ".join(f"{name} ({reason})" for name, reason in stuck.items())
        raise SpecError(f"no default start for {said}. Pass init={{name: distribution}} for these")
    return state


def _reason(maker: Factor, stuck: Mapping[str, str], error: Exception) -> str:
    waits = [v for v in maker.variables if v in stuck]
    return f"it follows from {', '.join(waits)}" if waits else str(error)


def _default(program: Program, variable: Variable, state: State) -> State:
    factor = program.graph.maker(variable.name)
    forward = factor.node.forward(
        factor.holding(variable.name)[0], program.inbox(factor, state, without=factor.node.outputs)
    )
    if isinstance(forward, NormalGamma):
        return _default_pair(variable, factor, forward, state)
    if isinstance(forward, Normal) and variable.chain is None:
        forward = _with_others(program, variable, factor, forward, state)
    if variable.chain is not None:
        forward = forward.broadcast_to(tuple(p.size for p in variable.plates[:-1]))[..., None]
    return state.updated(marginals={variable.name: fitted(variable, forward)})


def _with_others(program: Program, variable: Variable, maker: Factor, forward: Normal, state: State) -> Normal:
    """The product with the forward messages of all other factors whose output the variable is and whose inputs started.

    A start from one of two opinions alone can be wider than the variable will ever be, and its e^z overflow.
    """
    mean, precision = forward.mean(), 1.0 / forward.var()
    for factor in program.graph.touching[variable.name]:
        (port,) = factor.holding(variable.name)[:1]
        started = all(v in state.marginals for v in factor.variables if v != variable.name)
        if factor is maker or port not in factor.node.outputs or factor.plates != variable.plates or not started:
            continue
        other = factor.node.forward(port, program.inbox(factor, state, without=factor.node.outputs))
        if isinstance(other, Normal):
            together = precision + 1.0 / other.var()
            mean, precision = (precision * mean + other.mean() / other.var()) / together, together
    return Normal(*np.broadcast_arrays(mean, 1.0 / precision))


def _default_pair(variable: Variable, factor: Factor, forward: NormalGamma, state: State) -> State:
    w, tau = (held.name for p in ("w", "tau") if isinstance(held := factor.ports[p], Variable))
    joint = forward.broadcast_to(tuple(p.size for p in variable.plates))
    return state.updated(marginals={w: joint, tau: joint.marginal_precision()}, joints={(w, tau): joint})


def fitted(variable: Variable, distribution: Distribution) -> Distribution:
    """A distribution broadcast to a variable's plates.

    Raises
    ------
    SpecError : it is none, lives on another support, has another event, or its batch does not fit the plates.

    Example
    -------
    >>> from inference.distributions import Normal
    >>> from inference.structure import Plate
    >>> fitted(Variable("x", "real", (Plate("row", 3),)), Normal(0.0, 1.0)).batch_shape
    (3,)
    """
    if not isinstance(distribution, Distribution):
        raise SpecError(
            f"{variable.name!r} takes a distribution, a known value being P.PointMass; got {distribution!r}"
        )
    outside = isinstance(distribution, PointMass) and not _INSIDE[variable.type](distribution.value)
    if distribution.support not in _SUPPORTS[variable.type] or outside:
        raise SpecError(f"{variable.name!r} is {variable.type}; {distribution!r} is not on that support")
    if tuple(distribution.event_shape) != variable.event and not isinstance(distribution, NormalGamma):
        raise SpecError(
            f"{variable.name!r} has event shape {variable.event}, the distribution given for it "
            f"{tuple(distribution.event_shape)}"
        )
    try:
        return distribution.broadcast_to(tuple(p.size for p in variable.plates))
    except ValueError:
        named = ", ".join(f"{p.name}={p.size}" for p in variable.plates) or "none"
        raise SpecError(
            f"{variable.name!r} is over plates ({named}); the distribution given for it has batch shape "
            f"{distribution.batch_shape}"
        ) from None
