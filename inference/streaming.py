"""Learning from data that come in pieces: yesterday's posterior is today's prior (message_passing 3).

Exact for linear-Gaussian models with known noise and for normal-gamma regression, where it equals the batch answer;
approximate otherwise. The prediction of a piece is made before the piece is learned from.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from inference.building import Model
from inference.constraints import Constraint
from inference.descent import Runner, Settings
from inference.distributions import Distribution, NormalGamma
from inference.errors import SpecError
from inference.families import marginal, naturals_of
from inference.frozen import Problem
from inference.initial import fitted, initial_state
from inference.modes import forward_products
from inference.nodes.normal_gamma import NormalGamma as NormalGammaNode
from inference.nodes.priors import Prior
from inference.prediction import Product
from inference.saving import restore_stream, save_stream
from inference.schedule import make_plan
from inference.structure import Factor, FactorGraph, Known

Beliefs = dict[str, Distribution]


@dataclass(frozen=True, eq=False)
class StepResult:
    """What one piece brought.

    ``predictive`` is the forward prediction of each observed datum before it was seen, ``logscore`` the sum of its log
    densities at what was then observed, in nats (cell by cell: for one row at a time they add up to the log evidence),
    ``posteriors`` the marginals after the piece, ``free_energy`` that of the piece, ``converged`` whether it settled.
    """

    predictive: Mapping[str, Distribution]
    logscore: float
    posteriors: Mapping[str, Distribution]
    free_energy: float
    converged: bool


class Stream:
    """Sequential inference with carried marginals.

    Parameters
    ----------
    model : the model of one piece; bind what does not change with ``model.bind(...)``
    carry : the global variables whose posterior becomes the next prior
    predict : the observed data to predict before each piece; all that are outputs of a factor by default
    forget : f in (0, 1]; carried natural parameters become f times themselves plus 1 - f times the first prior's
    iterations, constraints : for each piece, as in :func:`inference.infer`
    history : how many steps are kept

    Example
    -------
    >>> from inference.building import model
    >>> @model
    ... def level(m, y):
    ...     mu = m.normal("mu", mean=0.0, precision=1.0)
    ...     m.normal("y", mean=mu, precision=1.0, observed=y, plates=m.plate("row", len(y)))
    >>> stream = Stream(level, carry=["mu"])
    >>> stream.step(dict(y=[3.0])).posteriors["mu"]
    Normal(mean=1.5, var=0.5)
    """

    def __init__(
        self,
        model: Model,
        carry: Sequence[str],
        *,
        constraints: Iterable[Constraint] | Constraint = (),
        predict: Sequence[str] | None = None,
        forget: float = 1.0,
        iterations: int = 20,
        history: int = 100,
    ) -> None:
        if not 0.0 < forget <= 1.0:
            raise SpecError(f"forget is a factor in (0, 1], 1 forgetting nothing; got {forget}")
        if not carry:
            raise SpecError("carry names no variable; a stream without one learns nothing from piece to piece")
        self.model, self.carry, self.forget, self.iterations = model, tuple(carry), forget, iterations
        single = isinstance(constraints, str) or not isinstance(constraints, Iterable)
        several: Iterable[Any] = [constraints] if single else constraints  # pyright: ignore[reportAssignmentType]
        self.constraints: tuple[Any, ...] = tuple(several)
        self._predict = None if predict is None else tuple(predict)
        self._steps: deque[StepResult] = deque(maxlen=history)
        self._carried: Beliefs = {}
        self._first: Beliefs = {}
        self.n_steps = 0

    @property
    def posteriors(self) -> Mapping[str, Distribution]:
        """What is carried: the priors of the next piece."""
        return dict(self._carried)

    def history(self, maxlen: int | None = None) -> list[StepResult]:
        """The last steps, oldest first, at most ``maxlen`` of them."""
        steps = list(self._steps)
        return steps if maxlen is None else steps[max(0, len(steps) - maxlen) :]

    def step(self, chunk: Mapping[str, Any]) -> StepResult:
        """Predict a piece, then learn from it.

        Raises
        ------
        SpecError : a carried variable is not in the model, or is local to the rows of the piece.
        DataError, NoRule, ImproperMarginal : as in :func:`inference.infer`; the stream keeps its state.
        """
        graph = self.model.build(chunk)
        self._check(graph)
        seeded = _with_priors(graph, self._carried)
        plan = make_plan(seeded, self.constraints, quiet=self.n_steps > 0)
        start = initial_state(plan.program)
        beliefs = {v: start.marginals[v] for v in self.carry}
        joints = {pair: q for pair, q in start.joints.items() if set(pair) <= set(self.carry)}
        predictive, logscore = self._predictions(seeded, beliefs, joints)
        run = Runner(plan, Settings(self.iterations)).run(start)
        if not self._first:
            self._first = beliefs
        self._carried = {v: self._forgotten(graph, v, run.state.marginals[v]) for v in self.carry}
        found = {v: run.state.marginals[v] for v in graph.variables}
        step = StepResult(predictive, logscore, found, float(run.free_energy[-1]), run.converged)
        self._steps.append(step)
        self.n_steps += 1
        return step

    def save(self, path: str | Path) -> None:
        """Write what is carried to one file, without pickle."""
        save_stream(self, path)

    def restore(self, path: str | Path) -> "Stream":
        """Continue from a file that :meth:`save` wrote, with the same model and carry."""
        restore_stream(self, path)
        return self

    def _check(self, graph: FactorGraph) -> None:
        unknown = [v for v in self.carry if v not in graph.variables]
        if unknown:
            raise SpecError(f"carry names {unknown}; the variables are {', '.join(graph.variables)}")
        for v, q in self._carried.items():
            fitted(graph.variables[v], q)

    def _predictions(
        self, graph: FactorGraph, beliefs: Beliefs, joints: Mapping[tuple[str, str], NormalGamma]
    ) -> tuple[dict[str, Distribution], float]:
        observed = (
            _observed(graph)
            if self._predict is None
            else {v: h for v, h in _all_known(graph).items() if v in self._predict}
        )
        hidden = _hide(graph, observed)
        found = forward_products(Problem(hidden, beliefs, joints, self.constraints), self.iterations)
        wanted = {label: product for label, product in found.items() if label in observed}
        score = sum(_score(product, observed[label]) for label, product in wanted.items())
        return {label: product.narrowed() for label, product in wanted.items()}, float(score)

    def _forgotten(self, graph: FactorGraph, name: str, q: Distribution) -> Distribution:
        if self.forget == 1.0:
            return q
        if isinstance(q, NormalGamma) or name not in self._first:
            raise SpecError(
                f"forget < 1 works on natural parameters, which {name!r} ({type(q).__name__}) has none of here"
            )
        pairs = zip(naturals_of(q), naturals_of(self._first[name]), strict=True)
        return marginal(graph.variables[name], tuple(self.forget * a + (1.0 - self.forget) * b for a, b in pairs))


def _with_priors(graph: FactorGraph, carried: Beliefs) -> FactorGraph:
    """The graph with the carried marginals in place of the factors that made these variables."""
    if not carried:
        return graph
    factors = tuple(_reseeded(f, carried) for f in graph.factors)
    return replace(graph, factors=factors)


def _reseeded(factor: Factor, carried: Beliefs) -> Factor:
    made = [factor.ports[p] for p in factor.node.outputs]
    names = [h.name for h in made if not isinstance(h, Known)]
    if not names or names[0] not in carried:
        return factor
    q = carried[names[0]]
    if isinstance(factor.node, NormalGammaNode):
        if not isinstance(q, NormalGamma) or q.batch_shape:
            raise SpecError(
                f"the pair {names} is carried as one normal-gamma without plates; carry both of its variables"
            )
        carried_pair = q.arrays() | {"shape": float(q.shape), "rate": float(q.rate)}
        return replace(factor, node=replace(factor.node, **carried_pair))
    return replace(factor, node=Prior(q), ports={"x": made[0]})


def _all_known(graph: FactorGraph) -> dict[str, Known]:
    return {
        h.label: h for f in graph.factors for p, h in f.ports.items() if isinstance(h, Known) and p in f.node.may_miss
    }


def _observed(graph: FactorGraph) -> dict[str, Known]:
    """The data at output ports that can be predicted."""
    return {
        h.label: h for f in graph.factors for p, h in f.ports.items()
        if isinstance(h, Known) and p in f.node.outputs and p in f.node.may_miss
    }  # fmt: skip


def _hide(graph: FactorGraph, labels: Mapping[str, Known]) -> FactorGraph:
    """The graph with these data missing."""

    def hidden(held: Any) -> Any:
        known = isinstance(held, Known) and held.label in labels
        return replace(held, values=np.full(held.values.shape, np.nan)) if known else held

    factors = tuple(replace(f, ports={p: hidden(h) for p, h in f.ports.items()}) for f in graph.factors)
    return replace(graph, factors=factors)


def _score(product: Product, held: Known) -> float:
    logs = product.distribution.logpdf(held.filled)
    seen = product.said if held.present is None else product.said & held.present
    return float(np.sum(np.where(seen, logs, 0.0)))
