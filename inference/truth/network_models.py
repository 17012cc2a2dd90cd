r"""The PyMC twin of a full small network: $f(x)=w_2^\top\tanh(W_1x+b_1)+b_2$, every weight standardised.

The sampler moves standard normal coordinates z, w = scale * z: the scales of the prior, the number of units and the
data are shared variables, so that another network compiles nothing.
"""

import threading
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from inference.truth import stacks
from inference.truth.density import CompiledDensity
from inference.truth.models import hyperparameter, numbers, shared_variable
from inference.truth.network_problem import NetworkProblem
from inference.types import Array, Float


@dataclass(frozen=True, eq=False)
class NetworkTwin:
    """A PyMC model, the shared variables that hold its data, and its compiled density."""

    model: Any
    shared: dict[str, Any]
    density: CompiledDensity
    lock: Any = field(default_factory=threading.Lock)


@lru_cache(maxsize=4)
def network_twin(noise_family: str | None) -> NetworkTwin:
    """The compiled twin for a noise of that family (None: a number), built on first use and kept."""
    model, shared = build(noise_family)
    compiled = NetworkTwin(model, shared, CompiledDensity(model))
    with stacks.expected_notices():
        compiled.density(np.zeros(compiled.density.scalars + 4))  # of the placeholder; Numba compiles at the first call
    return compiled


def build(noise_family: str | None) -> tuple[Any, dict[str, Any]]:
    """The model with placeholder data, and its shared variables by name."""
    pm, pt = stacks.pymc(), stacks.load("pytensor.tensor")
    shared: dict[str, Any] = {"units": stacks.load("pytensor").shared(np.int64(1), name="units")}
    with pm.Model() as model:
        noise = hyperparameter(pm, shared, "noise_scale", noise_family)
        inputs = shared_variable(shared, "inputs", np.ones((1, 1)))
        targets = shared_variable(shared, "targets", np.ones(1))
        scales = shared_variable(shared, "scales", np.ones(4))
        weights = scales * pm.Normal("standardised_weights", 0.0, 1.0, shape=scales.shape[0])
        units, columns = shared["units"], inputs.shape[1]
        first, second, third = columns * units, (columns + 1) * units, (columns + 2) * units
        hidden = pt.tanh(pt.dot(inputs, weights[:first].reshape((columns, units))) + weights[first:second])
        pm.Normal("targets", pt.dot(hidden, weights[second:third]) + weights[third], noise, observed=targets)
    return model, shared


def fill(shared: dict[str, Any], problem: NetworkProblem) -> None:
    """Put the numbers of ``problem`` into shared variables."""
    values: dict[str, Any] = {"inputs": problem.inputs, "targets": problem.targets, "scales": problem.scales}
    values |= numbers({"noise_scale": problem.noise_scale})
    shared["units"].set_value(np.int64(problem.units))
    for name, value in values.items():
        shared[name].set_value(np.array(value, dtype=np.float64))


def natural_network_draws(
    problem: NetworkProblem, positions: Float[Array, "chains draws P"]
) -> tuple[dict[str, Float[Array, "chains draws"]], Float[Array, "S W"]]:
    """The noise where it was sampled, and every weight in natural units, chain by chain."""
    free = int(problem.noise_family is not None)
    noise = {"noise_scale": np.exp(positions[:, :, 0])} if free else {}
    weights = problem.scales * positions[:, :, free:]
    return noise, weights.reshape(-1, weights.shape[2])
