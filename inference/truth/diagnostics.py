"""What ArviZ computes from draws: convergence statistics, Pareto-smoothed leave-one-out, k-hat of an approximation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from inference.errors import SpecError
from inference.truth import stacks
from inference.truth.gate import Diagnostics
from inference.truth.loo import PsisLoo
from inference.types import Array, Float

CONSTANT = 1e-8  # a standard deviation of log ratios below which there is no tail to fit


def diagnose(
    weights: Float[Array, "chains draws H"],
    hyperparameters: dict[str, Float[Array, "chains draws"]],
    sample_stats: dict[str, Array],
    real: frozenset[str] = frozenset(),
    label: str = "weights",
) -> Diagnostics:
    """Effective sample sizes and R-hat of every weight and of the logarithm of every sampled hyperparameter.

    Those named in ``real`` may be negative and are judged as they are. ``label`` is what the first are called where
    they are something else, such as values of a function.
    """
    moved = {(n if n in real else f"log_{n}"): v if n in real else np.log(v) for n, v in hyperparameters.items()}
    draws = np.concatenate([weights, *(values[:, :, None] for values in moved.values())], axis=2)
    names = [*(f"{label}[{h}]" for h in range(weights.shape[2])), *moved]
    with np.errstate(invalid="ignore", divide="ignore"):  # a stuck chain has no variance: NaN, which the gate refuses
        sizes = {f"ess_{method}": stacks.ess(draws, method) for method in ("bulk", "tail", "mean", "sd")}
        rhat, bfmi = stacks.rhat(draws), stacks.bfmi(sample_stats["energy"])
    divergences = sample_stats["diverging"].sum(axis=1)
    return Diagnostics(names=tuple(names), rhat=rhat, bfmi=bfmi, divergences=divergences, **sizes)


def psis_loo(log_likelihood: Float[Array, "S N"], relative_efficiency: float = 1.0) -> PsisLoo:
    """Leave-one-out from the pointwise log likelihood of S draws (theory 10.3).

    ``relative_efficiency`` is the effective sample size of the mean over S; it widens the tail that is smoothed.

    Example
    -------
    >>> loo = psis_loo(np.zeros((1000, 3)) - 2.0)
    >>> loo.lpd.tolist(), loo.k_hat.tolist()
    ([-2.0, -2.0, -2.0], [-inf, -inf, -inf])
    """
    lpd, k_hat = log_likelihood.mean(axis=0), np.full(log_likelihood.shape[1], -np.inf)
    varies = log_likelihood.std(axis=0) > CONSTANT
    if varies.any():
        values = np.ascontiguousarray(log_likelihood[:, varies].T)
        log_weights, k_hat[varies] = stacks.pareto_smooth(-values, relative_efficiency)
        lpd[varies] = np.logaddexp.reduce(values + log_weights, axis=1)
    return PsisLoo(lpd, k_hat, draws=len(log_likelihood))


@dataclass(frozen=True)
class GaussianKHat:
    """k-hat of a Gaussian: below 0.5 good, above 0.7 unreliable; ``exact`` where the ratios are constant."""

    k_hat: float
    exact: bool
    draws: int

    def __str__(self) -> str:
        if self.exact:
            return "exact"
        verdict = "good" if self.k_hat < 0.5 else "usable" if self.k_hat <= 0.7 else "unreliable"
        return f"{self.k_hat:.2f} ({verdict})"


def gaussian_k_hat(
    log_density: Callable[[Float[Array, "S H"]], Float[Array, " S"]],
    mean: Float[Array, " H"],
    covariance: Float[Array, "H H"],
    *,
    rng: np.random.Generator,
    draws: int = 4000,
) -> GaussianKHat:
    r"""Tail shape of $\log p(y,w)-\log q(w)$ over $w\sim q=N(\text{mean},\text{covariance})$ (theory 10.3).

    A freely trained q is no approximation of the posterior: a large value is then expected, not a fault.

    Parameters
    ----------
    log_density : unnormalised log posterior at every row.

    Raises
    ------
    SpecError : the covariance is not positive definite.

    Example
    -------
    >>> standard = lambda w: -0.5 * (w**2).sum(axis=1)
    >>> str(gaussian_k_hat(standard, np.zeros(2), np.eye(2), rng=np.random.default_rng(0)))
    'exact'
    """
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError as error:
        raise SpecError("the covariance of q is not positive definite; add the jitter it was trained with") from error
    noise = rng.standard_normal((draws, len(mean)))
    log_q = -0.5 * (noise**2).sum(axis=1)
    ratios: Any = log_density(mean + noise @ factor.T) - log_q
    if ratios.std() < CONSTANT:
        return GaussianKHat(float("nan"), exact=True, draws=draws)
    _, k_hat = stacks.pareto_smooth(ratios[None, :], 1.0)
    return GaussianKHat(float(k_hat[0]), exact=False, draws=draws)
