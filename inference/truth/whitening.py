"""Mode and curvature of a model's own log density: the geometry the sampler moves in, never the target itself.

With Gaussian noise the density is quadratic in the weights when the hyperparameters are held, so one Newton step finds
their conditional mode and the differences of PyMC's gradient are its exact curvature; for other heads
:mod:`inference.truth.laplace` takes as many steps as it needs. The hyperparameters are placed by Laplace's method
with the weights integrated out: the joint mode is a poor place to stand (and need not exist), the marginal one is not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from inference.errors import TruthError
from inference.types import Array, Float

LogDensity = Callable[[Array], tuple[Any, Array]]
"""Value and gradient at a vector, for example :class:`inference.truth.density.CompiledDensity`."""

Conditional = Callable[[LogDensity, Array, int], tuple[Array, Array, float, int]]
"""Mode, covariance, log normaliser and number of repairs of the other coordinates at given hyperparameters."""

GRID = np.linspace(-6.0, 6.0, 5)  # of the start of every hyperparameter, in logarithms around a guess from the data
FLOOR = 1e-12  # of an eigenvalue of the curvature, relative to the largest


@dataclass(frozen=True, eq=False)
class Whitening:
    """Centre and covariance of the Gaussian that stands in for the density; ``floored`` counts repaired directions."""

    centre: Float[Array, " P"]
    covariance: Float[Array, "P P"]
    floored: int

    def start(self, rng: np.random.Generator, spread: float) -> Float[Array, " P"]:
        """A starting point ``spread`` standard deviations wide around the centre."""
        noise = rng.standard_normal(len(self.centre))
        return self.centre + spread * (np.linalg.cholesky(self.covariance) @ noise)


def whiten(
    density: LogDensity, guess: Float[Array, " K"], weights: int, conditional: Conditional | None = None
) -> Whitening:
    """Place the Gaussian; ``guess`` starts the K hyperparameters, ``weights`` counts the remaining coordinates.

    ``conditional`` finds the mode of the latter; None takes :func:`quadratic`, which is exact for Gaussian noise.

    Raises
    ------
    TruthError : the density is not finite anywhere on the grid around the guess.
    """
    conditional = conditional or quadratic
    if not len(guess):
        mode, covariance, _, floored = conditional(density, guess, weights)
        return Whitening(mode, covariance, floored)
    centre = _marginal_mode(density, guess, weights, conditional)
    inverse, _, floored_hyper = repaired_inverse(_marginal_curvature(density, centre, weights, conditional))
    if not weights:
        return Whitening(centre, inverse, floored_hyper)
    mode, within, _, floored = conditional(density, centre, weights)
    slope = _slope(density, centre, weights, conditional)
    cross = slope @ inverse
    covariance = np.block([[inverse, cross.T], [cross, within + cross @ slope.T]])
    return Whitening(np.concatenate([centre, mode]), 0.5 * (covariance + covariance.T), floored + floored_hyper)


def quadratic(
    density: LogDensity, hyper: Array, weights: int
) -> tuple[Float[Array, " W"], Float[Array, "W W"], float, int]:
    """Mode, covariance, log normaliser and number of repairs of the weights at fixed hyperparameters."""
    count = len(hyper)
    position = np.concatenate([hyper, np.zeros(weights)])
    _, slope = density(position)
    curvature = np.empty((weights, weights))
    for i in range(weights):  # the gradient is linear in the weights: unit differences are exact
        step = position.copy()
        step[count + i] = 1.0
        curvature[i] = (slope - density(step)[1])[count:]
    covariance, log_determinant, floored = repaired_inverse(curvature)
    mode = covariance @ slope[count:]
    peak, _ = density(np.concatenate([hyper, mode]))
    return mode, covariance, float(peak) - 0.5 * log_determinant, floored


def repaired_inverse(curvature: Float[Array, "K K"]) -> tuple[Float[Array, "K K"], float, int]:
    """Inverse and log determinant; eigenvalues below the floor are lifted to it, and counted."""
    if not np.isfinite(curvature).all():
        raise TruthError("the log density has no finite curvature to whiten with; rescale the data or use form='plain'")
    values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    floor = FLOOR * np.abs(values).max()
    lifted = np.maximum(np.where(values < -floor, -values, values), floor)
    inverse = (vectors / lifted) @ vectors.T
    return 0.5 * (inverse + inverse.T), float(np.log(lifted).sum()), int((values < floor).sum())


def _log_marginal(density: LogDensity, hyper: Array, weights: int, conditional: Conditional) -> float:
    if not weights:
        return float(density(hyper)[0])
    return conditional(density, hyper, weights)[2]


def _marginal_mode(density: LogDensity, guess: Array, weights: int, conditional: Conditional) -> Float[Array, " K"]:
    def loss(hyper: Array) -> float:
        value = _log_marginal(density, np.asarray(hyper, dtype=np.float64), weights, conditional)
        return -value if np.isfinite(value) else np.inf

    count = len(guess)
    offsets = np.stack(np.meshgrid(*[GRID] * count), axis=-1).reshape(-1, count)
    best = min(guess + offsets, key=loss)
    if not np.isfinite(loss(best)):
        raise TruthError("the log density is finite for no hyperparameters near those of the data; rescale the data")
    # Only geometry is at stake: a hundredth of a standard deviation will do.
    simplex = np.vstack([best, best + np.eye(count)])
    options = {"xatol": 1e-2, "fatol": 1e-3, "maxiter": 100, "initial_simplex": simplex}
    return np.asarray(minimize(loss, best, method="Nelder-Mead", options=options).x, dtype=np.float64)


def _marginal_curvature(
    density: LogDensity, centre: Array, weights: int, conditional: Conditional, step: float = 0.05
) -> Array:
    count = len(centre)
    basis = step * np.eye(count)
    curvature = np.empty((count, count))
    for i in range(count):
        for j in range(count):
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            corners = [(a * b, centre + a * basis[i] + b * basis[j]) for a, b in signs]
            terms = [sign * _log_marginal(density, at, weights, conditional) for sign, at in corners]
            curvature[i, j] = -sum(terms) / (4.0 * step**2)
    return curvature


def _slope(density: LogDensity, centre: Array, weights: int, conditional: Conditional, step: float = 0.05) -> Array:
    """How the conditional mode of the weights moves with each hyperparameter, one column each."""
    columns = []
    for i in range(len(centre)):
        offset = np.zeros(len(centre))
        offset[i] = step
        ahead, behind = (conditional(density, centre + sign * offset, weights)[0] for sign in (1, -1))
        columns.append((ahead - behind) / (2.0 * step))
    return np.stack(columns, axis=1)
