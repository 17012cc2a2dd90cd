"""The log evidence from scratch by one triangular factor: the cheap form where a single value is wanted."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsyrk  # pyright: ignore[reportAttributeAccessIssue]
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs  # pyright: ignore[reportAttributeAccessIssue]

from corners.exact._inputs import as_problem, one_of, positive
from corners.exact.gradients import ClosedGradient
from corners.numerics import LOG_2PI
from corners.types import Array, Float

SMALLEST_PIVOT = 1e-6
"""Ratio of the smallest squared pivot to the largest diagonal entry below which a determinant loses its ninth digit."""


class RidgeSolution(NamedTuple):
    """Ridge regression: ``μ*``, ``r*``, ``log|I + K/λ|``, the upper factor ``R`` and its space.

    ``orthogonal`` is ``[Ψ or Ψᵀ]R⁻¹`` where the factor came from QR.
    """

    mean: Float[Array, " H"]
    residual: Float[Array, " N"]
    log_det: float
    factor: Float[Array, "P P"]
    space: str
    orthogonal: Float[Array, "Q P"] | None = None


def log_evidence(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    prior_precision: float,
    noise_scale: float,
    *,
    space: str = "auto",
) -> float:
    """Log evidence ``log N(y; 0, σ²I + ΨΨᵀ/α)`` of a Gaussian last layer, total nats.

    ``log Z = −½[N log 2πσ² + log|I + K/λ| + (‖y − Ψμ*‖² + λ‖μ*‖²)/σ²]``, ``λ = ασ²``, from the Cholesky factor of ``λI
    + ΨᵀΨ`` (space ``"features"``) or ``λI + ΨΨᵀ`` (``"data"``); ``"auto"`` takes the smaller. Where the Gram matrix
    would square away the ninth digit the same factor comes from an orthogonal factorisation of the features
    themselves: nothing is added to the matrix.

    Parameters
    ----------
    features, targets : ``(N, H)`` and ``(N,)`` or ``(N, 1)``.
    prior_precision : ``α > 0``; infinity is the null model.
    noise_scale : standard deviation ``σ > 0`` of the noise, in the unit of the targets.

    Raises
    ------
    DataError, SpecError : shapes, NaN, non-positive hyperparameters, an unknown space.

    Reference: theory 3.1.

    Example
    -------
    >>> import numpy as np
    >>> value = log_evidence([[1.0]], [2.0], prior_precision=1.0, noise_scale=1.0)  # y ~ N(0, 1 + 1)
    >>> bool(np.isclose(value, -0.5 * (np.log(2 * np.pi * 2.0) + 2.0**2 / 2.0)))
    True
    """
    matrix, vector = as_problem(features, targets)
    precision = positive("prior_precision", prior_precision, infinite=True)
    noise_var = positive("noise_scale", noise_scale) ** 2
    return log_evidence_of(matrix, vector, precision, noise_var, one_of("space", space, ("auto", "features", "data")))


def log_evidence_and_gradient(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    prior_precision: float,
    noise_scale: float,
) -> tuple[float, ClosedGradient]:
    """Log evidence and its gradient with respect to ``log α``, ``log σ²`` and the features, by one triangular factor.

    ``∂ log Z/∂ log α = ½(γ − α‖μ*‖²)``, ``∂/∂ log σ² = ½(‖r*‖²/σ² − (N − γ))``, ``∂/∂Ψ = σ⁻²(r*μ*ᵀ − ΨΣ*)``. Arguments
    and errors as :func:`log_evidence`. Reference: theory 3.1, 3.7.

    Example
    -------
    >>> value, gradient = log_evidence_and_gradient([[1.0]], [2.0], prior_precision=1.0, noise_scale=1.0)
    >>> round(gradient.log_noise_var, 12)  # −½(σ²/c)(1 − y²/c) with c = σ² + 1/α = 2
    0.25
    """
    matrix, vector = as_problem(features, targets)
    precision = positive("prior_precision", prior_precision, infinite=True)
    noise_var = positive("noise_scale", noise_scale) ** 2
    solution = _solve(matrix, vector, precision * noise_var, "auto")
    return _value(solution, precision, noise_var), _gradient(matrix, solution, precision, noise_var)


def log_evidence_of(
    features: Float[Array, "N H"],
    targets: Float[Array, " N"],
    prior_precision: float,
    noise_var: float,
    space: str = "auto",
) -> float:
    """:func:`log_evidence` of arguments that have been checked."""
    return _value(_solve(features, targets, prior_precision * noise_var, space), prior_precision, noise_var)


def _value(solution: RidgeSolution, prior_precision: float, noise_var: float) -> float:
    """The primal form; its quadratic part is stationary in ``μ*``, so rounding there enters squared."""
    quadratic = float(solution.residual @ solution.residual) / noise_var + _prior_weight(solution, prior_precision)
    return -0.5 * (len(solution.residual) * (LOG_2PI + math.log(noise_var)) + solution.log_det + quadratic)


def _prior_weight(solution: RidgeSolution, prior_precision: float) -> float:
    """``α‖μ*‖²``, which is 0 in the null model."""
    return 0.0 if math.isinf(prior_precision) else prior_precision * float(solution.mean @ solution.mean)


def _gradient(
    features: Float[Array, "N H"], solution: RidgeSolution, prior_precision: float, noise_var: float
) -> ClosedGradient:
    """Gradient of ``log Z`` from the inverse of the factorised matrix."""
    misfit = float(solution.residual @ solution.residual) / noise_var
    if math.isinf(prior_precision):
        return ClosedGradient(0.0, 0.5 * (misfit - len(features)), np.zeros_like(features))
    filtered, effective = _filtered_features(features, solution)
    slope = np.outer(solution.residual / noise_var, solution.mean) - filtered
    prior = 0.5 * (effective - _prior_weight(solution, prior_precision))
    return ClosedGradient(prior, 0.5 * (misfit - (len(features) - effective)), slope)


def _filtered_features(features: Float[Array, "N H"], solution: RidgeSolution) -> tuple[Float[Array, "N H"], float]:
    """``ΨΣ*/σ² = Ψ(λI + ΨᵀΨ)⁻¹ = (λI + ΨΨᵀ)⁻¹Ψ`` and ``γ``."""
    if solution.orthogonal is not None:  # both spaces: R⁻¹Qᵀ, or its transpose, and γ = ‖Q‖²
        half = solve_triangular(solution.factor, solution.orthogonal.T)
        effective = float(np.vdot(solution.orthogonal, solution.orthogonal))
        return half.T if solution.space == "features" else half, effective
    inverse, _ = dpotri(solution.factor, lower=0)
    inverse = np.triu(inverse) + np.triu(inverse, 1).T
    filtered = features @ inverse if solution.space == "features" else inverse @ features
    return filtered, float(np.vdot(filtered, features))


def _solve(features: Float[Array, "N H"], targets: Float[Array, " N"], ridge: float, space: str) -> RidgeSolution:
    """Ridge regression in the named space, by Cholesky where it keeps the digits and by QR where it does not."""
    count, width = features.shape
    if space == "auto":
        space = "features" if width <= count else "data"
    if math.isinf(ridge):
        return RidgeSolution(np.zeros(width), targets, 0.0, np.empty((0, 0)), space)
    return _by_cholesky(features, targets, ridge, space) or _by_orthogonal(features, targets, ridge, space)


def _by_cholesky(
    features: Float[Array, "N H"], targets: Float[Array, " N"], ridge: float, space: str
) -> RidgeSolution | None:
    """Factor of the Gram matrix; ``None`` where it breaks down or its pivots have lost too many digits."""
    in_features = space == "features"
    gram = dsyrk(1.0, features.T, trans=int(not in_features))  # the transpose is in Fortran order: no copy
    size = len(gram)
    gram.flat[:: size + 1] += ridge
    largest = float(gram.diagonal().max())
    factor, info = dpotrf(gram, lower=0, clean=0, overwrite_a=1)
    pivots = factor.diagonal()
    if info or float(pivots.min()) ** 2 <= SMALLEST_PIVOT * largest:
        return None
    solved, _ = dpotrs(factor, features.T @ targets if in_features else targets, lower=0)
    mean = solved if in_features else features.T @ solved
    log_det = 2.0 * float(np.log(pivots).sum()) - size * math.log(ridge)
    return RidgeSolution(mean, targets - features @ mean, log_det, factor, space)


def _by_orthogonal(
    features: Float[Array, "N H"], targets: Float[Array, " N"], ridge: float, space: str
) -> RidgeSolution:
    """The same factor from ``[Ψ; √λ I]`` or ``[Ψᵀ; √λ I]``, whose condition number is the square root of the Gram's."""
    tall = features if space == "features" else features.T
    rows, size = tall.shape
    orthogonal, factor = np.linalg.qr(np.vstack([tall, math.sqrt(ridge) * np.eye(size)]))
    log_det = 2.0 * float(np.log(np.abs(factor.diagonal())).sum()) - size * math.log(ridge)
    if space == "features":
        mean = solve_triangular(factor, orthogonal[:rows].T @ targets)
        return RidgeSolution(mean, targets - features @ mean, log_det, factor, space, orthogonal[:rows])
    dual = orthogonal @ solve_triangular(factor, targets, trans=1)  # the shortest (μ, r/√λ) that reproduces y
    residual = math.sqrt(ridge) * dual[rows:]
    return RidgeSolution(dual[:rows], residual, log_det, factor, space, orthogonal[:rows])
