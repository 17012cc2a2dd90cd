"""The probit convolution is exact plate by plate, the loss made of it is not the evidence (theory 3.8e)."""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if
from corners.claims._problems import Problem
from corners.exact import prior_overlap
from corners.types import Array

ROWS = 25
REACH, POINTS = 7.0, 101
"""The grid of the weights: so many prior deviations to each side, so many points a weight."""
DRAWS = 20_000
UNIT = 10.0
SHARE = 0.5
"""How much of the link's noise the runtime's latent value carries; the rest is in its probit factor."""


class Truth(NamedTuple):
    """Log evidence and posterior moments on a dense grid."""

    log_evidence: float
    mean: Array
    covariance: Array


@CLAIMS.register("probit_loss_is_evidence")
@dataclass(frozen=True)
class ProbitLossIsEvidence(Claim):
    """The probit loss is not the probit evidence, though the convolution of every plate is exact.

    The evidence on a dense grid and by draws from the prior; the loss at the exact posterior moments and where it is
    least. Expectation propagation, whose Bethe energy counts the edges as the loss does not, comes close.
    """

    name: ClassVar[str] = "probit_loss_is_evidence"
    statement: ClassVar[str] = (
        "With a probit head the convolution is exact, so the loss is the exact negative log evidence of the labels."
    )
    formula: ClassVar[str] = "-log ∫q p dw - Σ log Φ(y_n m_n/√(1+v_n)) ≠ -log ∫ Π Φ(y_n wᵀψ_n) N(w; 0, I/α) dw"
    claimed_in: ClassVar[str] = "paper, theorem 2 read as evidence; theory 3.8e"
    expected: ClassVar[str] = FAILS
    takes_data: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "ProbitLossIsEvidence":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Twenty-five rows of two features; targets are labels -1 and 1."""
        generator = np.random.default_rng(8)
        features = generator.standard_normal((ROWS, 2))
        latent = features @ np.array([1.2, -0.6]) + generator.standard_normal(ROWS)
        return Problem("25 labels, 2 features", features, np.where(latent > 0.0, 1.0, -1.0), 0.7, 1.0, 8)

    def check(self, problem: Problem) -> Finding:
        """Convolutions, the evidence two ways, the loss at two beliefs, and expectation propagation."""
        truth = grid_truth(problem)
        evidence = -truth.log_evidence
        convolution = _worst_convolution(problem, truth)
        drawn = _standard_errors(problem, truth.log_evidence)
        at_posterior = _loss(problem, truth.mean, truth.covariance)
        least = _least_loss(problem)
        scaled = _in_units(problem)
        rescaled = _loss(scaled, truth.mean / UNIT, truth.covariance / UNIT**2)
        propagated = _expectation_propagation(problem)
        margins = (
            at_most("worst plate: convolution against adaptive quadrature", convolution, 1e-9, "nats"),
            at_most(f"evidence on the grid against {DRAWS} draws from the prior", drawn, 4.5, "standard errors"),
            at_least("loss at the exact posterior moments, from -log Z", abs(at_posterior - evidence), 0.1, "nats"),
            at_least("least loss, from -log Z", abs(least - evidence), 0.05, "nats"),
            at_least(
                f"loss moved by features in units {UNIT:g} times smaller", abs(rescaled - at_posterior), 1.0, "nats"
            ),
            at_most("evidence moved by the same units", abs(grid_truth(scaled).log_evidence + evidence), 1e-9, "nats"),
            at_most("expectation propagation, from -log Z", abs(propagated - evidence), 0.05, "nats"),
        )
        sentence = (
            f"-log Z is {evidence:.3f} nats; the loss is {at_posterior:.3f} at the exact posterior moments and "
            f"{least:.3f} where it is least, and {rescaled:.3f} in other units of the features, which leave -log Z "
            f"alone; every convolution is right to {convolution:.0e}; expectation propagation gives {propagated:.3f}"
        )
        return fails_if(margins, sentence)


def _in_units(problem: Problem) -> Problem:
    """The same model: features ``UNIT`` times as large, weights as much smaller."""
    return replace(problem, features=UNIT * problem.features, prior_precision=UNIT**2 * problem.prior_precision)


def plate_terms(means: Array, variances: Array, signs: Array) -> Array:
    """``-log Φ(y m/√(1 + v))``: the exact convolution of a probit with a Gaussian."""
    return -log_ndtr(signs * means / np.sqrt(1.0 + variances))


def grid_truth(problem: Problem) -> Truth:
    """Evidence and moments of two weights by the trapezoidal rule."""
    scale = problem.prior_precision**-0.5
    axis = np.linspace(-REACH * scale, REACH * scale, POINTS)
    weights = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    log_joint = norm.logpdf(weights, scale=scale).sum(1) + _log_likelihood(problem, weights)
    log_mass = float(np.logaddexp.reduce(log_joint))
    shares = np.exp(log_joint - log_mass)
    mean = shares @ weights
    centred = weights - mean
    return Truth(log_mass + 2.0 * float(np.log(axis[1] - axis[0])), mean, (centred.T * shares) @ centred)


def _log_likelihood(problem: Problem, weights: Array) -> Array:
    return log_ndtr((weights @ problem.features.T) * problem.targets).sum(1)


def _standard_errors(problem: Problem, log_evidence: float) -> float:
    """How far the mean likelihood of draws from the prior is from the evidence."""
    draws = problem.generator().standard_normal((DRAWS, problem.width)) * problem.prior_precision**-0.5
    ratios = np.exp(_log_likelihood(problem, draws) - log_evidence)
    return float(abs(ratios.mean() - 1.0) / (ratios.std(ddof=1) / np.sqrt(DRAWS)))


def _latents(problem: Problem, mean: Array, covariance: Array) -> tuple[Array, Array]:
    return problem.features @ mean, np.einsum("nh,hk,nk->n", problem.features, covariance, problem.features)


def _worst_convolution(problem: Problem, truth: Truth) -> float:
    """The largest difference of a plate's term from the adaptive quadrature of ``∫Φ(yf) N(f; m, v) df``."""
    means, variances = _latents(problem, truth.mean, truth.covariance)
    terms = plate_terms(means, variances, problem.targets)

    def integral(mean: float, deviation: float, sign: float) -> float:
        return quad(lambda u: ndtr(sign * (mean + deviation * u)) * norm.pdf(u), -12.0, 12.0, epsabs=1e-12)[0]

    exact = [integral(*row) for row in zip(means, np.sqrt(variances), problem.targets, strict=True)]
    return float(np.max(np.abs(terms + np.log(exact))))


