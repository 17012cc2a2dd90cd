"""The data term is a strictly proper score of the predictive density (theory 3.8d), not of the parameters (7.3)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.stats import norm

from corners.claims import CLAIMS
from corners.claims._base import HOLDS, Claim, Finding, at_least, at_most, holds_if, relative_difference
from corners.claims._problems import Problem, drawn_problem
from corners.exact import Evidence, gaussian_plates
from corners.types import Array

NODES = 20
DATA_SETS = 200
ROUNDING = 1e-9


class Forecast(NamedTuple):
    """What the data term is made of: means and variances of the latent value, and the noise scale."""

    means: Array
    variances: Array
    noise_scale: float

    def predictive_var(self) -> Array:
        """``V = σ² + v``."""
        return self.noise_scale**2 + self.variances


@CLAIMS.register("proper_scoring")
@dataclass(frozen=True)
class ProperScoring(Claim):
    """The data term is a strictly proper score of the predictive density, and blind to parameters that predict alike.

    Targets come from the posterior predictive p*; the score of p* and of wrong forecasts is averaged by quadrature and
    by simulation, and held against entropy plus divergence. What makes it proper is that ``exp(-ℓ)`` is a density.
    """

    name: ClassVar[str] = "proper_scoring"
    statement: ClassVar[str] = (
        "The data term is a strictly proper score of the predictive density, though not of the parameters behind it."
    )
    formula: ClassVar[str] = "E_{y~p*} ℓ(y; q) = H(p*) + KL(p*‖q), least at q = p* alone"
    claimed_in: ClassVar[str] = "paper, proposition 3; theory 3.8d, 7.3"
    expected: ClassVar[str] = HOLDS

    @classmethod
    def example(cls) -> "ProperScoring":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Sixty rows of eight tanh features."""
        return drawn_problem("60 rows, 8 tanh features", seed=2)

    def check(self, problem: Problem) -> Finding:
        """The truth and four wrong forecasts, by quadrature and by simulation; then two ways to say one forecast."""
        truth, wrong, twins = _forecasts(problem)
        candidates = (truth, *wrong)
        expected = np.array([_entropy_and_divergence(truth, each) for each in candidates])
        by_quadrature = np.array([_average(truth, each) for each in candidates])
        excess = by_quadrature[1:] - by_quadrature[0]
        errors = _standard_errors(truth, candidates, expected, problem)
        alike = relative_difference(*(_average(truth, twin) for twin in twins))
        normalised = max(_unnormalised(each) for each in candidates)
        noises = tuple(twin.noise_scale**2 for twin in twins)
        margins = (
            at_most(
                "mean score by quadrature against H + KL, relative",
                relative_difference(by_quadrature, expected),
                ROUNDING,
            ),
            at_most(
                f"mean score of {DATA_SETS} simulated data sets against H + KL",
                errors,
                4.5,
                "standard errors",
            ),
            at_least("smallest excess of a wrong forecast over the truth", float(excess.min()), 1e-6, "nats"),
            at_most("scores of two parameter pairs with one predictive, relative difference", alike, ROUNDING),
            at_least("ratio of the two noise variances", noises[0] / noises[1], 1.9),
            at_most("∫ exp(-ℓ) dy of every plate and forecast, from 1", normalised, ROUNDING),
        )
        sentence = (
            f"the mean score is H + KL to {margins[0].value:.0e} by quadrature and within {errors:.1f} standard errors "
            f"by simulation; wrong forecasts cost {excess.min():.2g} to {excess.max():.2g} nats more than the truth, "
            f"and noise variances {noises[0]:.3g} and {noises[1]:.3g} with one predictive score the same"
        )
        return holds_if(margins, sentence)


def _forecasts(problem: Problem) -> tuple[Forecast, tuple[Forecast, ...], tuple[Forecast, Forecast]]:
    """The posterior predictive, wrong ones, and one forecast said twice by moving noise into a bias (theory 7.3)."""
    features = np.column_stack([np.ones(problem.rows), problem.features])
    mean, covariance = Evidence(features, problem.targets).posterior(problem.prior_precision, problem.noise_scale)
    means, variances = features @ mean, np.einsum("nh,hk,nk->n", features, covariance, features)
    noise = problem.noise_scale
    truth = Forecast(means, variances, noise)
    wrong = (
        truth._replace(means=means + np.sqrt(variances)),
        truth._replace(variances=4.0 * variances),
        truth._replace(variances=0.0 * variances),
        truth._replace(noise_scale=1.5 * noise),
    )
    moved = covariance.copy()
    moved[0, 0] += 0.5 * noise**2
    spread = np.einsum("nh,hk,nk->n", features, moved, features)
    return truth, wrong, (truth, Forecast(means, spread, noise * np.sqrt(0.5)))


def _average(truth: Forecast, forecast: Forecast) -> float:
    """Total expected data term of a forecast, by Gauss-Hermite quadrature over the true predictive."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    scores = [_data_terms(truth.means + node * np.sqrt(truth.predictive_var()), forecast) for node in nodes]
    return float((weights / weights.sum()) @ np.sum(scores, axis=1))


def _entropy_and_divergence(truth: Forecast, forecast: Forecast) -> float:
    """``Σ H(p*) + KL(p*‖q)`` of Gaussians in closed form."""
    ratio = truth.predictive_var() / forecast.predictive_var()
    distance = (truth.means - forecast.means) ** 2 / forecast.predictive_var()
    divergence = 0.5 * (ratio - 1.0 - np.log(ratio) + distance)
    return float(np.sum(norm.entropy(scale=np.sqrt(truth.predictive_var())) + divergence))


def _standard_errors(truth: Forecast, candidates: tuple[Forecast, ...], expected: Array, problem: Problem) -> float:
    """The worst distance of a simulated mean score from what it should be."""
    noise = problem.generator().standard_normal((DATA_SETS, problem.rows))
    targets = truth.means + noise * np.sqrt(truth.predictive_var())
    totals = np.array([[_data_terms(row, each).sum() for row in targets] for each in candidates])
    return float(np.max(np.abs(totals.mean(1) - expected) / (totals.std(1, ddof=1) / np.sqrt(DATA_SETS))))


def _data_terms(targets: Array, forecast: Forecast) -> Array:
    return gaussian_plates(targets, forecast.means, forecast.variances, forecast.noise_scale).value


def _unnormalised(forecast: Forecast) -> float:
    """How far ``∫ exp(-ℓ) dy`` is from one, at the worst of all plates: the trapezoidal rule out to 9 deviations."""
    grid = np.linspace(-9.0, 9.0, 181)
    scale = np.sqrt(forecast.predictive_var())
    heights = [np.exp(-_data_terms(forecast.means + at * scale, forecast)) for at in grid]
    return float(np.max(np.abs((grid[1] - grid[0]) * scale * np.sum(heights, axis=0) - 1.0)))
