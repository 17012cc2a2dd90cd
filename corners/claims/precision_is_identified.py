"""The free objective says ever less of the prior precision as the covariance outgrows the prior (theory 7.3)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if
from corners.claims._problems import Problem
from corners.claims._shared_cell import end_slope, shared_cell
from corners.exact import (
    DiagonalCovariance,
    FreeOptimum,
    PlateTerms,
    Start,
    find_free_optimum,
    gaussian_plates,
    gradient_from_plates,
    shared_free_gradient,
)
from corners.types import Array, Float

DRAWS = 300
REACHES = (0.1, 10.0, 1000.0)
"""``αλ(Σ)``: how wide the covariance is beside the prior."""
RELATIVE_SCALES = np.array([1.0, 1.5, 2.0, 3.0])
STANDARD_ERRORS = 4.5
STEP = 1e-4


@CLAIMS.register("precision_is_identified")
@dataclass(frozen=True)
class PrecisionIsIdentified(Claim):
    """Information and gradient of ``log α`` as ``αλ(Σ)`` grows, and what the gradient is at two optima.

    The information ``½Σ(1 + αλᵢ)⁻²`` is held against the mean square of the score over means drawn from ``N(0, Σ +
    I/α)``, in standard errors; the gradient against a difference of scipy's densities. Where the optimum over ``Σ`` is
    interior (targets whose weights are redrawn in every row) the gradient is ``α⁻¹Σ gₙ‖ψₙ‖²``, a matter of the plates;
    on the boundary (targets of one noise level) it is not even that.
    """

    name: ClassVar[str] = "precision_is_identified"
    statement: ClassVar[str] = "The free objective identifies the prior precision."
    formula: ClassVar[str] = (
        "I(log α)/I(log α at Σ = 0) = (1/H) Σ (1 + αλᵢ)⁻² → 0, ∂F/∂ log α = O(1/α) as αλ_min(Σ) → ∞"
    )
    claimed_in: ClassVar[str] = "paper v1 and v2, empirical Bayes for α; theory 7.3"
    expected: ClassVar[str] = FAILS
    takes_data: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "PrecisionIsIdentified":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """A hundred rows of two Gaussian features whose weights are redrawn in every row."""
        generator = np.random.default_rng(14)
        features = generator.normal(size=(100, 2))
        weights = np.array([1.0, -0.5]) + generator.normal(size=(100, 2)) * np.array([1.0, 0.7])
        targets = (features * weights).sum(axis=1) + 0.3 * generator.normal(size=100)
        return Problem("100 rows, weights redrawn in each", features, targets, 1.0, 0.3, 14)

    def check(self, problem: Problem) -> Finding:
        """Monte Carlo information, slope of the gradient, and both optima."""
        generator = problem.generator()
        scales = [reach / problem.prior_precision * RELATIVE_SCALES for reach in REACHES]
        shares = [_share(each, problem.prior_precision) for each in scales]
        found = [_monte_carlo(each, problem.prior_precision, generator) for each in scales]
        worst = max(abs(share - mean) / error for share, (mean, error) in zip(shares, found, strict=True))
        precisions = np.array([1e2, 1e4, 1e6])
        gradients = np.array([_gradient(problem, alpha) for alpha in precisions])
        slope = end_slope(np.log(precisions), np.log(np.abs(gradients)))
        difference = abs(_difference(problem, 1e2) - gradients[0]) / abs(gradients[0])
        interior, boundary = _optimum(problem), _optimum(_one_level(problem))
        margins = (
            at_most("information from Monte Carlo, standard errors", worst, STANDARD_ERRORS),
            at_most(f"information at αλ = {REACHES[-1]:g} over that at Σ = 0", shares[-1], 1e-5),
            at_most("exponent of the gradient in α from -1", abs(slope + 1.0), 1e-2),
            at_most("gradient from a difference of scipy's densities, relative", difference, 1e-5),
            at_least("interior optimum: smallest eigenvalue of Σ", _smallest(interior), 1e-2),
            at_most("interior optimum: gradient from Σ g‖ψ‖²/α, relative", _mismatch(problem, interior), 1e-4),
            at_most("boundary optimum: smallest eigenvalue of Σ", _smallest(boundary), 1e-6),
            at_least(
                "boundary optimum: gradient from Σ g‖ψ‖²/α, relative", _mismatch(_one_level(problem), boundary), 1e-2
            ),
        )
        sentence = (
            f"of the information on log α {', '.join(f'{share:.1e}' for share in shares)} are left at αλ = "
            f"{', '.join(f'{reach:g}' for reach in REACHES)}, and the gradient falls as α^{slope:.3f}: from "
            f"{gradients[0]:.1e} nats at α = 1e2 to {gradients[-1]:.1e} at 1e6"
        )
        return fails_if(margins, sentence)


def _share(scales: Float[Array, " H"], alpha: float) -> float:
    """``(1/H) Σ (1 + αλᵢ)⁻²``: the information on ``log α`` relative to that at ``Σ = 0``, which is ``H/2``."""
    return float(((1.0 + alpha * scales) ** -2).mean())


def _monte_carlo(scales: Float[Array, " H"], alpha: float, generator: np.random.Generator) -> tuple[float, float]:
    """The same from the squared scores of means drawn from ``N(0, M)``, and its standard error."""
    width = len(scales)
    means = generator.normal(size=(DRAWS, width)) * np.sqrt(scales + 1.0 / alpha)
    nothing = PlateTerms(np.zeros(1), np.zeros(1), np.zeros(1))  # no data term: the prior term alone knows α
    family, row = DiagonalCovariance(scales), np.zeros((1, width))
    scores = [gradient_from_plates(row, mean, family, alpha, nothing).log_prior_precision for mean in means]
    squares = np.square(scores) * 2.0 / width
    return float(squares.mean()), float(squares.std() / DRAWS**0.5)


def _belief(problem: Problem) -> tuple[Float[Array, " H"], Float[Array, "H H"]]:
    """A mean and a dense covariance of size one."""
    generator = problem.generator()
    root = generator.normal(size=(problem.width, problem.width))
    return generator.normal(size=problem.width), root @ root.T + 0.5 * np.eye(problem.width)


def _gradient(problem: Problem, alpha: float) -> float:
    """``∂F/∂ log α`` at a fixed belief, nats."""
    mean, covariance = _belief(problem)
    found = shared_free_gradient(problem.features, problem.targets, mean, covariance, alpha, problem.noise_scale)
    return found.log_prior_precision


def _difference(problem: Problem, alpha: float) -> float:
    """The same by a central difference of scipy's densities; the plates do not depend on ``α`` and are left out."""
    belief, row, target = _belief(problem), problem.features[:1], problem.targets[:1]
    ends = [shared_cell(row, target, *belief, alpha * np.exp(step), 1.0).prior for step in (-STEP, STEP)]
    return (ends[1] - ends[0]) / (2.0 * STEP)


