"""Mean field is far too sure of the weights of a gated expert; one joint marginal is not (message passing 0.4)."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import norm

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if, relative_difference
from corners.claims._problems import Problem
from corners.types import Array

ROWS = 100
NODES = 16
"""Gauss-Hermite nodes of the latent log precision of a row."""
REACH, POINTS = 5.0, 31
"""The grid of the weights: deviations to each side and points a weight."""
NORMAL_90 = 1.6448536269514722


class Truth(NamedTuple):
    """Evidence and marginals of the two weights."""

    log_evidence: float
    mean: Array
    covariance: Array
    axes: tuple[Array, Array]
    masses: tuple[Array, Array]


@CLAIMS.register("mean_field_experts_are_calibrated")
@dataclass(frozen=True)
class MeanFieldExpertsAreCalibrated(Claim):
    """Mean field is overconfident about the weights of a gated expert.

    One expert whose log precision is linear in two features, its noise known: the posterior of the weights on a dense
    grid, the latent precision of every row integrated by quadrature, beside the runtime's ``q(w)q(z)`` and ``q(w, z)``.
    """

    name: ClassVar[str] = "mean_field_experts_are_calibrated"
    statement: ClassVar[str] = "The mean-field posterior of gated experts has calibrated intervals for the weights."
    formula: ClassVar[str] = "z_n ~ N(wᵀφ_n, 1/τ), ŷ_n ~ N(y_n, e^(-z_n)): sd of q(w) in q(w)q(z) ≪ sd of p(w | ŷ, y)"
    claimed_in: ClassVar[str] = "published gated experts, q(w)q(z); theory: message passing 0.4, 2.5"
    expected: ClassVar[str] = FAILS
    takes_data: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "MeanFieldExpertsAreCalibrated":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Rows (1, x) whose targets are errors ``ŷ - y``; ``1/τ`` is the noise variance, 1/4."""
        generator = np.random.default_rng(12)
        features = np.column_stack([np.ones(ROWS), generator.standard_normal(ROWS)])
        latent = features @ np.array([0.6, -0.8]) + 0.5 * generator.standard_normal(ROWS)
        errors = np.exp(-0.5 * latent) * generator.standard_normal(ROWS)
        return Problem(f"one expert, {ROWS} rows, 2 features", features, errors, 1.0, 0.5, 12)

    def check(self, problem: Problem) -> Finding:
        """Both posteriors of the runtime against the grid, and the grid against another quadrature."""
        apart, apart_energy = _inferred(problem, "mean field")
        joint, joint_energy = _inferred(problem, "structured")
        truth = _grid(problem, joint)
        evidence, deviations = _whitened(problem, joint)
        scale = np.sqrt(np.diag(truth.covariance))
        ratios, others = np.sqrt(apart.var()) / scale, np.sqrt(joint.var()) / scale
        covered, held = _covered(truth, apart), _covered(truth, joint)
        margins = (
            at_most("log evidence: grid against whitened quadrature", abs(truth.log_evidence - evidence), 1e-4, "nats"),
            at_most(
                "deviations: grid against whitened quadrature, relative", relative_difference(scale, deviations), 1e-3
            ),
            at_most("mean field: largest deviation over the true one", float(ratios.max()), 0.6),
            at_most("mean field: posterior mass of its 90% intervals, mean", covered, 0.7),
            at_most("q(w, z): worst deviation over the true one, from 1", float(np.abs(others - 1.0).max()), 0.1),
            at_least("q(w, z): posterior mass of its 90% intervals, mean", held, 0.85),
            at_least("q(w, z): free energy + log Z, a bound", joint_energy + truth.log_evidence, -1e-4, "nats"),
            at_least("mean field: free energy over that of q(w, z)", apart_energy - joint_energy, 0.1, "nats"),
        )
        sentence = (
            f"mean field has {ratios.min():.2f} to {ratios.max():.2f} of the true deviations of the weights, so that "
            f"its 90% intervals hold {covered:.0%} of the posterior; q(w, z) has {others.min():.2f} to "
            f"{others.max():.2f}, and {held:.0%}"
        )
        return fails_if(margins, sentence)


