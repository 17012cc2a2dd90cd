"""MAP is at most Bethe on plates with small residuals; for probit the side of the margin decides (theory 4.2)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from corners.claims import CLAIMS
from corners.claims._base import CONDITIONAL, Claim, Condition, Finding, Margin, at_least, at_most, conditional_if
from corners.claims._dense_gaussian import dense_posterior, latent_variances, plate_losses
from corners.claims._problems import Problem, drawn_problem
from corners.exact import plate_condition
from corners.types import Array, Float

SPREADS = (0.01, 1.0, 100.0)
"""Multiples of the posterior variances at which the condition is tried."""
EDGE = 1e-3
"""How far inside and outside the bound a residual is put, relative."""


@CLAIMS.register("map_below_bethe")
@dataclass(frozen=True)
class MapBelowBethe(Claim):
    """Plate by plate MAP is at most Bethe: iff the squared residual is at most a bound that is never below ``σ²``.

    The sign of the difference of two normal densities is compared with the condition on every plate, at the posterior
    and at belief variances a hundred times smaller and larger, and with residuals just inside and outside the bound.
    """

    name: ClassVar[str] = "map_below_bethe"
    statement: ClassVar[str] = "On every plate the MAP loss is at most the Bethe loss at the same mean."
    formula: ClassVar[str] = "ℓ_n(0) ≤ ℓ_n(v) iff ρ_n ≤ (1 + κ_n) log(1 + κ_n)/κ_n with ρ = r²/σ² and κ = v/σ²"
    claimed_in: ClassVar[str] = "paper v1 and v2, the ordering MAP ≤ Bethe ≤ ELBO; theory 4.2, 13.4"
    expected: ClassVar[str] = CONDITIONAL

    @classmethod
    def example(cls) -> "MapBelowBethe":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=1)

    def check(self, problem: Problem) -> Finding:
        """Signs of gaps against the condition, at the posterior and around it, and the same for a probit likelihood."""
        posterior = dense_posterior(problem, problem.features, problem.targets)
        means = problem.features @ posterior.mean
        residuals = problem.targets - means
        variances = latent_variances(problem.features, posterior.covariance)
        condition = plate_condition(residuals, variances, problem.noise_scale)
        gaps = _gap(residuals, variances, problem.noise_var)
        kappa = variances / problem.noise_var
        bounds = (1.0 + kappa) * np.log1p(kappa) / np.where(kappa > 0.0, kappa, 1.0)
        here = float(np.max(np.where(kappa > 0.0, residuals**2 / problem.noise_var / bounds, 0.0), initial=0.0))
        margins = (*_gaussian_margins(problem, residuals, variances), *_probit_margins(means, variances))
        broken = int((~condition).sum())
        sentence = (
            f"at the posterior {broken} of {problem.rows} plates break it, the worst by {max(-gaps.min(), 0.0):.2f} "
            "nats, and everywhere the sign of the gap is that of the condition; for probit it holds on the right side "
            "of the margin and on the wrong side it does not, for every variance"
        )
        return conditional_if(
            margins,
            sentence,
            Condition(
                "the squared residual of every plate is at most σ²(1 + κ) log(1 + κ)/κ, κ = v/σ² (r² ≤ σ² suffices)",
                at_most("largest squared residual as a share of its bound", here, 1.0),
            ),
        )


def _gap(residuals: Float[Array, " N"], variances: Float[Array, " N"], noise_var: float) -> Float[Array, " N"]:
    """``ℓ_n(v) - ℓ_n(0)`` of Gaussian plates from two normal densities, nats."""
    zero = np.zeros_like(residuals)
    return plate_losses(residuals, zero, noise_var + variances) - plate_losses(residuals, zero, noise_var + zero)


def _gaussian_margins(
    problem: Problem, residuals: Float[Array, " N"], variances: Float[Array, " N"]
) -> tuple[Margin, ...]:
    """How often sign and condition disagree, and what happens at the bound; without variance there is no gap."""
    kept = variances > 1e-6 * problem.noise_var
    residuals, variances = residuals[kept], variances[kept]
    wrong, inside, outside, sufficient = 0, [], [], []
    for spread in SPREADS:
        wide = spread * variances
        kappa = wide / problem.noise_var
        bound = problem.noise_scale * np.sqrt((1.0 + kappa) * np.log1p(kappa) / kappa)
        small = np.clip(residuals, -problem.noise_scale, problem.noise_scale)
        tried = [residuals, (1.0 - EDGE) * bound, (1.0 + EDGE) * bound, small]
        gaps = [_gap(each, wide, problem.noise_var) for each in tried]
        conditions = [plate_condition(each, wide, problem.noise_scale) for each in tried]
        wrong += int(np.sum(np.stack(conditions) != (np.stack(gaps) >= 0.0)))
        inside.append(float(gaps[1].min(initial=np.inf)))
        outside.append(float(gaps[2].max(initial=-np.inf)))
        sufficient.append(float(gaps[3].min(initial=np.inf)))
    return (
        at_most("plates whose sign is not that of the condition", float(wrong), 0.0),
        at_least("smallest gap just inside the bound", min(inside), 0.0, "nats"),
        at_most("largest gap just outside the bound", max(outside), 0.0, "nats"),
        at_least("smallest gap where r² ≤ σ²", min(sufficient), 0.0, "nats"),
    )


def _probit_margins(means: Float[Array, " N"], variances: Float[Array, " N"]) -> tuple[Margin, ...]:
    """Both labels on every plate: the gap of the likelihood must have the sign of the margin ``y m``."""
    centres, spreads = np.tile(means, len(SPREADS)), np.concatenate([spread * variances for spread in SPREADS])
    plain, convolved = _probit_losses(centres, spreads)
    margin, gaps = np.stack([-centres, centres]), convolved - plain
    clear = np.abs(gaps) > 1e-12 * (1.0 + np.abs(plain))
    wrong = int((np.sign(gaps) != np.sign(margin))[clear].sum())
    # The other integral: the trapezoid rule over twelve standard deviations, where the integrand is smooth.
    smooth = np.flatnonzero((spreads <= 4.0) & (np.abs(centres) <= 10.0))
    smooth = smooth[:: 1 + len(smooth) // 100]
    standard = np.linspace(-12.0, 12.0, 1201)
    latent = margin[:, smooth, None] + np.sqrt(spreads[smooth])[:, None] * standard
    weights = norm.pdf(standard) * (standard[1] - standard[0])
    other = -np.log(ndtr(latent) @ weights)
    apart = np.abs(convolved[:, smooth] - other) / (1.0 + np.abs(other))
    return (
        at_most("probit: plates whose sign is not that of the margin", float(wrong), 0.0),
        at_least("probit: plates with a clear gap", float(clear.sum()), 1.0),
        at_most("probit: Bethe loss against an integral on a grid, relative", float(apart.max(initial=0.0)), 1e-9),
    )


def _probit_losses(
    means: Float[Array, " N"], variances: Float[Array, " N"]
) -> tuple[Float[Array, "2 N"], Float[Array, "2 N"]]:
    """``-log p(y|m)`` and ``-log ∫ p(y|f) N(f; m, v) df`` of the labels 0 and 1 by the likelihood."""
    import torch

    from corners.beliefs import Marginals
    from corners.likelihoods import LIKELIHOODS

    likelihood = LIKELIHOODS.get("probit")()
    labels = torch.stack([torch.zeros(len(means)), torch.ones(len(means))]).double()
    mean = torch.tensor(means).expand_as(labels)
    marginals = Marginals(mean, torch.tensor(variances).expand_as(labels))
    params = likelihood.init(labels)
    plain = likelihood.log_prob(params, labels, mean)
    return -plain.numpy(), -likelihood.log_partition(params, labels, marginals).numpy()
