"""The evidence from posterior draws by bridge sampling, with its standard error (Meng and Wong 1996).

Here too is what :mod:`inference.truth.smc` estimates, so that a saved one is read with numpy alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inference.errors import SpecError
from inference.types import Array, Float

BATCHES = 20  # batch means a chain, for the error of an average over correlated draws


@dataclass(frozen=True)
class BridgeEstimate:
    """``log_evidence`` in nats with its Monte Carlo standard error ``se``."""

    log_evidence: float
    se: float


@dataclass(frozen=True)
class SmcEstimate:
    """``log_evidence`` in nats, the mean of independent runs of sequential Monte Carlo, with its standard error.

    ``chains`` holds each run's own estimate, of ``particles`` particles.
    """

    log_evidence: float
    se: float
    chains: tuple[float, ...]
    particles: int


def mean_error(values: Float[Array, "chains draws"]) -> float:
    """Standard error of the mean of correlated draws, from the means of consecutive batches.

    Example
    -------
    >>> mean_error(np.array([[0.0, 2.0] * 20]))  # every batch holds one 0 and one 2: the mean is certain
    0.0
    """
    draws = values.shape[1]
    length = max(draws // BATCHES, 1)
    batches = values[:, : draws // length * length].reshape(-1, length).mean(axis=1)
    return float(batches.std(ddof=1) / np.sqrt(len(batches)))


def bridge_evidence(
    draws: Float[Array, "chains draws P"],
    log_density: Callable[[Float[Array, "S P"]], Float[Array, " S"]],
    *,
    rng: np.random.Generator,
) -> BridgeEstimate:
    r"""$\log\int p(y,x)\,dx$ by the optimal bridge to a Gaussian fitted on the other half of the draws (theory 10.3).

    The estimate is made twice, each half of every chain serving once for the proposal and once for the bridge, and
    averaged. $\hat Z\leftarrow\overline{l\,/(s_1l+s_2\hat Z)}_{q}\,\big/\,\overline{1/(s_1l+s_2\hat Z)}_{p}$ with
    $l=p(y,x)/q(x)$.

    Parameters
    ----------
    draws : posterior draws in the coordinates of ``log_density``.
    log_density : unnormalised log posterior at every row, Jacobians included.
    rng : draws from the Gaussian.

    Raises
    ------
    SpecError : fewer than 5 draws a coordinate in each half, draws that do not move, or draws of another density.

    Example
    -------
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.standard_normal((4, 500, 1))  # of exp(-x^2/2), whose integral is sqrt(2 pi)
    >>> estimate = bridge_evidence(draws, lambda x: -0.5 * (x**2).sum(axis=1), rng=rng)
    >>> bool(abs(estimate.log_evidence - 0.5 * np.log(2 * np.pi)) < 0.01)
    True
    """
    half = draws.shape[1] // 2
    first, second = draws[:, :half], draws[:, half : 2 * half]
    if first.shape[0] * half < 5 * draws.shape[2]:
        raise SpecError(
            f"bridge sampling of {draws.shape[2]} coordinates needs at least {10 * draws.shape[2]} draws "
            f"but got {draws.shape[0] * draws.shape[1]}; sample more"
        )
    estimates = [_bridge(fit, use, log_density, rng) for fit, use in ((first, second), (second, first))]
    value = float(np.mean([estimate.log_evidence for estimate in estimates]))
    # The two share their draws, so averaging them is not counted as halving the variance.
    return BridgeEstimate(value, max(estimate.se for estimate in estimates))


def _bridge(fit: Array, use: Array, log_density: Callable[[Array], Array], rng: np.random.Generator) -> BridgeEstimate:
    size = fit.shape[2]
    rows, target = fit.reshape(-1, size), use.reshape(-1, size)
    mean = rows.mean(axis=0)
    try:
        factor = np.linalg.cholesky(np.atleast_2d(np.cov(rows, rowvar=False)))
    except np.linalg.LinAlgError as error:
        raise SpecError("the draws span no volume: some coordinate does not move, or follows others") from error
    noise = rng.standard_normal(target.shape)
    proposed = mean + noise @ factor.T
    log_scale = -np.log(np.diag(factor)).sum() - 0.5 * size * np.log(2.0 * np.pi)
    whitened = np.linalg.solve(factor, (target - mean).T)
    log_ratio_q = log_density(proposed) - (log_scale - 0.5 * (noise**2).sum(axis=1))
    log_ratio_p = log_density(target) - (log_scale - 0.5 * (whitened**2).sum(axis=0))
    shift = float(np.median(log_ratio_p))
    ratio = _fixed_point(log_ratio_q - shift, log_ratio_p - shift)
    top, bottom = _bridge_terms(log_ratio_q - shift, log_ratio_p - shift, ratio)
    chains = use.shape[0]
    errors = [mean_error(part.reshape(chains, -1)) / part.mean() for part in (top, bottom)]
    return BridgeEstimate(shift + float(np.log(ratio)), float(np.hypot(*errors)))


def _bridge_terms(log_ratio_q: Array, log_ratio_p: Array, ratio: float) -> tuple[Array, Array]:
    """Terms of numerator (under q) and denominator (under p); both halves have the same number of draws."""
    log_half = np.log(0.5)
    log_ratio = np.log(ratio)
    top = np.exp(log_ratio_q - log_half - np.logaddexp(log_ratio_q, log_ratio))
    bottom = np.exp(-log_half - np.logaddexp(log_ratio_p, log_ratio))
    return top, bottom


def _fixed_point(log_ratio_q: Array, log_ratio_p: Array) -> float:
    ratio = 1.0
    for _ in range(1000):
        top, bottom = _bridge_terms(log_ratio_q, log_ratio_p, ratio)
        updated = float(top.mean() / bottom.mean())
        if abs(np.log(updated) - np.log(ratio)) < 1e-12:
            return updated
        ratio = updated
    raise SpecError("bridge sampling did not settle in 1000 steps: draws and log density do not belong together")
