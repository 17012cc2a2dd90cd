r"""The PyMC twins of the Gaussian last layer (theory 10.1), one graph for all data of one structure.

============== =======================================================================================================
centred        $w\sim N(0,\alpha^{-1}I)$, $y\sim N(\Psi w,\sigma^2 I)$: the model as it stands
non_centred    $z\sim N(0,I)$, $w=z/\sqrt\alpha$: the same model where the prior rules ($N<H$)
collapsed      $w$ integrated out: $U^\top y$ has independent coordinates of variance $\sigma^2+s_i^2/\alpha$, the rest
               of $y$ has variance $\sigma^2$ (thin SVD $\Psi=USV^\top$); $w$ is then drawn from its exact conditional
============== =======================================================================================================

Data and numbers are shared variables of free length: a second problem of the same structure compiles nothing.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from inference.errors import SpecError
from inference.truth import stacks
from inference.truth.density import CompiledDensity
from inference.truth.priors import Hyperpriors, Prior
from inference.truth.problem import LastLayerProblem, last_layer_problem
from inference.types import Array, Float

Form = Literal["centred", "non_centred", "collapsed"]

_RANDOM_VARIABLES: dict[str, Callable[..., Any]] = {
    "gamma": lambda pm, name, shape, rate: pm.Gamma(name, alpha=shape, beta=rate),
    "inverse_gamma": lambda pm, name, shape, scale: pm.InverseGamma(name, alpha=shape, beta=scale),
    "half_normal": lambda pm, name, scale: pm.HalfNormal(name, sigma=scale),
    "log_normal": lambda pm, name, mean_log, sd_log: pm.LogNormal(name, mu=mean_log, sigma=sd_log),
    "normal": lambda pm, name, mean, sd: pm.Normal(name, mu=mean, sigma=sd),
}


@dataclass(frozen=True)
class Structure:
    """What decides the graph: the form, and the family of each hyperparameter's density (None: a number)."""

    form: Form
    precision_family: str | None
    noise_family: str | None
    noise_is_var: bool

    @property
    def free(self) -> tuple[str, ...]:
        """The hyperparameters that are sampled, in the order of the coordinates."""
        families = {"prior_precision": self.precision_family, "noise_scale": self.noise_family}
        return tuple(name for name, family in families.items() if family is not None)


@dataclass(frozen=True, eq=False)
class Twin:
    """A PyMC model, the shared variables that hold its data, and its compiled density."""

    structure: Structure
    model: Any
    shared: dict[str, Any]
    density: CompiledDensity
    lock: Any = field(default_factory=threading.Lock)

    def set_data(self, problem: LastLayerProblem) -> None:
        """Put the numbers of ``problem`` into the graph."""
        _fill(self.shared, self.structure, problem)


def structure_of(problem: LastLayerProblem, form: Form) -> Structure:
    """The structure of ``problem`` when it is written in ``form``."""
    if form == "collapsed" and problem.hyperparameters_known:
        raise SpecError(
            "form 'collapsed' integrates the weights out, and with both hyperparameters fixed nothing is left to "
            "sample; use form='whitened', or give hyperpriors"
        )
    precision, noise = problem.prior_precision, problem.noise
    families = [value.family if isinstance(value, Prior) else None for value in (precision, noise)]
    return Structure(form, families[0], families[1], problem.noise_is_var)


@lru_cache(maxsize=16)
def twin(structure: Structure) -> Twin:
    """The compiled twin of a structure, built on first use and kept."""
    model, shared = _build(structure)
    compiled = Twin(structure, model, shared, CompiledDensity(model))
    weights = 0 if structure.form == "collapsed" else 1  # of the placeholder data; Numba compiles at the first call
    with stacks.expected_notices():
        compiled.density(np.zeros(compiled.density.scalars + weights))
    return compiled