def _loss(problem: Problem, mean: Array, covariance: Array) -> float:
    """``-log Z_w + Σ ℓ_n`` of a belief."""
    means, variances = _latents(problem, mean, covariance)
    prior = prior_overlap(mean, covariance, problem.prior_precision).value
    return prior + float(plate_terms(means, variances, problem.targets).sum())


def _least_loss(problem: Problem) -> float:
    """The least loss over the mean and a dense covariance, from several starts."""

    def objective(entries: Array) -> float:
        root = np.array([[entries[2], 0.0], [entries[3], entries[4]]])
        return _loss(problem, entries[:2], root @ root.T)

    generator = problem.generator()
    starts = [np.concatenate([np.zeros(2), 0.5 * generator.standard_normal(3)]) for _ in range(4)]
    return float(min(minimize(objective, start, method="L-BFGS-B").fun for start in starts))


def _expectation_propagation(problem: Problem) -> float:
    """The Bethe free energy at its fixed point, by the message-passing runtime."""
    import inference as P

    @P.model
    def layer(m, features, labels, *, precision):
        w = m.mvnormal("w", mean=0.0, precision=precision, dim=features.shape[1])
        f = m.softdot("f", w, features, 1.0 / SHARE, plates=m.plate("row", len(labels)))
        m.probit("labels", f, noise_var=1.0 - SHARE, observed=labels)

    data = {"features": problem.features, "labels": (problem.targets + 1.0) / 2.0, "precision": problem.prior_precision}
    found = P.infer(layer, data=data, iterations=200, rtol=1e-12, atol=1e-10)
    assert found.free_energy is not None
    return float(found.free_energy[-1])
