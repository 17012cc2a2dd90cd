"""Where inference starts: every variable at the forward message of its own factor, in the order they were written."""

from collections.abc import Mapping

from inference.blocks.fixed import Fixed
from inference.distributions import Distribution, NormalGamma
from inference.errors import SpecError
from inference.program import Program, State
from inference.structure import Factor, Variable


def initial_state(program: Program, init: Mapping[str, Distribution] | None = None) -> State:
    """The state before the first update.

    Raises
    ------
    SpecError : ``init`` names what is not there or has the wrong shape, or variables have no default; all are listed.
    """
    given = dict(init or {})
    graph = program.graph
    unknown = [v for v in given if v not in graph.variables]
    if unknown:
        raise SpecError(f"init names {unknown}; the variables are {', '.join(graph.variables)}")
    state = State({})
    stuck: list[str] = []
    fixed = {b.variables[0]: b.distribution for b in program.blocks if isinstance(b, Fixed)}
    for name, variable in graph.variables.items():
        chosen = fixed.get(name, given.get(name))
        if chosen is not None:
            state = state.updated(marginals={name: fitted(variable, chosen)})
            continue
        try:
            state = _default(program, variable, state)
        except (LookupError, ValueError, ArithmeticError) as error:
            stuck.append(f"{name} ({error})")
    if stuck:
        raise SpecError(f"no default start for {'; '.join(stuck)}; pass init={{name: distribution}} for these")
    return state


def _default(program: Program, variable: Variable, state: State) -> State:
    factor = program.graph.maker(variable.name)
    forward = factor.node.forward(
        factor.holding(variable.name)[0], program.inbox(factor, state, without=factor.node.outputs)
    )
    if isinstance(forward, NormalGamma):
        return _default_pair(variable, factor, forward, state)
    if variable.chain is not None:
        forward = forward.broadcast_to(tuple(p.size for p in variable.plates[:-1]))[..., None]
    return state.updated(marginals={variable.name: fitted(variable, forward)})


def _default_pair(variable: Variable, factor: Factor, forward: NormalGamma, state: State) -> State:
    w, tau = (held.name for p in ("w", "tau") if isinstance(held := factor.ports[p], Variable))
    joint = forward.broadcast_to(tuple(p.size for p in variable.plates))
    return state.updated(marginals={w: joint, tau: joint.marginal_precision()}, joints={(w, tau): joint})


def fitted(variable: Variable, distribution: Distribution) -> Distribution:
    """A distribution broadcast to a variable's plates.

    Raises
    ------
    SpecError : its event is another, or its batch does not broadcast to the plates.

    Example
    -------
    >>> from inference.distributions import Normal
    >>> from inference.structure import Plate
    >>> fitted(Variable("x", "real", (Plate("row", 3),)), Normal(0.0, 1.0)).batch_shape
    (3,)
    """
    plates = tuple(p.size for p in variable.plates)
    if tuple(distribution.event_shape) != variable.event and not isinstance(distribution, NormalGamma):
        raise SpecError(
            f"{variable.name!r} has event shape {variable.event}, the distribution given for it {distribution.event_shape}"
        )
    try:
        return distribution.broadcast_to(plates)
    except ValueError:
        named = ", ".join(f"{p.name}={p.size}" for p in variable.plates)
        raise SpecError(
            f"{variable.name!r} is over plates ({named}); the distribution given for it has batch shape "
            f"{distribution.batch_shape}"
        ) from None
