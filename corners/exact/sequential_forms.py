"""Three routes to the sequential predictives in units of the noise: ``Vⱼ/σ²`` and ``yⱼ − mⱼ`` (theory 3.2)."""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsyrk, dtrsm, dtrsv  # pyright: ignore[reportAttributeAccessIssue]
from scipy.linalg.lapack import dpotrf  # pyright: ignore[reportAttributeAccessIssue]

from corners.types import Array, Float

METHODS = ("block", "cholesky", "rank_one", "square_root")


class Scaled(NamedTuple):
    """Predictive variances over the noise variance, and predictive errors; NaN where a factorisation broke down."""

    ratios: Float[Array, " N"]
    errors: Float[Array, " N"]


def default_block_size(width: int) -> int:
    """Blocks of about ``H`` plates balance the ``H³`` of each update against the ``b²`` of each plate (measured)."""
    return max(64, width)


def scaled_predictives(
    method: str, features: Float[Array, "N H"], targets: Float[Array, " N"], ridge: float, size: int
) -> Scaled:
    """Run the named form; ``"cholesky"`` is the block form with one block for every plate."""
    if method == "rank_one":
        return rank_one(features, targets, ridge)
    if method == "square_root":
        return square_root(features, targets, ridge, size)
    return block(features, targets, ridge, len(targets) if method == "cholesky" else size)


def block(features: Float[Array, "N H"], targets: Float[Array, " N"], ridge: float, size: int) -> Scaled:
    """Information form: ``B ← B + Ψ_bᵀΨ_b`` from ``λI``; in a block, the factor of ``I + Ψ_b B⁻¹ Ψ_bᵀ``."""
    count, width = features.shape
    out = Scaled(np.empty(count), np.empty(count))
    precision = np.zeros((width, width), order="F")
    precision.flat[:: width + 1] = ridge
    natural = np.zeros(width)
    for start in range(0, count, size):
        part = slice(start, start + size)
        rows, values = features[part], targets[part]
        if start == 0:  # B = λI: no factorisation of an H × H matrix, which N < H would not repay
            half, centre = rows / math.sqrt(ridge), natural
        else:
            factor, info = dpotrf(precision, lower=1, clean=0)
            if info:
                return Scaled(np.full(count, np.nan), np.full(count, np.nan))
            half = dtrsm(1.0, factor, rows, side=1, lower=1, trans_a=1)  # from the right: the faster kernel
            centre = dtrsv(factor, natural, lower=1)
        _within_block(half, values - half @ centre, out, part)
        if start + size < count:
            precision = dsyrk(1.0, rows.T, beta=1.0, c=precision, lower=1, overwrite_c=1)
            natural += values @ rows
    return out


def rank_one(features: Float[Array, "N H"], targets: Float[Array, " N"], ridge: float) -> Scaled:
    """Covariance form: ``g = Sψ``, ``V = 1 + ψᵀg``, ``m += g e/V``, ``S −= ggᵀ/V``; symmetric by construction."""
    count, width = features.shape
    out = Scaled(np.empty(count), np.empty(count))
    covariance, mean = np.eye(width) / ridge, np.zeros(width)
    for n in range(count):
        gain = covariance @ features[n]
        ratio = 1.0 + float(features[n] @ gain)
        error = float(targets[n] - features[n] @ mean)
        out.ratios[n], out.errors[n] = ratio, error
        mean += gain * (error / ratio)
        covariance -= np.outer(gain, gain / ratio)
    return out


def square_root(features: Float[Array, "N H"], targets: Float[Array, " N"], ridge: float, size: int) -> Scaled:
    """Orthogonal form: ``R ← qr[R; Ψ_b]`` from ``√λ I``; within a block the factor of ``I + TᵀT`` from ``qr[T; I]``."""
    count, width = features.shape
    out = Scaled(np.empty(count), np.empty(count))
    root = np.hstack([math.sqrt(ridge) * np.eye(width), np.zeros((width, 1))])
    for start in range(0, count, size):
        part = slice(start, start + size)
        half = solve_triangular(root[:, :width], features[part].T, trans=1)
        upper = np.asarray(np.linalg.qr(np.vstack([half, np.eye(half.shape[1])]), mode="r"))
        signed = upper * np.sign(upper.diagonal())[:, None]
        scores = solve_triangular(signed, targets[part] - half.T @ root[:, width], trans=1)
        _record(signed.diagonal(), scores, out, part)
        rows = np.column_stack([features[part], targets[part]])
        root = np.asarray(np.linalg.qr(np.vstack([root, rows]), mode="r"))[:width]
    return out


def _within_block(half: Float[Array, "B H"], errors: Float[Array, " B"], out: Scaled, part: slice) -> None:
    """Factor ``I + TTᵀ = LLᵀ``: its pivots are the predictive scales, ``L⁻¹e`` the standardised errors."""
    count = len(half)
    marginal = np.zeros((count, count), order="F")
    marginal.flat[:: count + 1] = 1.0
    marginal = dsyrk(1.0, half, beta=1.0, c=marginal, lower=1, overwrite_c=1)
    factor, info = dpotrf(marginal, lower=1, clean=0, overwrite_a=1)
    scores = dtrsv(factor, errors, lower=1)
    _record(factor.diagonal() if not info else np.full(count, np.nan), scores, out, part)


def _record(pivots: Float[Array, " B"], scores: Float[Array, " B"], out: Scaled, part: slice) -> None:
    out.ratios[part] = pivots**2
    out.errors[part] = pivots * scores
