"""What the sampler is pointed at: a problem in one form, with its twin, its geometry and its natural units."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from inference.errors import SpecError
from inference.truth.head_models import (
    HeadForm,
    HeadTwin,
    head_model_of,
    head_structure,
    head_twin,
    natural_head_draws,
)
from inference.truth.head_problem import HeadProblem, head_problem
from inference.truth.heads._base import Head
from inference.truth.laplace import Laplace
from inference.truth.models import Form, Twin, model_of, natural_draws, structure_of, twin
from inference.truth.priors import Prior
from inference.truth.problem import LastLayerProblem, last_layer_problem
from inference.truth.reference import gaussian_log_density
from inference.truth.whitening import Whitening, whiten
from inference.types import Array, Float


class Target(ABC):
    """One posterior to be sampled; ``form`` is how its twin is written."""

    problem: LastLayerProblem | HeadProblem
    likelihood: str
    form: str
    real: frozenset[str] = frozenset()

    @property
    def model(self) -> str:
        """What the certificate calls the model."""
        return f"{self.likelihood}_last_layer, {self.form}"

    @abstractmethod
    def twin(self) -> Any:
        """The compiled twin."""

    @abstractmethod
    def fresh_model(self) -> Any:
        """A new PyMC model with the data, for samplers of PyMC's own; nothing is compiled."""

    @abstractmethod
    def guess(self, model: Any) -> Float[Array, " P"]:
        """Hyperparameters of the order of the data, in the model's own coordinates, and weights at zero."""

    @abstractmethod
    def whiten(self, model: Any) -> Whitening:
        """The geometry the sampler moves in."""

    @abstractmethod
    def natural(
        self, model: Any, positions: Float[Array, "chains draws P"], rng: np.random.Generator
    ) -> tuple[dict[str, Float[Array, "chains draws"]], Float[Array, "chains draws H"]]:
        """Sampled hyperparameters and weights in natural units."""

    @abstractmethod
    def log_likelihood(self, weights: Float[Array, "S H"], hyperparameters: Mapping[str, Array]) -> Float[Array, "S N"]:
        """Log density of every training point under every draw."""


class GaussianTarget(Target):
    """Gaussian noise."""

    likelihood = "gaussian"

    def __init__(self, problem: LastLayerProblem, form: str) -> None:
        self.problem: LastLayerProblem = problem
        wide = not problem.hyperparameters_known and _wide(problem.features)
        self.form: Form = "collapsed" if form == "collapsed" else "non_centred" if wide else "centred"

    def twin(self) -> Twin:
        """Of Gaussian noise."""
        return twin(structure_of(self.problem, self.form))

    def fresh_model(self) -> Any:
        """Of Gaussian noise."""
        return model_of(self.problem, self.form)

    def guess(self, model: Twin) -> Float[Array, " P"]:
        """A noise variance of a tenth of the spread of the targets, a prior that spans them."""
        spread = float(np.mean(self.problem.targets**2)) or 1.0
        log_noise = np.log(0.1 * spread) * (1.0 if self.problem.noise_is_var else 0.5)
        logs = {"prior_precision": np.log(_size(self.problem.features) / spread), "noise_scale": log_noise}
        weights = 0 if self.form == "collapsed" else self.problem.features.shape[1]
        return np.concatenate([[logs[name] for name in model.structure.free], np.zeros(weights)])

    def whiten(self, model: Twin) -> Whitening:
        """Exact in the weights."""
        guess, count = self.guess(model), model.density.scalars
        return whiten(model.density, guess[:count], len(guess) - count)

    def natural(
        self, model: Twin, positions: Float[Array, "chains draws P"], rng: np.random.Generator
    ) -> tuple[dict[str, Float[Array, "chains draws"]], Float[Array, "chains draws H"]]:
        """The collapsed form draws its weights here."""
        return natural_draws(self.problem, model.structure, positions, rng)

    def log_likelihood(self, weights: Float[Array, "S H"], hyperparameters: Mapping[str, Array]) -> Float[Array, "S N"]:
        """Normal densities."""
        noise = hyperparameters.get("noise_scale")
        scale = np.full(len(weights), self.problem.noise) if noise is None else noise.reshape(-1)
        return gaussian_log_density(self.problem.targets, weights @ self.problem.features.T, scale)


