"""Maximum likelihood of a variance function ``V(ψ) = σ² + ψᵀΣψ`` with the mean held (theory 3.9, 8)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from corners.errors import DataError, SpecError
from corners.exact._inputs import as_features, as_vector, one_of
from corners.exact.covariance import Covariance, DiagonalCovariance, FactorCovariance
from corners.exact.multistart import Minimum, minimise
from corners.numerics import LOG_2PI
from corners.types import Array, Float

FLOOR = 1e-12
"""Floor of ``V`` relative to the mean squared residual: without it a plate that is fitted exactly has no lower
bound.
"""
FAMILIES = ("diagonal", "dense")


@dataclass(frozen=True, eq=False)
class VarianceFit:
    """``V = σ² + ψᵀΣψ`` at its best; ``nll`` is the weighted mean of ``½(log 2πV + r²/V)``, nats per plate.

    ``stationarity`` is the weighted mean of ``r²/V`` minus 1: zero at every interior or conic optimum (theory 3.9).
    """

    noise_var: float
    covariance: Covariance
    variances: Float[Array, " N"]
    nll: float
    stationarity: float
    hits: int
    starts: int
    status: str


@dataclass(frozen=True, eq=False)
class Scale:
    """Units that make the problem of order one: root mean squares of ``r`` and of each column."""

    residual: float
    columns: Float[Array, " H"]


def fit_variance(
    features: Float[Array, "N H"] | ArrayLike,
    squared_residuals: Float[Array, " N"] | ArrayLike,
    rng: np.random.Generator,
    *,
    family: str = "dense",
    weights: Float[Array, " N"] | ArrayLike | None = None,
    starts: int = 8,
) -> VarianceFit:
    """Minimise ``Σ wₙ ½(log 2πVₙ + sₙ/Vₙ)`` over ``σ² ≥ 0`` and ``Σ ⪰ 0`` of a family, the mean being held.

    ``sₙ`` are squared residuals of a sample, or the true ``s²(x)`` on a grid with quadrature ``weights`` (normalised
    to sum 1). Square roots are optimised, so ``σ² = 0`` and singular ``Σ`` can be reached. Non-convex: ``starts``
    descents, the best is kept.

    Raises
    ------
    DataError : negative squared residuals, or all of them zero. SpecError : unknown family, fewer than one start.

    Reference: theory 3.9.

    Example
    -------
    >>> fit = fit_variance([[1.0], [2.0]], [2.0, 5.0], np.random.default_rng(0), family="diagonal")  # V = 1 + ψ²
    >>> round(fit.noise_var, 4), fit.variances.round(4).tolist()
    (1.0, [2.0, 5.0])
    """
    matrix = as_features(features)
    squares = as_vector("squared_residuals", squared_residuals, len(matrix))
    shares = normalised_weights(weights, len(matrix))
    if (squares < 0.0).any() or not float(shares @ squares) > 0.0:
        raise DataError("squared_residuals must be non-negative and not all zero")
    one_of("family", family, FAMILIES)
    scale = problem_scale(matrix, float(shares @ squares), shares)
    scaled, goal = matrix / scale.columns, squares / scale.residual**2
    objective = variance_objective(scaled, goal, shares, family)
    points = [random_start(matrix.shape[1], family, rng) for _ in range(_at_least_one(starts))]
    return describe(matrix, squares, shares, scale, minimise(objective, points), family)


def normalised_weights(weights: Float[Array, " N"] | ArrayLike | None, count: int) -> Float[Array, " N"]:
    """Non-negative weights that sum to one; equal ones by default."""
    if weights is None:
        return np.full(count, 1.0 / count)
    values = as_vector("weights", weights, count)
    if (values < 0.0).any() or not values.sum() > 0.0:
        raise DataError("weights must be non-negative and not all zero")
    return values / values.sum()


def problem_scale(features: Float[Array, "N H"], mean_square: float, weights: Float[Array, " N"]) -> Scale:
    """Root mean squares; a column of zeros keeps scale 1."""
    columns = np.sqrt(weights @ features**2)
    return Scale(math.sqrt(mean_square), np.where(columns > 0.0, columns, 1.0))


def root_count(width: int, family: str) -> int:
    """How many numbers hold the square root of ``Σ``."""
    return width if family == "diagonal" else width * (width + 1) // 2


def random_start(width: int, family: str, rng: np.random.Generator) -> Float[Array, " P"]:
    """A noise scale and a root of ``Σ`` with sizes spread over two decades."""
    roots = rng.standard_normal(root_count(width, family)) * 10.0 ** rng.uniform(-1.5, 0.5) / math.sqrt(width)
    return np.concatenate([[10.0 ** rng.uniform(-1.5, 0.5)], roots])


def root_matrix(roots: Float[Array, " P"], width: int, family: str) -> Float[Array, "H H"]:
    """The square root ``L`` of ``Σ = LLᵀ``: a diagonal or a lower triangle."""
    if family == "diagonal":
        return np.diag(roots)
    lower = np.zeros((width, width))
    lower[np.tril_indices(width)] = roots
    return lower


def variances_at(features: Float[Array, "N H"], parameters: Float[Array, " P"], family: str) -> Float[Array, " N"]:
    """``V = τ² + ‖Lᵀψ‖² + floor`` at parameters ``(τ, roots)``, in scaled units."""
    base = parameters[0] ** 2 + FLOOR
    if family == "diagonal":
        return base + features**2 @ parameters[1:] ** 2
    return base + ((features @ root_matrix(parameters[1:], features.shape[1], family)) ** 2).sum(axis=1)


def variance_objective(
    features: Float[Array, "N H"], squares: Float[Array, " N"], weights: Float[Array, " N"], family: str
) -> Callable[[Float[Array, " P"]], tuple[float, Float[Array, " P"]]]:
    """``Σ w ½(log V + s/V)`` and its gradient over ``(τ, roots)`` with ``V = τ² + ‖Lᵀψ‖² + floor``."""

    def objective(parameters: Float[Array, " P"]) -> tuple[float, Float[Array, " P"]]:
        variances = variances_at(features, parameters, family)
        value = 0.5 * float(weights @ (np.log(variances) + squares / variances))
        slope = 0.5 * weights * (1.0 - squares / variances) / variances
        return value, root_gradient(features, parameters, slope, family)

    return objective


def root_gradient(
    features: Float[Array, "N H"], parameters: Float[Array, " P"], slope: Float[Array, " N"], family: str
) -> Float[Array, " P"]:
    """From ``∂/∂Vₙ`` to ``(τ, roots)``: ``2τ Σ slope``, and ``2GL`` with ``G = Ψᵀ diag(slope) Ψ``."""
    noise = 2.0 * parameters[0] * float(slope.sum())
    if family == "diagonal":
        return np.concatenate([[noise], 2.0 * parameters[1:] * (slope @ features**2)])
    width = features.shape[1]
    roots = 2.0 * (features.T * slope) @ (features @ root_matrix(parameters[1:], width, family))
    return np.concatenate([[noise], roots[np.tril_indices(width)]])


def describe(
    features: Float[Array, "N H"],
    squares: Float[Array, " N"],
    weights: Float[Array, " N"],
    scale: Scale,
    found: Minimum,
    family: str,
) -> VarianceFit:
    """Back to the units of the data."""
    width = features.shape[1]
    noise_var = float((found.parameters[0] ** 2 + FLOOR) * scale.residual**2)
    roots = root_matrix(found.parameters[1:], width, family) * (scale.residual / scale.columns)[:, None]
    covariance = DiagonalCovariance(roots.diagonal() ** 2) if family == "diagonal" else FactorCovariance(roots)
    variances = noise_var + covariance.variances(features)
    ratio = squares / variances
    status = f"converged: {found.hits} of {found.starts} starts reached the best value"
    if variances.min() < 10.0 * FLOOR * scale.residual**2:
        status = (
            "unbounded: a plate is fitted exactly, its variance sits at the floor; hold the noise or drop the plate"
        )
    nll = 0.5 * float(weights @ (LOG_2PI + np.log(variances) + ratio))
    stationarity = float(weights @ ratio) - 1.0
    return VarianceFit(noise_var, covariance, variances, nll, stationarity, found.hits, found.starts, status)


def _at_least_one(starts: int) -> int:
    if starts < 1:
        raise SpecError(f"starts must be at least 1; got {starts}")
    return starts