def _inferred(problem: Problem, factorisation: str) -> tuple[Any, float]:
    """The posterior of the weights by the runtime, and the free energy."""
    import inference as P
    from inference.words import precision_gated

    constraints = [P.MeanField()] if factorisation == "mean field" else [P.Structured(("w", "z"))]
    model = precision_gated.bind(weights_precision=problem.prior_precision, noise=1.0 / problem.noise_var)
    data = {"phi": problem.features, "yhat": problem.targets[:, None], "y": np.zeros(problem.rows)}
    found = P.infer(model, data=data, constraints=constraints, iterations=2000, rtol=1e-9, atol=1e-9)
    assert found.free_energy is not None
    return found.posteriors["w"][0], float(found.free_energy[-1])


def log_likelihood(problem: Problem, centres: Array) -> Array:
    """``log ∫N(z; a, 1/τ) N(error; 0, e^-z) dz`` of every row, by Gauss-Hermite; ``centres`` are ``a``, rows last."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    total = np.zeros(centres.shape)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        latent = centres + problem.noise_scale * node
        total += weight * np.exp(0.5 * latent - 0.5 * problem.targets**2 * np.exp(latent))
    return np.log(total) - 0.5 * np.log(2.0 * np.pi)


def _grid(problem: Problem, around: Any) -> Truth:
    """The posterior on a grid about a belief, by the trapezoidal rule."""
    reach = REACH * np.sqrt(around.var())
    axes = tuple(np.linspace(c - r, c + r, POINTS) for c, r in zip(around.mean(), reach, strict=True))
    weights = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    log_joint = _log_prior(problem, weights) + log_likelihood(problem, weights @ problem.features.T).sum(1)
    log_mass = float(np.logaddexp.reduce(log_joint))
    shares = np.exp(log_joint - log_mass)
    mean = shares @ weights
    covariance = ((weights - mean).T * shares) @ (weights - mean)
    table = shares.reshape(POINTS, POINTS)
    cell = float(np.log(axes[0][1] - axes[0][0]) + np.log(axes[1][1] - axes[1][0]))
    return Truth(log_mass + cell, mean, covariance, (axes[0], axes[1]), (table.sum(1), table.sum(0)))


def _whitened(problem: Problem, around: Any) -> tuple[float, Array]:
    """Evidence and deviations by product quadrature in the coordinates of a belief; rows by the trapezoidal rule."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(16)
    points = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), -1).reshape(-1, 2)
    logs = np.add.outer(np.log(weights), np.log(weights)).ravel() + 0.5 * (points**2).sum(1)
    root = np.linalg.cholesky(around.covariance)
    places = around.mean() + points @ root.T
    grid = np.linspace(-7.0, 7.0, 43)
    rows = np.zeros((len(places), problem.rows))
    for step in grid:
        latent = places @ problem.features.T + problem.noise_scale * step
        rows += norm.pdf(step) * norm.pdf(problem.targets, scale=np.exp(-0.5 * latent))
    log_joint = logs + _log_prior(problem, places) + np.log(rows * (grid[1] - grid[0])).sum(1)
    log_mass = float(np.logaddexp.reduce(log_joint))
    shares = np.exp(log_joint - log_mass)
    return log_mass + float(np.log(np.diag(root)).sum()), np.sqrt(shares @ (places - shares @ places) ** 2)


def _log_prior(problem: Problem, weights: Array) -> Array:
    return norm.logpdf(weights, scale=problem.prior_precision**-0.5).sum(1)


def _covered(truth: Truth, belief: Any) -> float:
    """The posterior mass of a belief's 90% intervals, mean over the weights."""
    masses = []
    for axis, mass, mean, var in zip(truth.axes, truth.masses, belief.mean(), belief.var(), strict=True):
        below = np.cumsum(mass) - 0.5 * mass
        ends = mean + np.array([-1.0, 1.0]) * NORMAL_90 * np.sqrt(var)
        low, high = np.interp(ends, axis, below)
        masses.append(high - low)
    return float(np.mean(masses))