def _one_level(problem: Problem) -> Problem:
    """The same rows with weights that are the same in each: noise of one level."""
    generator = problem.generator()
    targets = problem.features @ np.array([1.0, -0.5]) + problem.noise_scale * generator.normal(size=problem.rows)
    return Problem("the same rows, one noise level", problem.features, targets, 1.0, problem.noise_scale, problem.seed)


def _optimum(problem: Problem) -> FreeOptimum:
    """A local optimum over mean and dense covariance, without jitter, below ``Σ = 0.01 I``."""
    return find_free_optimum(
        problem.features,
        problem.targets,
        problem.generator(),
        prior_precision=problem.prior_precision,
        noise_scale=problem.noise_scale,
        jitter=0.0,
        starts=Start(problem.prior_precision, problem.noise_scale),
    )


def _smallest(found: FreeOptimum) -> float:
    return float(np.linalg.eigvalsh(found.covariance.matrix(len(found.mean)))[0])


def _mismatch(problem: Problem, found: FreeOptimum) -> float:
    """``|∂F/∂ log α - α⁻¹Σ gₙ‖ψₙ‖²|`` over the size of the gradient."""
    latent = found.covariance.variances(problem.features)
    plates = gaussian_plates(problem.targets, problem.features @ found.mean, latent, found.noise_scale)
    said = float(plates.slope_var @ (problem.features**2).sum(axis=1)) / found.prior_precision
    gradient = gradient_from_plates(problem.features, found.mean, found.covariance, found.prior_precision, plates)
    return abs(said - gradient.log_prior_precision) / abs(gradient.log_prior_precision)
