"""Hildreth-Houck random coefficients: the depth-zero case of the free shared cell without its prior term (theory 8)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from corners.errors import DataError
from corners.exact._inputs import as_problem, one_of
from corners.exact.covariance import Covariance
from corners.exact.multistart import minimise
from corners.exact.variance_function import (
    FAMILIES,
    describe,
    problem_scale,
    random_start,
    variance_objective,
    variances_at,
)
from corners.types import Array, Float


@dataclass(frozen=True, eq=False)
class RandomCoefficientFit:
    """``yₙ = xₙᵀ(β + uₙ) + eₙ`` with ``uₙ ~ N(0, Σ)`` drawn anew for every plate.

    ``Σ`` is aleatoric: it does not shrink with ``N``. Likelihoods are totals in nats.
    """

    mean: Float[Array, " H"]
    covariance: Covariance
    noise_var: float
    neg_log_likelihood: float
    ordinary_neg_log_likelihood: float
    hits: int
    starts: int
    status: str


def fit_random_coefficients(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    rng: np.random.Generator,
    *,
    family: str = "dense",
    starts: int = 12,
    smallest_variance: float = 0.01,
) -> RandomCoefficientFit:
    """Maximum likelihood of ``yₙ ~ N(xₙᵀβ, σ² + xₙᵀΣxₙ)``, total nats; ``Σ`` is often singular at the optimum.

    The mean is eliminated: at given variances it is weighted least squares. ``ordinary_neg_log_likelihood`` is that of
    constant variance. With a dense ``Σ`` and a free mean the likelihood has no bound: ``H − 1`` plates can be
    interpolated while ``Σ`` takes the orthogonal direction (theory 7.1.4). So optima with a ``Vₙ`` below
    ``smallest_variance`` times the mean squared residual of least squares are set aside, as for mixtures (Hathaway
    1985, doi:10.1214/aos/1176349557); ``status`` says how many.

    Reference: theory 8; Hildreth and Houck (1968), doi:10.1080/01621459.1968.11009277.

    Example
    -------
    >>> x, rng = np.linspace(-2.0, 2.0, 40)[:, None], np.random.default_rng(0)
    >>> fit = fit_random_coefficients(x, x[:, 0] * (1.0 + rng.standard_normal(40)), rng, family="diagonal")
    >>> fit.neg_log_likelihood < fit.ordinary_neg_log_likelihood
    True
    """
    matrix, vector = as_problem(features, targets)
    one_of("family", family, FAMILIES)
    ordinary = np.linalg.lstsq(matrix, vector, rcond=None)[0]
    mean_square = float(((vector - matrix @ ordinary) ** 2).mean())
    if not mean_square > 1e-24 * float((vector**2).mean()):
        raise DataError("the features reproduce the targets exactly: the likelihood is unbounded as the noise vanishes")
    shares = np.full(len(vector), 1.0 / len(vector))
    scale = problem_scale(matrix, mean_square, shares)
    scaled, goal = matrix / scale.columns, vector / scale.residual
    points = [random_start(matrix.shape[1], family, rng) for _ in range(starts)]
    admits = None if family == "diagonal" else _regular(scaled, family, smallest_variance)
    found = minimise(_profiled(scaled, goal, family), points, admits=admits)
    variances = variances_at(scaled, found.parameters, family)
    mean = _weighted_least_squares(scaled, goal, variances) * scale.residual / scale.columns
    fit = describe(matrix, (vector - matrix @ mean) ** 2, shares, scale, found, family)
    constant = 0.5 * len(vector) * float(np.log(2.0 * np.pi * mean_square) + 1.0)
    status = fit.status + (f"; {found.excluded} degenerate optima set aside" if found.excluded else "")
    if found.excluded == found.starts:
        status = (
            f"unbounded: all {found.starts} starts ended in a degenerate optimum; use family='diagonal' or more data"
        )
    total = len(vector) * fit.nll
    return RandomCoefficientFit(mean, fit.covariance, fit.noise_var, total, constant, fit.hits, fit.starts, status)


def _regular(
    features: Float[Array, "N H"], family: str, smallest_variance: float
) -> Callable[[Float[Array, " P"]], bool]:
    """Admit optima whose smallest variance is not negligible (in units of the mean squared residual)."""
    return lambda parameters: float(variances_at(features, parameters, family).min()) >= smallest_variance


def _profiled(
    features: Float[Array, "N H"], targets: Float[Array, " N"], family: str
) -> Callable[[Float[Array, " P"]], tuple[float, Float[Array, " P"]]]:
    """Objective over the variance alone; by the envelope theorem its gradient is that at the eliminated mean."""
    shares = np.full(len(targets), 1.0 / len(targets))

    def objective(parameters: Float[Array, " P"]) -> tuple[float, Float[Array, " P"]]:
        mean = _weighted_least_squares(features, targets, variances_at(features, parameters, family))
        return variance_objective(features, (targets - features @ mean) ** 2, shares, family)(parameters)

    return objective


def _weighted_least_squares(
    features: Float[Array, "N H"], targets: Float[Array, " N"], variances: Float[Array, " N"]
) -> Float[Array, " H"]:
    """``argmin Σ r²/V``."""
    weights = 1.0 / np.sqrt(variances)
    return np.linalg.lstsq(features * weights[:, None], targets * weights, rcond=None)[0]
