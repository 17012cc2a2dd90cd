"""The ordering MAP <= Bethe <= ELBO: gaps, conditions, thresholds and verdicts (theory 4)."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from corners.errors import DataError
from corners.exact._inputs import as_float64, positive
from corners.exact.bounds import Objective, map_objective, neg_elbo
from corners.exact.covariance import CovarianceLike, as_covariance
from corners.exact.shared_free import shared_free_terms
from corners.numerics import LOG_2PI
from corners.types import Array, Bool, Float

GOLDEN_RATIO = 0.5 * (1.0 + math.sqrt(5.0))
PRIOR_BELIEF_THRESHOLD = 4.0 * math.pi
"""At ``q = p`` the prior inequality Bethe <= ELBO fails iff ``α`` is below this (theory 4.1)."""
UNIVERSAL_THRESHOLD = 2.0 * math.pi * GOLDEN_RATIO**3 * math.exp(1.0 - GOLDEN_RATIO)
"""The prior inequality Bethe <= ELBO holds for every Gaussian belief iff ``α`` is at least this, 14.3461 (theory
4.1).
"""
TOLERANCE = 1e-9

AT_FREE_OPTIMUM = (
    "MAP <= Bethe cannot hold strictly at a global optimum over the covariance: the point belief is feasible, "
    "so Bethe is at most MAP at the same mean (up to jitter)."
)
"""What to say beside an ordering at a trained optimum (theory 4.3)."""


@dataclass(frozen=True)
class Gap:
    """Upper minus lower objective, nats, and the verdict on ``lower <= upper`` (theory 4.5)."""

    total: float
    data: float
    prior: float
    verdict: str


@dataclass(frozen=True, eq=False)
class Ordering:
    """The three objectives at one belief, their gaps, and the overall verdict.

    ``plates_map_le_bethe`` is the share of plates with ``ℓₙ(v) ≥ ℓₙ(0)``, up to the tolerance of the verdicts.
    """

    map: Objective
    bethe: Objective
    elbo: Objective
    map_bethe: Gap
    bethe_elbo: Gap
    verdict: str
    plates_map_le_bethe: float


@dataclass(frozen=True)
class PriorGaps:
    """Exact prior gaps; ``bethe_elbo = jensen − entropy``, with ``J ≥ 0`` and the entropy of ``q``, nats."""

    map_bethe: float
    bethe_elbo: float
    jensen: float
    entropy: float


def ordering_at(
    features: Float[Array, "N H"] | ArrayLike,
    targets: Float[Array, " N"] | ArrayLike,
    mean: Float[Array, " H"] | ArrayLike,
    covariance: CovarianceLike,
    prior_precision: float,
    noise_scale: float,
) -> Ordering:
    """MAP, Bethe and ELBO of a Gaussian head at the same ``(μ, Σ, α, σ²)``, MAP being ``Σ = 0``. Reference: theory 4.

    Example
    -------
    >>> report = ordering_at([[0.1]], [0.0], [0.0], np.eye(1), prior_precision=1.0, noise_scale=1.0)  # q = p and α < 4π
    >>> report.bethe_elbo.verdict
    'data_term_only'
    """
    bethe = shared_free_terms(features, targets, mean, covariance, prior_precision, noise_scale)
    return ordering_of(
        map_objective(features, targets, mean, prior_precision, noise_scale),
        Objective(bethe.prior_term, bethe.data_terms),
        neg_elbo(features, targets, mean, covariance, prior_precision, noise_scale),
    )


def ordering_of(map_: Objective, bethe: Objective, elbo: Objective) -> Ordering:
    """Gaps and verdicts of three objectives of any head evaluated at one belief. Reference: theory 4.5.

    Example
    -------
    >>> low, high = Objective(0.0, np.array([1.0])), Objective(0.0, np.array([2.0]))
    >>> ordering_of(low, low, high).verdict
    'holds'
    """
    lengths = {len(objective.data_terms) for objective in (map_, bethe, elbo)}
    if len(lengths) != 1:
        raise DataError(f"the three objectives must score the same plates; got {sorted(lengths)} plates")
    lower, upper = _gap(map_, bethe), _gap(bethe, elbo)
    slack = TOLERANCE * (1.0 + np.abs(map_.data_terms))
    return Ordering(
        map=map_,
        bethe=bethe,
        elbo=elbo,
        map_bethe=lower,
        bethe_elbo=upper,
        verdict=_overall(map_, bethe, elbo),
        plates_map_le_bethe=float(np.mean(bethe.data_terms >= map_.data_terms - slack)),
    )


def plate_condition(
    residuals: Float[Array, " N"] | ArrayLike, variances: Float[Array, " N"] | ArrayLike, noise_scale: float
) -> Bool[Array, " N"]:
    """Exactly where ``ℓₙ(v) ≥ ℓₙ(0)``: ``ρ ≤ (1+κ) log(1+κ)/κ``, ``ρ = r²/σ²``, ``κ = v/σ²`` (Gaussian head).

    The bound is at least 1, so ``r² ≤ σ²`` suffices for every ``v``. Reference: theory 4.2.

    Example
    -------
    >>> plate_condition([1.0, 3.0], [5.0, 0.1], noise_scale=1.0).tolist()
    [True, False]
    """
    noise_var = positive("noise_scale", noise_scale) ** 2
    ratio = np.asarray(residuals, dtype=np.float64) ** 2 / noise_var
    kappa = np.asarray(variances, dtype=np.float64) / noise_var
    safe = np.where(kappa > 0.0, kappa, 1.0)
    return (kappa == 0.0) | (ratio <= (1.0 + safe) * np.log1p(safe) / safe)


def prior_gaps(mean: Float[Array, " H"] | ArrayLike, covariance: CovarianceLike, prior_precision: float) -> PriorGaps:
    """Prior gaps in the eigenbasis of ``Σ``: ``b = αλ``, ``m̃ = √α Qᵀμ``.

    MAP to Bethe ``½Σ[log(1+b) − m̃² b/(1+b)]``; Bethe to ELBO ``J − Ent(q)`` with ``J = ½Σ[b − log(1+b) + m̃²
    b/(1+b)]`` and ``Ent(q) = ½Σ[1 + log 2π + log λ]``. A singular ``Σ`` has entropy minus infinity. Reference: theory
    4.1, 4.2.

    Example
    -------
    >>> gaps = prior_gaps([0.0], np.eye(1) / 20.0, prior_precision=20.0)  # q = p: ½ log(α/4π)
    >>> bool(np.isclose(gaps.bethe_elbo, 0.5 * np.log(20.0 / PRIOR_BELIEF_THRESHOLD)))
    True
    """
    centre = np.atleast_1d(as_float64("mean", mean))
    precision = positive("prior_precision", prior_precision)
    values, vectors = np.linalg.eigh(as_covariance(covariance, len(centre)).matrix(len(centre)))
    values = np.maximum(values, 0.0)
    scaled = precision * values
    pulled = precision * (vectors.T @ centre) ** 2 * scaled / (1.0 + scaled)
    jensen = 0.5 * float((scaled - np.log1p(scaled) + pulled).sum())
    singular = not (values > 0.0).all()
    entropy = -math.inf if singular else 0.5 * float((1.0 + LOG_2PI + np.log(values)).sum())
    return PriorGaps(0.5 * float((np.log1p(scaled) - pulled).sum()), jensen - entropy, jensen, entropy)


def jensen_gap(
    residuals: Float[Array, " N"] | ArrayLike, variances: Float[Array, " N"] | ArrayLike, noise_scale: float
) -> Float[Array, " N"]:
    """Data gap Bethe to ELBO per plate: ``½[κ − log(1+κ)] + ½ρκ/(1+κ) ≥ 0``, nats (Gaussian head).

    Reference: theory 3.8(b).

    Example
    -------
    >>> jensen_gap([5.0], [0.0], noise_scale=1.0).tolist()  # no variance, no gap
    [0.0]
    """
    noise_var = positive("noise_scale", noise_scale) ** 2
    ratio = np.asarray(residuals, dtype=np.float64) ** 2 / noise_var
    kappa = np.asarray(variances, dtype=np.float64) / noise_var
    return 0.5 * (kappa - np.log1p(kappa)) + 0.5 * ratio * kappa / (1.0 + kappa)


def _gap(lower: Objective, upper: Objective) -> Gap:
    """One adjacent pair: holds, holds_total_only, data_term_only or fails."""
    data_low, data_high = float(lower.data_terms.sum()), float(upper.data_terms.sum())
    total_holds = _at_most(lower.total, upper.total)
    data_holds = _at_most(data_low, data_high)
    if total_holds and data_holds and _at_most(lower.prior_term, upper.prior_term):
        verdict = "holds"
    elif total_holds:
        verdict = "holds_total_only"
    else:
        verdict = "data_term_only" if data_holds else "fails"
    return Gap(upper.total - lower.total, data_high - data_low, upper.prior_term - lower.prior_term, verdict)


def _overall(map_: Objective, bethe: Objective, elbo: Objective) -> str:
    """Both totals, else both data gaps: unlike a pair it does not look at the prior terms."""
    if _at_most(map_.total, bethe.total) and _at_most(bethe.total, elbo.total):
        return "holds"
    sums = [float(objective.data_terms.sum()) for objective in (map_, bethe, elbo)]
    return "data_term_only" if _at_most(sums[0], sums[1]) and _at_most(sums[1], sums[2]) else "fails"


def _at_most(lower: float, upper: float) -> bool:
    """``lower <= upper`` within the rounding of the larger of the two values."""
    finite = [abs(value) for value in (lower, upper) if math.isfinite(value)]
    return upper - lower >= -TOLERANCE * (1.0 + max(finite, default=0.0))