def last_layer_model(
    features: Any,
    targets: Any,
    *,
    prior_precision: float | None = None,
    noise_scale: float | None = None,
    hyperpriors: Hyperpriors | None = None,
    form: Form = "centred",
) -> Any:
    """The twin as an ordinary ``pymc.Model`` with this data, for one's own ``pymc.sample``.

    Its variables are ``weights`` (or ``standardised_weights``) and, where they have a density, ``prior_precision`` and
    ``noise_scale`` or ``noise_var``. Without a C compiler give ``pymc.sample`` ``compile_kwargs={"mode": "NUMBA"}``.

    Raises
    ------
    DataError, SpecError : as :func:`inference.truth.sample_last_layer`.

    Example
    -------
    >>> model = last_layer_model(np.eye(2), np.ones(2), prior_precision=1.0, noise_scale=0.5)
    >>> [variable.name for variable in model.free_RVs], [variable.name for variable in model.observed_RVs]
    (['weights'], ['targets'])
    """
    problem = last_layer_problem(
        features, targets, prior_precision=prior_precision, noise_scale=noise_scale, hyperpriors=hyperpriors
    )
    return model_of(problem, form)


def model_of(problem: LastLayerProblem, form: Form) -> Any:
    """A new ``pymc.Model`` of a problem that was checked, with its data."""
    structure = structure_of(problem, form)
    model, shared = _build(structure)
    _fill(shared, structure, problem)
    return model


def _build(structure: Structure) -> tuple[Any, dict[str, Any]]:
    pm, pt = stacks.pymc(), stacks.load("pytensor.tensor")
    shared: dict[str, Any] = {}
    with pm.Model() as model:
        noise_name = "noise_var" if structure.noise_is_var else "noise_scale"
        precision = hyperparameter(pm, shared, "prior_precision", structure.precision_family)
        noise = hyperparameter(pm, shared, noise_name, structure.noise_family)
        scale = pt.sqrt(noise) if structure.noise_is_var else noise
        if structure.form == "collapsed":
            _collapsed(pm, pt, shared, precision, scale)
        else:
            _with_weights(pm, pt, shared, structure, precision, scale)
    return model, shared


def hyperparameter(pm: Any, shared: dict[str, Any], name: str, family: str | None) -> Any:
    """A number as a shared variable, or a random variable of that family with shared parameters."""
    if family is None:
        return shared_variable(shared, name, np.ones(()))
    count = 1 if family == "half_normal" else 2
    parameters = [shared_variable(shared, f"{name}_density_{i}", np.ones(())) for i in range(count)]
    return _RANDOM_VARIABLES[family](pm, name, *parameters)


def _with_weights(pm: Any, pt: Any, shared: dict[str, Any], structure: Structure, precision: Any, scale: Any) -> None:
    features = shared_variable(shared, "features", np.ones((1, 1)))
    targets = shared_variable(shared, "targets", np.ones(1))
    if structure.form == "non_centred":
        weights = pm.Normal("standardised_weights", 0.0, 1.0, shape=features.shape[1]) / pt.sqrt(precision)
    else:
        weights = pm.Normal("weights", 0.0, precision**-0.5, shape=features.shape[1])
    pm.Normal("targets", pt.dot(features, weights), scale, observed=targets)


def _collapsed(pm: Any, pt: Any, shared: dict[str, Any], precision: Any, scale: Any) -> None:
    singular = shared_variable(shared, "singular_values", np.ones(1))
    rotated = shared_variable(shared, "rotated_targets", np.ones(1))
    rest_size = shared_variable(shared, "rest_size", np.ones(()))
    rest_square = shared_variable(shared, "rest_square", np.ones(()))
    pm.Normal("rotated", 0.0, pt.sqrt(scale**2 + singular**2 / precision), observed=rotated)
    rest = rest_size * pt.log(2.0 * np.pi * scale**2) + rest_square / scale**2
    pm.Potential("rest_of_targets", -0.5 * rest)


