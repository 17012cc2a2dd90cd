"""``infer``: a model, data and constraints in; marginals, predictions and the Bethe free energy out."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from inference.blocks.fixed import Fixed
from inference.blocks.gaussian import GaussianCluster
from inference.building import Model
from inference.callbacks import Callback
from inference.constraints import Constraint
from inference.descent import Run, Runner, Settings
from inference.distributions import Distribution, MvNormal, Normal
from inference.errors import SpecError
from inference.initial import initial_state
from inference.naming import meant
from inference.program import State
from inference.result import Result
from inference.schedule import Plan, make_plan


def infer(  # noqa: PLR0913 (message_passing 7 names them)
    model: Model,
    *,
    data: Mapping[str, Any] | None = None,
    constraints: Iterable[Constraint] | Constraint = (),
    init: Mapping[str, Distribution] | None = None,
    iterations: int = 50,
    rtol: float = 1e-7,
    atol: float = 1e-9,
    free_energy: bool | Literal["blocks"] = True,
    returnvars: Literal["all"] | Sequence[str] = "all",
    keep: Literal["last", "each"] = "last",
    callbacks: Iterable[Callback] = (),
    damping: float | Mapping[str, float] = 1.0,
    order: Sequence[str] | None = None,
    restarts: int = 1,
    seed: int | None = None,
    on_error: Literal["raise", "return"] = "raise",
) -> Result:
    """Minimise the Bethe free energy of a model by block coordinate descent (message_passing 1.7, 3).

    F = sum_factors (U - sum_clusters H) + sum_variables (degree - 1) H, in nats; on a tree of exact messages it is
    minus the log evidence.

    Parameters
    ----------
    model : what ``@model`` made
    data : its arguments by name; NaN, None or a mask mark what is missing and is to be predicted
    constraints : ``MeanField()``, ``Structured(("w", "z"))``, ``BeliefPropagation()``, ``Form``, ``Fixed`` or strings
        such as ``"q(w,z)q(tau)"``; what they do not mention is joint where an exact rule exists
    init : a start for some variables; the others start at the forward message of their own factor
    iterations, rtol, atol : at most so many; converged when F changed by at most ``atol + rtol |F|`` twice in a row
    free_energy : compute it each iteration, after every block (``"blocks"``), or not at all
    returnvars : the variables whose marginals are returned
    keep : ``"each"`` keeps the marginals of every iteration in ``result.history``
    damping : the step on natural parameters, 1 being the full one; a number, or one a variable. An exact Gaussian
        cluster is always solved as a whole
    order : variables to be updated first
    restarts, seed : that many starts, all but the first from draws; the lowest F is returned. Without a seed the draws
        differ from call to call; the seed used is in the result
    on_error : ``"return"`` gives the last complete state with the error in ``result.error``

    Raises
    ------
    DataError, SpecError, NoRule, ImproperMarginal : each names what was given, what is allowed and what to do.

    Example
    -------
    >>> from inference.building import model
    >>> @model
    ... def level(m, y):
    ...     mu = m.normal("mu", mean=0.0, precision=1.0)
    ...     m.normal("y", mean=mu, precision=1.0, observed=y, plates=m.plate("row", len(y)))
    >>> infer(level, data=dict(y=[3.0])).posteriors["mu"]
    Normal(mean=1.5, var=0.5)
    """
    if not isinstance(model, Model):
        raise SpecError(f"infer takes a model made by @model, not {model!r}")
    if restarts < 1 or iterations < 1:
        raise SpecError(f"restarts and iterations are 1 or more, not {restarts} and {iterations}")
    said = [constraints] if isinstance(constraints, str) or not isinstance(constraints, Iterable) else list(constraints)
    graph = model.build(data)
    plan = make_plan(graph, said, order)
    _check_damping(damping, plan)
    settings = Settings(iterations, rtol, atol, damping, free_energy)
    start = initial_state(plan.program, init)
    used = np.random.SeedSequence().entropy if seed is None and restarts > 1 else seed
    starts = [start, *_scattered(start, plan, restarts - 1, used)]
    runs = [Runner(plan, settings, callbacks, keep=keep == "each").run(s, on_error=on_error) for s in starts]
    return Result.of(model, graph, plan, _best(runs), said, returnvars, used)


def _check_damping(damping: float | Mapping[str, float], plan: Plan) -> None:
    """Refuse a step for a variable that is not there, or whose cluster is solved as a whole."""
    variables, named = plan.program.graph.variables, damping if isinstance(damping, Mapping) else {}
    unknown = [v for v in named if v not in variables]
    if unknown:
        raise SpecError(f"damping names {meant(unknown, variables)}; the variables are {', '.join(variables)}")
    for block in plan.blocks:
        whole = [v for v in named if v in block.variables and named[v] < 1.0]
        if whole and isinstance(block, GaussianCluster) and not block.links:
            raise SpecError(f"damping names {whole}, but {block.name} is an exact cluster and solved as a whole")


def _scattered(start: State, plan: Plan, count: int, seed: Any) -> list[State]:
    """Starts whose Gaussian means are draws of the first start."""
    rng = np.random.default_rng(seed)
    fixed = {v for b in plan.blocks if isinstance(b, Fixed) for v in b.variables}
    out = []
    for _ in range(count):
        moved: dict[str, Distribution] = {}
        for name, q in start.marginals.items():
            if isinstance(q, Normal) and name not in fixed:
                moved[name] = Normal(q.sample(1, rng)[0], q.var())
            elif isinstance(q, MvNormal) and name not in fixed:
                moved[name] = MvNormal(q.sample(1, rng)[0], diag=q.var())
        out.append(start.updated(marginals=moved))
    return out


def _best(runs: list[Run]) -> Run:
    """The run that ended lowest; runs without a free energy count last."""
    return min(
        runs, key=lambda r: r.free_energy[-1] if len(r.free_energy) and np.isfinite(r.free_energy[-1]) else np.inf
    )
