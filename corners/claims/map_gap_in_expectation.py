"""Under a well-specified point model the gap from MAP to Bethe is of second order on average (theory 4.2, 13.4)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import roots_hermitenorm

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, Margin, at_least, at_most, fails_if, relative_difference
from corners.claims._dense_gaussian import dense_posterior, latent_variances
from corners.claims._problems import Problem, drawn_problem
from corners.exact import PlateTerms, gaussian_plates
from corners.types import Array, Float

DRAWS = 2000
ROUNDING = 1e-9
STANDARD_ERRORS = 5.0
COUNTS = 80
"""Counts summed over; the rate is at most e², so that the rest has no mass that float64 could hold."""


@CLAIMS.register("map_gap_in_expectation")
@dataclass(frozen=True)
class MapGapInExpectation(Claim):
    """Averaged over targets of the point model the gap from MAP to Bethe grows with ``v`` to first order: it does not.

    The first-order term has expectation zero on every plate and the finite gap is a KL divergence, about ``κ²/4``: by
    quadrature over the targets, by draws of them, and for probit and Poisson likelihoods by the order in ``v``.
    """

    name: ClassVar[str] = "map_gap_in_expectation"
    statement: ClassVar[str] = "On average the gap from MAP to Bethe is positive to first order in the belief variance."
    formula: ClassVar[str] = "E[∂_v ℓ_n(m, v) at v = 0] > 0 under y ~ p(y|m)"
    claimed_in: ClassVar[str] = "paper v1 and v2, the ordering in expectation; theory 4.2, 13.4"
    expected: ClassVar[str] = FAILS

    @classmethod
    def example(cls) -> "MapGapInExpectation":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=1)

    def check(self, problem: Problem) -> Finding:
        """Slope and gap by quadrature and by draws, and the order of the gap for other likelihoods."""
        posterior = dense_posterior(problem, problem.features, problem.targets)
        means = problem.features @ posterior.mean
        variances = latent_variances(problem.features, posterior.covariance)
        variances = problem.noise_var * variances / (variances.max() or 1.0)
        kappa = variances / problem.noise_var
        divergence = 0.5 * np.log1p(kappa) - 0.5 * kappa / (1.0 + kappa)
        nodes, weights = roots_hermitenorm(20)
        weights = weights / weights.sum()
        targets = means + problem.noise_scale * nodes[:, None]
        slopes = weights @ (variances * _slope(targets, means, problem.noise_scale))
        gaps = weights @ _gap(targets, means, variances, problem.noise_scale)
        small = [weights @ _gap(targets, means, scale * variances, problem.noise_scale) for scale in (1e-3, 2e-3)]
        orders = {"gaussian": _order(*small), **_other_orders(means)}
        drawn, power = _by_draws(problem, means, variances, divergence)
        margins = (
            at_most("first-order term by quadrature, largest", float(np.abs(slopes).max()), ROUNDING, "nats"),
            at_most(
                "finite gap against KL(p(y|m)‖p(y|m, v)), relative", relative_difference(gaps, divergence), ROUNDING
            ),
            *drawn,
            *(at_most(f"{head}: order of the gap, distance from 2", abs(o - 2.0), 0.1) for head, o in orders.items()),
        )
        sentence = (
            f"the first-order term averages to zero on every plate (largest {np.abs(slopes).max():.0e} nats), while "
            f"the finite gap, {float(gaps.sum()):.2f} nats over {problem.rows} plates and {power:.0f} standard errors "
            f"of {DRAWS} draws, is a KL divergence of order "
            + ", ".join(f"{order:.2f} ({head})" for head, order in orders.items())
        )
        return fails_if(margins, sentence)


def _slope(targets: Float[Array, "D N"], means: Float[Array, " N"], noise_scale: float) -> Float[Array, "D N"]:
    """``∂_v ℓ_n`` at ``v = 0``."""
    return _plates(targets, means, np.zeros_like(means), noise_scale).slope_var.reshape(targets.shape)


def _gap(
    targets: Float[Array, "D N"], means: Float[Array, " N"], variances: Float[Array, " N"], noise_scale: float
) -> Float[Array, "D N"]:
    """``ℓ_n(v) - ℓ_n(0)``, nats."""
    with_variance = _plates(targets, means, variances, noise_scale).value
    return (with_variance - _plates(targets, means, np.zeros_like(means), noise_scale).value).reshape(targets.shape)


def _plates(
    targets: Float[Array, "D N"], means: Float[Array, " N"], variances: Float[Array, " N"], noise_scale: float
) -> PlateTerms:
    """The plates of several tables in one row."""
    tables = len(targets)
    return gaussian_plates(targets.ravel(), np.tile(means, tables), np.tile(variances, tables), noise_scale)


def _by_draws(
    problem: Problem, means: Float[Array, " N"], variances: Float[Array, " N"], divergence: Float[Array, " N"]
) -> tuple[tuple[Margin, ...], float]:
    """Means over drawn tables in standard errors, and by how many of them the finite gap is positive."""
    targets = means + problem.noise_scale * problem.generator().normal(size=(DRAWS, problem.rows))
    slopes = (variances * _slope(targets, means, problem.noise_scale)).sum(axis=1)
    gaps = _gap(targets, means, variances, problem.noise_scale).sum(axis=1)
    errors = [max(float(values.std(ddof=1)) / np.sqrt(DRAWS), 1e-300) for values in (slopes, gaps)]
    power = float(gaps.mean()) / errors[1]
    margins = (
        at_most(
            "first-order term by draws, from 0", abs(slopes.mean()) / errors[0], STANDARD_ERRORS, "standard errors"
        ),
        at_most(
            "finite gap by draws, from the KL",
            abs(gaps.mean() - divergence.sum()) / errors[1],
            STANDARD_ERRORS,
            "standard errors",
        ),
        at_least("finite gap by draws, above 0", power, STANDARD_ERRORS, "standard errors"),
    )
    return margins, power


def _order(one: Float[Array, " N"], twice: Float[Array, " N"]) -> float:
    """The power of ``v`` that a total follows, from its values at ``v`` and ``2v``."""
    return float(np.log2(twice.sum() / one.sum()))


def _other_orders(means: Float[Array, " N"]) -> dict[str, float]:
    """The same power for a probit and a Poisson likelihood, their targets summed over."""
    centres = np.clip(means[:8], -2.0, 2.0)
    return {
        head: _order(*(_expected_gap(head, values, centres, variance) for variance in (1e-3, 2e-3)))
        for head, values in (("probit", np.arange(2.0)), ("poisson", np.arange(float(COUNTS))))
    }


def _expected_gap(
    head: str, values: Float[Array, " C"], means: Float[Array, " N"], variance: float
) -> Float[Array, " N"]:
    """``Σ_y p(y|m) [log p(y|m) - log ∫ p(y|f) N(f; m, v) df]`` by the likelihood, nats."""
    import torch

    from corners.beliefs import Marginals
    from corners.likelihoods import LIKELIHOODS

    likelihood = LIKELIHOODS.get(head)()
    targets = torch.tensor(values)[:, None].expand(-1, len(means))
    mean = torch.tensor(means).expand_as(targets)
    params = likelihood.init(targets)
    point = likelihood.log_prob(params, targets, mean)
    convolved = likelihood.log_partition(params, targets, Marginals(mean, torch.full_like(mean, variance)))
    return (point.exp() * (point - convolved)).sum(0).numpy()