def shared_variable(shared: dict[str, Any], name: str, value: Array) -> Any:
    """A shared variable of free length, entered in ``shared``."""
    variable = stacks.load("pytensor").shared(value, name=name, shape=(None,) * value.ndim)
    shared[name] = variable
    return variable


def _fill(shared: dict[str, Any], structure: Structure, problem: LastLayerProblem) -> None:
    values: dict[str, Array | float] = {"features": problem.features, "targets": problem.targets}
    if structure.form == "collapsed":
        values = _rotated(problem)
    noise_name = "noise_var" if structure.noise_is_var else "noise_scale"
    values |= numbers({"prior_precision": problem.prior_precision, noise_name: problem.noise})
    for name, variable in shared.items():
        variable.set_value(np.array(values[name], dtype=np.float64))


def numbers(given: Mapping[str, float | Prior]) -> dict[str, float]:
    """What the shared variables of hyperparameters hold: numbers, or the parameters of their densities."""
    values: dict[str, float] = {}
    for name, value in given.items():
        if isinstance(value, Prior):
            values |= {f"{name}_density_{i}": parameter for i, parameter in enumerate(value.parameters())}
        else:
            values[name] = value
    return values


def _rotated(problem: LastLayerProblem) -> dict[str, Array | float]:
    left, singular, _ = np.linalg.svd(problem.features, full_matrices=False)
    rotated = left.T @ problem.targets
    rest = problem.targets - left @ rotated
    return {
        "singular_values": singular,
        "rotated_targets": rotated,
        "rest_size": float(len(problem.targets) - len(singular)),
        "rest_square": float(rest @ rest),
    }


def conditional_weights(
    problem: LastLayerProblem,
    prior_precision: Float[Array, " S"],
    noise_scale: Float[Array, " S"],
    rng: np.random.Generator,
) -> Float[Array, "S H"]:
    r"""One exact draw of the weights for every pair of hyperparameters (theory 1, 3.1).

    $w=\alpha^{-1/2}(I-VV^\top)\xi+V\big[sz/(s^2+\lambda)+\sigma(s^2+\lambda)^{-1/2}V^\top\xi\big]$ with
    $\xi\sim N(0,I)$, $\lambda=\alpha\sigma^2$.
    """
    left, singular, right = np.linalg.svd(problem.features, full_matrices=False)
    noise = rng.standard_normal((len(noise_scale), problem.features.shape[1]))
    within = noise @ right.T
    shrunk = singular**2 + (prior_precision * noise_scale**2)[:, None]
    located = singular * (left.T @ problem.targets) / shrunk + noise_scale[:, None] * within / np.sqrt(shrunk)
    outside = (noise - within @ right) / np.sqrt(prior_precision)[:, None]
    return outside + located @ right


def natural_draws(
    problem: LastLayerProblem,
    structure: Structure,
    positions: Float[Array, "chains draws P"],
    rng: np.random.Generator,
) -> tuple[dict[str, Float[Array, "chains draws"]], Float[Array, "chains draws H"]]:
    """Hyperparameters that were sampled, and weights, in natural units; ``rng`` serves the collapsed form alone."""
    hyperparameters = {name: np.exp(positions[:, :, i]) for i, name in enumerate(structure.free)}
    if "noise_scale" in hyperparameters and structure.noise_is_var:
        hyperparameters["noise_scale"] = np.sqrt(hyperparameters["noise_scale"])
    rest = positions[:, :, len(hyperparameters) :]
    if structure.form == "centred":
        return hyperparameters, rest
    given = {"prior_precision": problem.prior_precision, "noise_scale": problem.noise}
    shape = positions.shape[:2]
    precision, noise = (
        hyperparameters[name] if name in hyperparameters else np.full(shape, value) for name, value in given.items()
    )
    if structure.form == "non_centred":
        return hyperparameters, rest / np.sqrt(precision)[:, :, None]
    flat = conditional_weights(problem, precision.reshape(-1), noise.reshape(-1), rng)
    return hyperparameters, flat.reshape(*shape, -1)
