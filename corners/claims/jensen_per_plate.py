"""Plate by plate the Bethe loss is at most the ELBO loss, for every likelihood (theory 3.8b)."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import special, stats
from scipy.integrate import trapezoid

from corners.claims import CLAIMS
from corners.claims._base import HOLDS, Claim, Finding, Margin, at_least, at_most, holds_if, relative_difference
from corners.claims._dense_gaussian import DenseBelief, latent_variances, plate_losses, random_belief
from corners.claims._problems import Problem, drawn_problem
from corners.exact import jensen_gap, neg_elbo, shared_free_terms
from corners.types import Array, Float

HEADS: dict[str, dict[str, Any]] = {
    "probit": {},
    "logistic": {"nodes": 64},
    "poisson": {"nodes": 64},
    "negative_binomial": {"nodes": 64, "size": 2.0},
    "student_t": {"scale": 0.6, "df": 5.0},
}
ROUNDING = 1e-9
QUADRATURE = 1e-7
PLATES = 12
"""Plates at which the other integral is taken."""


class Losses(NamedTuple):
    """``-log ∫ p(y_n|f) q(f) df`` and ``-∫ q(f) log p(y_n|f) df``, nats."""

    bethe: Float[Array, " N"]
    elbo: Float[Array, " N"]


@CLAIMS.register("jensen_per_plate")
@dataclass(frozen=True)
class JensenPerPlate(Claim):
    """On every plate the Bethe loss is at most the ELBO loss, whatever the likelihood.

    The Gaussian gap in closed form is the difference of the two losses; five likelihoods without a Gaussian are held
    against integrals on a grid of their log densities in scipy. The belief is a random one: it is the best of nothing.
    """

    name: ClassVar[str] = "jensen_per_plate"
    statement: ClassVar[str] = (
        "Plate by plate the Bethe loss is at most the ELBO loss, for any likelihood and any Gaussian belief."
    )
    formula: ClassVar[str] = "-log ∫ p(y_n|f) N(f; m_n, v_n) df ≤ -∫ N(f; m_n, v_n) log p(y_n|f) df for every n"
    claimed_in: ClassVar[str] = "paper v1 and v2, proposition 1; theory 3.8b, 13.13"
    expected: ClassVar[str] = HOLDS

    @classmethod
    def example(cls) -> "JensenPerPlate":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=1)

    def check(self, problem: Problem) -> Finding:
        """Gaussian plates in closed form, the other likelihoods by two integrals each."""
        belief = _belief(problem)
        margins, gaps = _gaussian(problem, belief)
        means = problem.features @ belief.mean
        variances = latent_variances(problem.features, belief.covariance)
        chosen = np.unique(np.linspace(0, problem.rows - 1, PLATES).astype(int))
        smallest = {"gaussian": float(gaps.min())}
        for head, options in HEADS.items():
            targets = _targets(head, problem)
            found = _losses(head, options, targets, means, variances)
            other = _by_grid(head, options, targets[chosen], means[chosen], variances[chosen])
            smallest[head] = float((found.elbo - found.bethe).min())
            apart = relative_difference(np.stack([found.bethe[chosen], found.elbo[chosen]]), np.stack(other))
            margins.append(at_most(f"{head}: both losses against integrals on a grid, relative", apart, QUADRATURE))
        margins += [at_least(f"{head}: smallest gap", gap, -ROUNDING, "nats") for head, gap in smallest.items()]
        margins.append(at_least("gaussian: largest gap", float(gaps.max()), 1e-3, "nats"))
        least = min(smallest, key=smallest.__getitem__)
        sentence = (
            f"on {problem.rows} plates and {len(smallest)} likelihoods the ELBO loss is never below the Bethe loss: "
            f"the smallest gap is {smallest[least]:.1e} nats ({least}), the Gaussian gaps reach {gaps.max():.2f} nats"
        )
        return holds_if(tuple(margins), sentence)


def _belief(problem: Problem) -> DenseBelief:
    """A random belief, scaled so that the latent means and the largest latent variance are of size one."""
    mean, covariance = random_belief(problem.width, problem.generator())
    size = float(np.sqrt(np.mean((problem.features @ mean) ** 2))) or 1.0
    largest = float(latent_variances(problem.features, covariance).max()) or 1.0
    return DenseBelief(mean / size, covariance / largest)


def _gaussian(problem: Problem, belief: DenseBelief) -> tuple[list[Margin], Float[Array, " N"]]:
    """The gap in closed form against the difference of two losses that are themselves held against densities."""
    hyper = (problem.prior_precision, problem.noise_scale)
    bethe = shared_free_terms(problem.features, problem.targets, *belief, *hyper)
    elbo = neg_elbo(problem.features, problem.targets, *belief, *hyper)
    residuals = problem.targets - problem.features @ belief.mean
    variances = latent_variances(problem.features, belief.covariance)
    gaps = jensen_gap(residuals, variances, problem.noise_scale)
    other = plate_losses(residuals, np.zeros_like(residuals), problem.noise_var + variances)
    # The expectation of a quadratic is its mean at plus and minus one standard deviation.
    sides = [
        plate_losses(residuals, sign * np.sqrt(variances), np.full_like(residuals, problem.noise_var))
        for sign in (-1, 1)
    ]
    margins = [
        at_most(
            "gaussian: closed gap against the difference of the losses, relative",
            relative_difference(gaps, elbo.data_terms - bethe.data_terms),
            ROUNDING,
        ),
        at_most("gaussian: Bethe loss, relative", relative_difference(bethe.data_terms, other), ROUNDING),
        at_most(
            "gaussian: ELBO loss, relative", relative_difference(elbo.data_terms, np.mean(sides, axis=0)), ROUNDING
        ),
    ]
    return margins, gaps


def _targets(head: str, problem: Problem) -> Float[Array, " N"]:
    """Targets of the kind that a likelihood scores, made of those of the problem."""
    centred = problem.targets - problem.targets.mean()
    scaled = np.clip(centred / (centred.std() or 1.0), -2.0, 2.0)
    if head in {"probit", "logistic"}:
        return (scaled > 0.0).astype(np.float64)
    return scaled if head == "student_t" else np.floor(np.exp(1.0 + scaled))


def _losses(
    head: str,
    options: dict[str, Any],
    targets: Float[Array, " N"],
    means: Float[Array, " N"],
    variances: Float[Array, " N"],
) -> Losses:
    """Both losses by the likelihood of this name."""
    import torch

    from corners.beliefs import Marginals
    from corners.likelihoods import LIKELIHOODS

    likelihood = LIKELIHOODS.get(head)(**options)
    labels = torch.tensor(targets)[None]
    params, marginals = likelihood.init(labels), Marginals(torch.tensor(means)[None], torch.tensor(variances)[None])
    return Losses(
        -likelihood.log_partition(params, labels, marginals)[0].numpy(),
        -likelihood.expected_log_prob(params, labels, marginals)[0].numpy(),
    )


def _by_grid(
    head: str,
    options: dict[str, Any],
    targets: Float[Array, " N"],
    means: Float[Array, " N"],
    variances: Float[Array, " N"],
) -> Losses:
    """Both losses by the trapezoid rule over twelve standard deviations of the belief to each side."""
    standard = np.linspace(-12.0, 12.0, 2401)
    latent = means[:, None] + np.sqrt(variances)[:, None] * standard
    log_density = _log_density(head, options, targets[:, None], latent)
    weights = stats.norm.pdf(standard)
    return Losses(
        -np.log(trapezoid(weights * np.exp(log_density), standard)), -trapezoid(weights * log_density, standard)
    )


def _log_density(
    head: str, options: dict[str, Any], targets: Float[Array, "N 1"], latent: Float[Array, "N F"]
) -> Float[Array, "N F"]:
    """``log p(y | f)`` in the words of scipy."""
    if head == "probit":
        return special.log_ndtr((2.0 * targets - 1.0) * latent)
    if head == "logistic":
        return special.log_expit((2.0 * targets - 1.0) * latent)
    if head == "poisson":
        return stats.poisson.logpmf(targets, np.exp(latent))
    if head == "negative_binomial":
        return stats.nbinom.logpmf(targets, options["size"], options["size"] / (options["size"] + np.exp(latent)))
    return stats.t.logpdf(targets, options["df"], latent, options["scale"])