class HeadTarget(Target):
    """Any other likelihood; the head's own sampled parameters take part in Laplace's method beside the weights."""

    def __init__(self, problem: HeadProblem, form: str) -> None:
        if form == "collapsed":
            raise SpecError(
                f"form 'collapsed' integrates the weights out, which Gaussian noise alone allows; {problem.head.name} "
                "needs form='whitened' or 'plain'"
            )
        self.problem: HeadProblem = problem
        self.likelihood = problem.head.name
        self.real = problem.head.real
        free = isinstance(problem.prior_precision, Prior)
        self.form: HeadForm = "non_centred" if free and _wide(problem.features) else "centred"

    def twin(self) -> HeadTwin:
        """Of the head."""
        return head_twin(head_structure(self.problem, self.form))

    def fresh_model(self) -> Any:
        """Of the head."""
        return head_model_of(self.problem, self.form)

    def guess(self, model: HeadTwin) -> Float[Array, " P"]:
        """A prior under which the latent values are of the order of one (of the targets' spread where they have it)."""
        natural = {"prior_precision": self._precision(), **self.problem.head.guess(self.problem.targets)}
        coordinates = [natural[n] if n in self.real else np.log(natural[n]) for n in model.structure.free]
        return np.concatenate([coordinates, np.zeros(self.problem.features.shape[1])])

    def whiten(self, model: HeadTwin) -> Whitening:
        """Laplace's approximation; a sampled prior precision is placed by its marginal."""
        guess = self.guess(model)
        count = int("prior_precision" in model.structure.free)
        # Distances over which f moves by one unit; the prior is quadratic and takes any.
        reach = np.abs(self.problem.features).max(axis=0)
        weights = self._unit() / np.where(reach > 0.0, reach, 1.0)
        if self.form == "non_centred":
            weights = weights * np.sqrt(self._precision())
        scale = np.concatenate([np.ones(len(guess) - len(weights) - count), weights])
        conditional = Laplace(guess[count:], scale)
        return whiten(model.density, guess[:count], len(guess) - count, conditional)

    def _unit(self) -> float:
        """One unit of f: 1 behind a link, the scale of the noise where targets have a unit."""
        return self.problem.head.guess(self.problem.targets).get("scale", 1.0)

    def _precision(self) -> float:
        given = self.problem.prior_precision
        return _size(self.problem.features) / self._unit() ** 2 if isinstance(given, Prior) else given

    def natural(
        self, model: HeadTwin, positions: Float[Array, "chains draws P"], rng: np.random.Generator
    ) -> tuple[dict[str, Float[Array, "chains draws"]], Float[Array, "chains draws H"]]:
        """By the transforms of the coordinates."""
        return natural_head_draws(self.problem, model.structure, positions)

    def log_likelihood(self, weights: Float[Array, "S H"], hyperparameters: Mapping[str, Array]) -> Float[Array, "S N"]:
        """The numpy formula of the head at every draw."""
        given = self.problem.head.parameters()
        columns = {name: hyperparameters[name].reshape(-1, 1) for name in given if name in hyperparameters}
        numbers = {name: value for name, value in given.items() if not isinstance(value, Prior)}
        latent = weights @ self.problem.features.T + self.problem.offset
        return self.problem.head.log_prob(self.problem.targets, latent, numbers | columns)


def make_target(
    features: Any, targets: Any, likelihood: Head | None, offset: Any, form: str, known: Mapping[str, Any]
) -> Target:
    """The target of a problem: Gaussian noise where ``likelihood`` is None; ``known`` are the hyperparameters."""
    if likelihood is not None:
        return HeadTarget(head_problem(features, targets, likelihood, offset=offset, **known), form)
    if offset is not None:
        raise SpecError("offset is for heads; with Gaussian noise subtract it from the targets")
    return GaussianTarget(last_layer_problem(features, targets, **known), form)


def _wide(features: Array) -> bool:
    return features.shape[0] < features.shape[1]


def _size(features: Array) -> float:
    """Mean squared norm of the features."""
    return float(np.mean(np.sum(features**2, axis=1))) or 1.0
