"""What inference returns: marginals, predictions, the free energy and how they were found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from inference.building import Model
from inference.constraints import Constraint
from inference.descent import Run
from inference.distributions import Distribution, NormalGamma
from inference.errors import SpecError
from inference.messages import Messages
from inference.modes import Predictor
from inference.prediction import predict_missing, products
from inference.program import State
from inference.saving import save, to_dict
from inference.schedule import Plan
from inference.schema import Schema
from inference.structure import FactorGraph
from inference.types import Array, Values


@dataclass(frozen=True, eq=False)
class Result(Predictor):
    """The outcome of :func:`inference.infer`.

    ``free_energy`` is one number an iteration, in nats, or None with the reason in ``free_energy_reason``; a dual
    projection leaves its trace in ``free_energy_diagnostic`` instead. ``free_energy_blocks`` are (block, F) after every
    update, where asked for. ``reason`` says in words why the run ended, ``plan.explain(name)`` which rules were used.
    """

    model: Model
    graph: FactorGraph = field(repr=False)
    plan: Plan
    state: State = field(repr=False)
    posteriors: Mapping[str, Distribution]
    free_energy: Array | None
    free_energy_reason: str
    free_energy_diagnostic: Array | None
    free_energy_blocks: tuple[tuple[str, float], ...]
    converged: bool
    n_iter: int
    reason: str
    timings: Mapping[str, float]
    constraints: tuple[Constraint, ...] = ()
    history: tuple[Mapping[str, Distribution], ...] = ()
    error: Exception | None = None
    seed: Any = None

    @classmethod
    def of(
        cls,
        model: Model,
        graph: FactorGraph,
        plan: Plan,
        run: Run,
        constraints: Sequence[Constraint],
        returnvars: str | Sequence[str],
        seed: Any,
    ) -> "Result":
        """Put a run into words."""
        wanted = list(graph.variables) if returnvars == "all" else list(returnvars)
        unknown = [v for v in wanted if v not in graph.variables]
        if unknown:
            raise SpecError(f"returnvars names {unknown}; the variables are {', '.join(graph.variables)}")
        dual = any(getattr(b, "form", "") == "dual" for b in plan.blocks)
        computed = bool(len(run.free_energy)) and not np.isnan(run.free_energy).any()
        reason = "" if computed else "it was not computed"
        if dual:
            reason = "a dual projection has no free energy that bounds anything; see free_energy_diagnostic"
        return cls(
            model, graph, plan, run.state,
            posteriors={v: run.state.marginals[v] for v in wanted},
            free_energy=run.free_energy if computed and not dual else None,
            free_energy_reason=reason,
            free_energy_diagnostic=run.free_energy if computed and dual else None,
            free_energy_blocks=tuple(run.blocks),
            converged=run.converged, n_iter=run.n_iter, reason=run.reason, timings=run.seconds,
            constraints=tuple(constraints),
            history=tuple({v: s.marginals[v] for v in wanted} for s in run.kept),
            error=run.error, seed=seed,
        )  # fmt: skip

    @cached_property
    def predictions(self) -> dict[str, Distribution]:
        """What is missing in the data, by the name of the datum: over its shape where all of it is missing, else over
        the missing cells in C order (``missing[name]`` is their mask)."""
        return predict_missing(self.plan.program, self.state)

    @cached_property
    def missing(self) -> dict[str, Array]:
        """For each predicted datum the cells that are predicted: missing, and spoken of by what is known."""
        return {label: product.cells for label, product in products(self.plan.program, self.state).items()}

    @cached_property
    def schema(self) -> Schema:
        """The roles of the data, which predictions read."""
        return Schema.of(self.graph)

    @property
    def marginals(self) -> Mapping[str, Distribution]:
        """The marginals of all variables, returned or not."""
        return self.state.marginals

    @property
    def joints(self) -> Mapping[tuple[str, str], NormalGamma]:
        """The normal-gamma pairs."""
        return self.state.joints

    @property
    def messages(self) -> Messages:
        """The messages into each variable, by factor and as cavities."""
        return Messages(self.plan.program, self.state)

    def save(self, path: str | Path) -> None:
        """Write to one file, without pickle; :func:`inference.load` reads it."""
        save(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model and the graph as plain values and arrays."""
        return to_dict(self)

    def to_inferencedata(self, draws: int = 1000, seed: int | None = None) -> Any:
        """Draws of the marginals as ArviZ holds them; needs arviz."""
        from inference.truth.stacks import container_of_draws

        rng = np.random.default_rng(seed)
        drawn = {v: _draws(q, draws, rng) for v, q in self.posteriors.items()}
        dims = {v: [p.name for p in self.graph.variables[v].plates] for v in drawn}
        return container_of_draws(drawn, dims)

    def summary(self) -> list[tuple[str, str, str, str]]:
        """One row a variable: name, family, mean and standard deviation, short."""
        return [(v, type(q).__name__, _short(q.mean()), _short(np.sqrt(q.var()))) for v, q in self.posteriors.items()]

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _draws(q: Distribution, draws: int, rng: np.random.Generator) -> Array:
    sample = q.sample(draws, rng)
    return sample[0] if isinstance(q, NormalGamma) else sample


def _lines(result: Result) -> Iterator[str]:
    ran = f"{result.n_iter} iterations, {result.reason}"
    if result.free_energy is not None:
        yield f"{result.model.name}: free energy {result.free_energy[-1]:.6g} nats after {ran}"
    else:
        yield f"{result.model.name}: {ran}; no free energy: {result.free_energy_reason}"
    yield f"posterior {result.plan.factorisation}"
    rows = [("variable", "family", "mean", "sd"), *result.summary()]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _short(values: Values) -> str:
    flat = np.ravel(values)
    if flat.size == 0:
        return "(empty)"
    if flat.size <= 4:
        return " ".join(f"{v:.4g}" for v in flat)
    return f"{np.min(flat):.4g} .. {np.max(flat):.4g}  {np.shape(values)}"
