r"""The PyMC twins of last layers whose likelihood is not Gaussian noise (theory 6, 10.1).

=========== ==========================================================================================
centred     $w\sim N(0,\alpha^{-1}I)$, $f=\Psi w+o$, and $\sum_n\log p(y_n\mid f_n)$ as a potential
non_centred $z\sim N(0,I)$, $w=z/\sqrt\alpha$: the same model where the prior rules ($N<H$)
=========== ==========================================================================================

As for Gaussian noise, data and numbers are shared variables of free length: a second problem of the same structure
compiles nothing.
"""

import threading
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from inference.truth import stacks
from inference.truth.density import CompiledDensity
from inference.truth.head_problem import HeadProblem
from inference.truth.heads import HEADS
from inference.truth.models import hyperparameter, numbers, shared_variable
from inference.truth.priors import Prior
from inference.types import Array, Float

HeadForm = Literal["centred", "non_centred"]


@dataclass(frozen=True)
class HeadStructure:
    """What decides the graph: form, head, and for every hyperparameter its family (None: a number) and its support."""

    form: HeadForm
    head: str
    families: tuple[tuple[str, str | None], ...]
    positive: tuple[tuple[str, bool], ...]

    @property
    def free(self) -> tuple[str, ...]:
        """The hyperparameters that are sampled, in the order of the coordinates."""
        return tuple(name for name, family in self.families if family is not None)


@dataclass(frozen=True, eq=False)
class HeadTwin:
    """A PyMC model, the shared variables that hold its data, and its compiled density."""

    structure: HeadStructure
    model: Any
    shared: dict[str, Any]
    density: CompiledDensity
    lock: Any = field(default_factory=threading.Lock)

    def set_data(self, problem: HeadProblem) -> None:
        """Put the numbers of ``problem`` into the graph."""
        fill(self.shared, problem)


def head_structure(problem: HeadProblem, form: HeadForm) -> HeadStructure:
    """The structure of ``problem`` when it is written in ``form``."""
    given = problem.hyperparameters()
    families = tuple((name, value.family if isinstance(value, Prior) else None) for name, value in given.items())
    positive = tuple((name, name not in problem.head.real) for name in given)
    return HeadStructure(form, problem.head.name, families, positive)


@lru_cache(maxsize=16)
def head_twin(structure: HeadStructure) -> HeadTwin:
    """The compiled twin of a structure, built on first use and kept."""
    model, shared = build(structure)
    compiled = HeadTwin(structure, model, shared, CompiledDensity(model))
    with stacks.expected_notices():
        compiled.density(np.zeros(compiled.density.scalars + 1))  # Numba compiles at the first call
    return compiled


def build(structure: HeadStructure) -> tuple[Any, dict[str, Any]]:
    """The model with placeholder data, and its shared variables by name."""
    pm, pt = stacks.pymc(), stacks.load("pytensor.tensor")
    shared: dict[str, Any] = {}
    with pm.Model() as model:
        parameters = {name: hyperparameter(pm, shared, name, family) for name, family in structure.families}
        precision = parameters.pop("prior_precision")
        features = shared_variable(shared, "features", np.ones((1, 1)))
        targets, offset = (shared_variable(shared, name, np.ones(1)) for name in ("targets", "offset"))
        log_base = shared_variable(shared, "log_base", np.zeros(()))
        if structure.form == "non_centred":
            weights = pm.Normal("standardised_weights", 0.0, 1.0, shape=features.shape[1]) / pt.sqrt(precision)
        else:
            weights = pm.Normal("weights", 0.0, precision**-0.5, shape=features.shape[1])
        terms = HEADS.get(structure.head).graph(pt, targets, pt.dot(features, weights) + offset, parameters)
        pm.Potential("targets", terms.sum() + log_base)
    return model, shared


def head_model_of(problem: HeadProblem, form: HeadForm) -> Any:
    """A new ``pymc.Model`` of a problem that was checked, with its data."""
    model, shared = build(head_structure(problem, form))
    fill(shared, problem)
    return model


def fill(shared: dict[str, Any], problem: HeadProblem) -> None:
    """Put the numbers of ``problem`` into shared variables."""
    values: dict[str, Any] = {
        "features": problem.features,
        "targets": problem.targets,
        "offset": problem.offset,
        "log_base": problem.head.log_base(problem.targets),
        **numbers(problem.hyperparameters()),
    }
    for name, variable in shared.items():
        variable.set_value(np.array(values[name], dtype=np.float64))


def natural_head_draws(
    problem: HeadProblem, structure: HeadStructure, positions: Float[Array, "chains draws P"]
) -> tuple[dict[str, Float[Array, "chains draws"]], Float[Array, "chains draws H"]]:
    """Hyperparameters that were sampled, and weights, in natural units."""
    positive = dict(structure.positive)
    columns = {name: positions[:, :, i] for i, name in enumerate(structure.free)}
    drawn = {name: np.exp(column) if positive[name] else column.copy() for name, column in columns.items()}
    weights = positions[:, :, len(drawn) :]
    if structure.form == "centred":
        return drawn, weights
    precision = drawn.get("prior_precision", np.asarray(problem.prior_precision))
    return drawn, weights / np.sqrt(precision)[..., None]
