"""Without hidden layers the free cell's data term is the likelihood of random coefficients (theory 8)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from corners.claims import CLAIMS
from corners.claims._base import HOLDS, Claim, Finding, at_least, at_most, holds_if, relative_difference
from corners.claims._problems import Problem
from corners.exact import Start, find_free_optimum, fit_random_coefficients, prior_overlap, shared_free_terms
from corners.types import Array

LIMIT = 1e-9
"""The prior precision at which the prior term has lost its pull."""
ROWS, WIDTH = 60, 2


@CLAIMS.register("depth_zero")
@dataclass(frozen=True)
class DepthZero(Claim):
    """Without hidden layers the data term is the likelihood of random coefficients, drawn anew for every plate.

    The data term against a dense mixed model, in which every plate has coefficients of its own; its minimum by three
    optimisers. With the prior term the fits differ.
    """

    name: ClassVar[str] = "depth_zero"
    statement: ClassVar[str] = (
        "Without hidden layers the data term of the free cell is maximum likelihood of the random-coefficient model."
    )
    formula: ClassVar[str] = "y_n = x_nᵀ(β + u_n) + e_n, u_n ~ N(0, Σ): -log p(y) = Σ ½ log 2πV_n + r_n²/(2V_n)"
    claimed_in: ClassVar[str] = "paper, depth zero; Hildreth and Houck 1968; theory 8, 13.13"
    expected: ClassVar[str] = HOLDS
    takes_data: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "DepthZero":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of two inputs whose coefficients are drawn anew for every row."""
        generator = np.random.default_rng(7)
        features = generator.standard_normal((ROWS, WIDTH))
        coefficients = np.array([1.0, -0.5]) + np.array([0.6, 0.3]) * generator.standard_normal((ROWS, WIDTH))
        targets = (features * coefficients).sum(1) + 0.3 * generator.standard_normal(ROWS)
        return Problem("60 rows, 2 random coefficients", features, targets, 10.0, 0.3, 7)

    def check(self, problem: Problem) -> Finding:
        """One likelihood two ways, one minimum three ways, and the minimum that the prior term moves."""
        fit = fit_random_coefficients(
            problem.features, problem.targets, problem.generator(), family="diagonal", starts=6
        )
        covariance = fit.covariance.matrix(problem.width)
        cell = shared_free_terms(
            problem.features, problem.targets, fit.mean, covariance, problem.prior_precision, fit.noise_var**0.5
        )
        data = float(cell.data_terms.sum())
        dense = mixed_model(problem, fit.mean, covariance, fit.noise_var)
        apart = _minimised(problem)
        limit, _ = _free_cell(problem, LIMIT)
        penalised, moved = _free_cell(problem, problem.prior_precision)
        margins = (
            at_most("data term against the dense mixed model, relative", relative_difference(data, dense), 1e-9),
            at_most(
                "minimum: random coefficients against Nelder-Mead", abs(fit.neg_log_likelihood - apart), 1e-6, "nats"
            ),
            at_most("minimum: against the free cell as α → 0", abs(fit.neg_log_likelihood - limit), 1e-5, "nats"),
            at_least(
                "gain over constant coefficients", fit.ordinary_neg_log_likelihood - fit.neg_log_likelihood, 1.0, "nats"
            ),
            at_least("what the prior term costs in likelihood", penalised - fit.neg_log_likelihood, 0.01, "nats"),
        )
        sentence = (
            f"the data term is the likelihood of the dense mixed model, and three optimisers agree on its minimum, "
            f"{fit.neg_log_likelihood:.4f} nats; with the prior term at α = {problem.prior_precision:g} "
            f"the fit is another one: {penalised - fit.neg_log_likelihood:.2f} nats of likelihood lost, Σ "
            f"{np.trace(covariance):.2f} in trace becomes {moved:.2f}"
        )
        return holds_if(margins, sentence)


def mixed_model(problem: Problem, mean: Array, covariance: Array, noise_var: float) -> float:
    """``-log N(y; Xβ, Z(I ⊗ Σ)Zᵀ + σ²I)``: one block of coefficients a row, its design block diagonal."""
    rows, width = problem.features.shape
    design = np.zeros((rows, rows, width))
    design[np.arange(rows), np.arange(rows)] = problem.features
    design = design.reshape(rows, rows * width)
    marginal: Any = design @ np.kron(np.eye(rows), covariance) @ design.T + noise_var * np.eye(rows)
    return -float(multivariate_normal(problem.features @ mean, marginal).logpdf(problem.targets))


def _minimised(problem: Problem) -> float:
    """The least negative log likelihood over ``(β, log s, log σ²)``, without gradients and with the mean free."""

    def objective(parameters: Array) -> float:
        mean, scales = parameters[: problem.width], np.exp(parameters[problem.width : -1])
        variances = np.exp(parameters[-1]) + problem.features**2 @ scales
        residuals = problem.targets - problem.features @ mean
        return 0.5 * float(np.sum(np.log(2.0 * np.pi * variances) + residuals**2 / variances))

    ordinary = np.linalg.lstsq(problem.features, problem.targets, rcond=None)[0]
    found = []
    for scale in (0.05, 0.5):
        start = np.concatenate([ordinary, np.full(problem.width, np.log(scale)), [np.log(0.2)]])
        options = {"maxiter": 4000, "maxfev": 4000, "xatol": 1e-7, "fatol": 1e-10}
        found.append(minimize(objective, start, method="Nelder-Mead", options=options).fun)
    return float(min(found))


def _free_cell(problem: Problem, precision: float) -> tuple[float, float]:
    """The data term where the whole objective is least, at a prior precision, and the trace of ``Σ`` there."""
    found = find_free_optimum(
        problem.features,
        problem.targets,
        problem.generator(),
        family="diagonal",
        prior_precision=precision,
        jitter=0.0,
        starts=Start(precision, problem.noise_scale),
    )
    overlap = prior_overlap(found.mean, found.covariance, precision)
    return found.value - overlap.value, float(np.trace(found.covariance.matrix(problem.width)))
