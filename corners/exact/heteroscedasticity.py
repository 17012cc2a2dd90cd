"""Residual heteroscedasticity: what a free covariance can gain over the exact corner (theory 3.9)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from corners.errors import DataError
from corners.exact._inputs import as_features, as_float64, as_vector, one_of
from corners.exact.variance_function import FAMILIES, VarianceFit, fit_variance, normalised_weights
from corners.numerics import LOG_2PI
from corners.types import Array, Float


@dataclass(frozen=True, eq=False)
class PopulationDecomposition:
    """Expected nats per plate of the best constant, the best function and the family's best member; the mean is held.

    ``total = nll_constant − nll_any``, ``recoverable = nll_constant − nll_family``, ``unrecoverable = nll_family −
    nll_any``.
    """

    best_constant: float
    nll_constant: float
    nll_any: float
    nll_family: float
    fit: VarianceFit

    @property
    def total(self) -> float:
        """``T = ½[log E s² − E log s²] ≥ 0``."""
        return self.nll_constant - self.nll_any

    @property
    def recoverable(self) -> float:
        """``T − ½ min E IS(s², V)``."""
        return self.nll_constant - self.nll_family

    @property
    def unrecoverable(self) -> float:
        """``½ min E IS(s², V) ≥ 0``."""
        return self.nll_family - self.nll_any


@dataclass(frozen=True)
class SampleDecomposition:
    """Mean nats per plate of a sample under three variance functions with one mean.

    ``identity = ½[log mean(r²) − mean(log V)]`` equals ``gap_to_constant`` where ``stationarity = mean(r²/V) − 1`` is
    zero (in-sample, cone).
    """

    best_constant: float
    nll_constant: float
    nll_corner: float
    nll_free: float
    identity: float
    stationarity: float

    @property
    def gap_to_constant(self) -> float:
        """What the free variance gains over one constant."""
        return self.nll_constant - self.nll_free

    @property
    def gap_to_corner(self) -> float:
        """``Δ``: what the free variance gains over the corner's ``σ²(1 + hₙ)``."""
        return self.nll_corner - self.nll_free


@dataclass(frozen=True)
class KoenkerTest:
    """Studentised Breusch-Pagan test: ``statistic = N R² ~ χ²(degrees)`` under constant variance."""

    statistic: float
    degrees: int
    p_value: float


def itakura_saito(truth: Float[Array, " N"] | ArrayLike, other: Float[Array, " N"] | ArrayLike) -> Float[Array, " N"]:
    """``IS(a, b) = a/b − 1 − log(a/b) ≥ 0``, twice the excess nats of a wrong variance. Reference: theory 3.9.

    Example
    -------
    >>> itakura_saito([2.0], [2.0]).tolist()
    [0.0]
    """
    ratio = as_float64("truth", truth) / as_float64("other", other)
    return ratio - 1.0 - np.log(ratio)


def population_decomposition(
    features: Float[Array, "N H"] | ArrayLike,
    true_variances: Float[Array, " N"] | ArrayLike,
    rng: np.random.Generator,
    *,
    weights: Float[Array, " N"] | ArrayLike | None = None,
    family: str = "dense",
    starts: int = 8,
) -> PopulationDecomposition:
    """Heteroscedasticity of a known ``s²(x)`` and what a family recovers of it, on a grid with ``weights``.

    ``E nll(V) = ½ log 2π + ½ + ½E log s² + ½E IS(s², V)``. Reference: theory 3.9.

    Example
    -------
    >>> rng = np.random.default_rng(0)
    >>> split = population_decomposition([[1.0], [2.0]], [2.0, 5.0], rng, family="diagonal")  # s² = 1 + ψ²
    >>> abs(split.unrecoverable) < 1e-8 < split.total
    True
    """
    matrix = as_features(features)
    truth = as_vector("true_variances", true_variances, len(matrix))
    if not (truth > 0.0).all():
        raise DataError("true_variances must be positive")
    shares = normalised_weights(weights, len(matrix))
    fit = fit_variance(matrix, truth, rng, family=family, weights=shares, starts=starts)
    constant = float(shares @ truth)
    base = 0.5 * (LOG_2PI + 1.0)
    return PopulationDecomposition(
        best_constant=constant,
        nll_constant=base + 0.5 * math.log(constant),
        nll_any=base + 0.5 * float(shares @ np.log(truth)),
        nll_family=fit.nll,
        fit=fit,
    )


