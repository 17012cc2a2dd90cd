"""Drawing data from a model: ancestral simulation from its priors, or from the posteriors of its global variables."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from inference.building import Model
from inference.distributions import Distribution, NormalGamma
from inference.errors import SpecError
from inference.inbox import align
from inference.structure import Factor, Held, Known, Variable
from inference.types import Values


def simulate(
    model: Model,
    data: Mapping[str, Any],
    *,
    n: int | None = None,
    seed: int | np.random.Generator | None = None,
    posteriors: Mapping[str, Distribution] | None = None,
) -> dict[str, Values]:
    """Draw every variable and every observed output in the order the model wrote them.

    ``data`` give the shapes; the values of observed outputs are not used. With ``posteriors`` (those of a result) the
    variables named there are drawn from these, independently: a posterior predictive draw under the factorised
    posterior. Without, it is a prior predictive draw.

    Returns
    -------
    the draws by name: variables, and observed outputs under the name of their factor; with ``n`` a leading
    axis of draws

    Raises
    ------
    SpecError : two factors make one variable, so that the model is no product of conditionals, or a letter has no
        ``sample``.

    Example
    -------
    >>> from inference.building import missing, model
    >>> @model
    ... def level(m, y):
    ...     mu = m.normal("mu", mean=0.0, precision=1.0)
    ...     m.normal("y", mean=mu, precision=1e12, observed=y, plates=m.plate("row", len(y)))
    >>> draw = simulate(level, dict(y=missing(3)), seed=1)
    >>> bool(np.allclose(draw["y"], draw["mu"], atol=1e-4))
    True
    """
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
    graph = model.build(data)
    given = {v: q for v, q in (posteriors or {}).items() if v in graph.variables}
    draws = [_one(graph.factors, given, graph.variables, rng) for _ in range(1 if n is None else n)]
    return draws[0] if n is None else {name: np.stack([d[name] for d in draws]) for name in draws[0]}


def _one(
    factors: tuple[Factor, ...],
    given: Mapping[str, Distribution],
    variables: Mapping[str, Variable],
    rng: np.random.Generator,
) -> dict[str, Values]:
    values: dict[str, Values] = {v: _from_posterior(q, rng) for v, q in given.items()}
    out: dict[str, Values] = {}
    for factor in factors:
        made = _outputs(factor)
        if all(isinstance(h, Variable) and h.name in given for h in made.values()):
            continue
        _demand_fresh(factor, made, values)
        _draw_factor(factor, made, values, out, rng)
    return {**{v: values[v] for v in variables}, **out}


def _outputs(factor: Factor) -> dict[str, Held]:
    return {p: factor.ports[p] for p in factor.node.outputs}


def _demand_fresh(factor: Factor, made: Mapping[str, Held], values: Mapping[str, Values]) -> None:
    again = [h.name for h in made.values() if isinstance(h, Variable) and h.gather is None and h.name in values]
    if again:
        raise SpecError(
            f"{factor.name!r} says something more about {again}, which another factor makes; a model that multiplies "
            "opinions on a variable has no ancestral draw: give its posterior, or leave the factor out to simulate"
        )


def _draw_factor(
    factor: Factor,
    made: Mapping[str, Held],
    values: dict[str, Values],
    out: dict[str, Values],
    rng: np.random.Generator,
) -> None:
    held = next(iter(made.values()))
    if isinstance(held, Variable) and held.chain is None and held.root.chain is not None:
        _draw_chain(factor, held, values, rng)
        return
    inputs = {p: _aligned(h, values, factor) for p, h in factor.ports.items() if p not in made}
    drawn = factor.node.sample(inputs, factor.sizes, rng)
    for port, target in made.items():
        array = np.broadcast_to(drawn[port], (*factor.sizes, *target.event))
        moved = _own_order(array, target, factor)
        if isinstance(target, Known):
            out[factor.name] = moved
        else:
            values[target.name] = moved


def _draw_chain(factor: Factor, held: Variable, values: dict[str, Values], rng: np.random.Generator) -> None:
    """A start fills the first place; a step fills the others one after the other."""
    root = held.root
    chain = values.setdefault(root.name, np.full(root.shape, np.nan))
    axis = len(root.plates) - 1
    if held.gather is not None and held.gather.target is None:
        drawn = factor.node.sample({}, factor.sizes, rng)[factor.node.outputs[0]]
        chain[(slice(None),) * axis + (0,)] = drawn
        return
    lead = (slice(None),) * axis
    for t in range(1, root.plates[-1].size):
        inputs = {p: _aligned(h, values, factor) for p, h in factor.ports.items() if p not in factor.node.outputs}
        at = {p: a if a.shape[axis] == 1 else a[(*lead, slice(t - 1, t))] for p, a in inputs.items()}
        drawn = factor.node.sample(at, (*factor.sizes[:axis], 1), rng)[factor.node.outputs[0]]
        chain[(*lead, t)] = drawn[(*lead, 0)]


def _aligned(held: Held, values: Mapping[str, Values], factor: Factor) -> Values:
    array = held.filled if isinstance(held, Known) else values[held.name]
    return align(array, held, factor.plates)


def _own_order(array: Values, held: Held, factor: Factor) -> Values:
    names = [p.name for p in factor.plates]
    order = [names.index(p.name) for p in held.plates]
    return array.transpose(*order, *range(len(order), array.ndim)) if order else array


def _from_posterior(q: Distribution, rng: np.random.Generator) -> Values:
    drawn = q.sample(1, rng)
    return drawn[0][0] if isinstance(q, NormalGamma) else drawn[0]
