"""Two ordered classes are the binary probit where the threshold is zero or outside of the weights (theory 6.1)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from corners.claims import CLAIMS
from corners.claims._base import CONDITIONAL, Claim, Condition, Finding, at_least, at_most, conditional_if
from corners.claims._problems import Problem
from corners.exact import Evidence, prior_overlap
from corners.types import Array

SPREAD = 0.2
"""Variance of the bias weight where the threshold is folded into the weights."""
ROUNDING = 1e-12


@CLAIMS.register("ordinal_reduces_to_binary")
@dataclass(frozen=True)
class OrdinalReducesToBinary(Claim):
    """Two ordered classes are the binary probit only where the threshold is zero, or a bias that is no weight.

    The ordinal head of the library against its probit head and against quadrature: at a threshold of zero, at that of
    the label frequencies, and with the threshold folded into a bias weight, which has a variance and a prior.
    """

    name: ClassVar[str] = "ordinal_reduces_to_binary"
    statement: ClassVar[str] = "For two classes the ordinal loss is exactly the binary probit loss."
    formula: ClassVar[str] = "P(y = 1) = Φ((m - τ_1)/√(1 + v)) = Φ(m/√(1 + v)) iff τ_1 = 0"
    claimed_in: ClassVar[str] = "paper, ordinal head for K = 2; theory 6.1, 13.11"
    expected: ClassVar[str] = CONDITIONAL
    takes_data: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "OrdinalReducesToBinary":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Thirty rows of three features; targets are labels 0 and 1, two thirds of them 1."""
        generator = np.random.default_rng(9)
        features = generator.standard_normal((30, 3))
        latent = features @ np.array([1.0, -0.5, 0.3]) + 0.7 + generator.standard_normal(30)
        return Problem("30 labels, 3 features", features, (latent > 0.0).astype(float), 1.0, 1.0, 9)

    def check(self, problem: Problem) -> Finding:
        """The same belief under both heads, with the threshold in its three places."""
        mean, covariance = _belief(problem)
        means = problem.features @ mean
        variances = np.einsum("nh,hk,nk->n", problem.features, covariance, problem.features)
        threshold = -float(ndtri(problem.targets.mean()))
        binary, labels = probit_terms(problem.targets, means, variances), problem.targets
        zero = ordinal_terms(labels, means, variances, 0.0)
        given = ordinal_terms(labels, means, variances, threshold)
        shifted = probit_terms(labels, means - threshold, variances)
        folded = probit_terms(labels, means - threshold, variances + SPREAD)
        prior = _prior_of_bias(problem, mean, covariance, threshold)
        outside, quadrature = _largest(given - shifted), _quadrature(problem, means, variances, threshold)
        moved = float(np.sum(folded - given))
        margins = (
            at_most("threshold 0: a plate, from the binary head", _largest(zero - binary), ROUNDING, "nats"),
            at_most("threshold outside: a plate, from the binary head at m - τ", outside, ROUNDING, "nats"),
            at_most("ordinal head against adaptive quadrature, a plate", quadrature, 1e-9, "nats"),
            at_least(
                "threshold of the frequencies: total from the binary head", abs(np.sum(given - binary)), 0.1, "nats"
            ),
            at_least("threshold as a weight: a plate moved by its variance", _largest(folded - given), 0.01, "nats"),
            at_least("threshold as a weight: -log Z_w moved, without variance", abs(prior[0]), 0.1, "nats"),
            at_least("threshold as a weight: total moved, with variance", abs(moved + prior[1]), 0.1, "nats"),
        )
        condition = Condition(
            "τ_1 = 0, or τ_1 is a bias outside of the weights: no prior term, no variance",
            at_most("|τ_1| at the frequencies of the labels", abs(threshold), ROUNDING),
        )
        sentence = (
            f"at τ_1 = 0, and with τ_1 outside of the weights, the two heads agree to rounding; at "
            f"τ_1 = {threshold:.2f} the loss is {np.sum(given - binary):+.2f} nats from the binary one, and as a bias "
            f"weight of variance {SPREAD:g} it moves the data term by {moved:+.2f} and -log Z_w by {prior[1]:+.2f}"
        )
        return conditional_if(margins, sentence, condition)


def probit_terms(labels: Array, means: Array, variances: Array) -> Array:
    """``-log p(y)`` of the binary head."""
    from corners.likelihoods.probit import Probit

    targets, marginals = _tensors(labels, means, variances)
    return -Probit().log_partition({}, targets, marginals).numpy()


def ordinal_terms(labels: Array, means: Array, variances: Array, threshold: float) -> Array:
    """``-log p(y)`` of the ordinal head with two classes."""
    import torch

    from corners.likelihoods.ordinal import FIRST_THRESHOLD, LOG_GAPS, Ordinal

    targets, marginals = _tensors(labels, means, variances)
    params = {
        FIRST_THRESHOLD: torch.tensor(threshold, dtype=torch.float64),
        LOG_GAPS: torch.zeros(0, dtype=torch.float64),
    }
    return -Ordinal(classes=2).log_partition(params, targets, marginals).numpy()


def _tensors(labels: Array, *moments: Array) -> tuple[Any, Any]:
    import torch

    from corners.beliefs import Marginals

    targets, means, variances = (torch.from_numpy(np.array(each)) for each in (labels, *moments))
    return targets, Marginals(means, variances)


def _belief(problem: Problem) -> tuple[Array, Array]:
    """Any belief will do: the posterior of least squares on signs."""
    return Evidence(problem.features, 2.0 * problem.targets - 1.0).posterior(problem.prior_precision, 1.0)


def _largest(difference: Array) -> float:
    return float(np.max(np.abs(difference)))


def _quadrature(problem: Problem, means: Array, variances: Array, threshold: float) -> float:
    """The largest difference of the ordinal terms from ``-log ∫p(y|f) N(f; m, v) df``."""

    def integral(label: float, mean: float, deviation: float) -> float:
        sign = 2.0 * label - 1.0
        return quad(lambda u: ndtr(sign * (mean + deviation * u - threshold)) * norm.pdf(u), -12.0, 12.0, epsabs=1e-12)[
            0
        ]

    exact = [integral(*row) for row in zip(problem.targets, means, np.sqrt(variances), strict=True)]
    return _largest(ordinal_terms(problem.targets, means, variances, threshold) + np.log(exact))


def _prior_of_bias(problem: Problem, mean: Array, covariance: Array, threshold: float) -> tuple[float, float]:
    """By how much ``-log Z_w`` moves where ``-τ`` becomes one weight more, without and with a variance."""
    before = prior_overlap(mean, covariance, problem.prior_precision).value
    longer = np.append(mean, -threshold)
    wider = [np.pad(covariance, (0, 1)) for _ in range(2)]
    wider[1][-1, -1] = SPREAD
    without, with_variance = (prior_overlap(longer, each, problem.prior_precision).value - before for each in wider)
    return without, with_variance