def corner_deficit(
    true_variances: Float[Array, " N"] | ArrayLike,
    corner_variances: Float[Array, " N"] | ArrayLike,
    free_variances: Float[Array, " N"] | ArrayLike,
    *,
    weights: Float[Array, " N"] | ArrayLike | None = None,
) -> float:
    """``½E[IS(s², V_corner) − IS(s², V_free)]`` with ``V_corner = σ²(1+h)``, nats per plate; no fixed sign.

    Reference: theory 3.9.

    Example
    -------
    >>> corner_deficit([1.0], [1.0], [1.0])
    0.0
    """
    excess = itakura_saito(true_variances, corner_variances) - itakura_saito(true_variances, free_variances)
    return 0.5 * float(normalised_weights(weights, len(excess)) @ excess)


def sample_decomposition(
    residuals: Float[Array, " N"] | ArrayLike,
    corner_variances: Float[Array, " N"] | ArrayLike,
    free_variances: Float[Array, " N"] | ArrayLike,
    *,
    constant: float | None = None,
) -> SampleDecomposition:
    """Gaps of a sample with one mean, in-sample or held out.

    Held out, ``constant`` is the mean square of the *training* residuals.

    The best function has no sample analogue (its likelihood is unbounded). Reference: theory 3.9.

    Example
    -------
    >>> gaps = sample_decomposition([1.0, -1.0], [1.0, 1.0], [1.0, 1.0])
    >>> gaps.best_constant, gaps.gap_to_constant, gaps.gap_to_corner
    (1.0, 0.0, 0.0)
    """
    errors = as_float64("residuals", residuals).ravel()
    corner = as_vector("corner_variances", corner_variances, len(errors))
    free = as_vector("free_variances", free_variances, len(errors))
    squares = errors**2
    level = float(squares.mean()) if constant is None else constant
    if not (corner > 0.0).all() or not (free > 0.0).all() or not level > 0.0:
        raise DataError("variances and the constant must be positive")
    return SampleDecomposition(
        best_constant=level,
        nll_constant=_mean_nll(squares, np.full_like(errors, level)),
        nll_corner=_mean_nll(squares, corner),
        nll_free=_mean_nll(squares, free),
        identity=0.5 * (math.log(float(squares.mean())) - float(np.log(free).mean())),
        stationarity=float((squares / free).mean()) - 1.0,
    )


def koenker_test(
    features: Float[Array, "N H"] | ArrayLike,
    residuals: Float[Array, " N"] | ArrayLike,
    *,
    family: str = "diagonal",
) -> KoenkerTest:
    """Is there anything to gain? ``N R²`` of ``r²`` on the columns of ``V`` is ``χ²(rank − 1)`` if not.

    The columns are ``[1, ψ²_d]`` (diagonal) or ``[1, ψ_aψ_b]`` (dense).

    Reference: theory 3.9; Koenker (1981), doi:10.1016/0304-4076(81)90062-2.

    Example
    -------
    >>> koenker_test([[0.0], [1.0]], [1.0, 2.0])  # two points, one slope: R² = 1
    KoenkerTest(statistic=2.0, degrees=1, p_value=0.157299207050...)
    """
    from scipy.special import chdtrc  # here: it doubles the time this package takes to import

    matrix = as_features(features)
    squares = as_vector("residuals", residuals, len(matrix)) ** 2
    design = variance_design(matrix, one_of("family", family, FAMILIES))
    design = design / np.maximum(np.linalg.norm(design, axis=0), np.finfo(float).tiny)
    fitted, _, rank, _ = np.linalg.lstsq(design, squares, rcond=None)
    spread = float(((squares - squares.mean()) ** 2).sum())
    if spread == 0.0 or rank < 2:
        return KoenkerTest(0.0, max(int(rank) - 1, 0), 1.0)
    left = float(((squares - design @ fitted) ** 2).sum())
    statistic = len(matrix) * (1.0 - left / spread)
    return KoenkerTest(statistic, int(rank) - 1, float(chdtrc(rank - 1, max(statistic, 0.0))))


def variance_design(features: Float[Array, "N H"], family: str) -> Float[Array, "N Q"]:
    """Columns that ``V`` is linear in: ``[1, ψ²_d]`` (diagonal) or ``[1, ψ_aψ_b]`` for ``a ≤ b`` (dense).

    Reference: theory 7.3.

    Example
    -------
    >>> variance_design(np.array([[2.0, 3.0]]), "dense").tolist()
    [[1.0, 4.0, 6.0, 9.0]]
    """
    ones = np.ones((len(features), 1))
    if family == "diagonal":
        return np.hstack([ones, features**2])
    rows, columns = np.triu_indices(features.shape[1])
    return np.hstack([ones, features[:, rows] * features[:, columns]])


def _mean_nll(squares: Float[Array, " N"], variances: Float[Array, " N"]) -> float:
    return 0.5 * float((LOG_2PI + np.log(variances) + squares / variances).mean())
