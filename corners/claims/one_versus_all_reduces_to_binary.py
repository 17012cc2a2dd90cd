"""Two one-versus-all heads are not the binary probit, and their loss scores no forecast of the label (theory 13.11)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr, ndtri

from corners.claims import CLAIMS
from corners.claims._base import FAILS, Claim, Finding, at_least, at_most, fails_if
from corners.claims._problems import Problem
from corners.exact import prior_overlap
from corners.types import Array

TRUTH = 0.8
"""Probability of label 1 in the counterexample to properness."""
RIGHT, WRONG = (0.1, 0.4), (0.3, 0.75)
"""What the heads of labels 0 and 1 give themselves: 0.4/0.5 is the truth, 0.75/1.05 is not."""
OWN_PRECISION = 10.0
"""Prior precision of the head of label 0 where it has one of its own."""
ROUNDING = 1e-12


@CLAIMS.register("one_versus_all_reduces_to_binary")
@dataclass(frozen=True)
class OneVersusAllReducesToBinary(Claim):
    """Two one-versus-all heads are not the binary probit, and their loss is no proper score of their forecast.

    Heads that mirror each other forecast as the binary head does, at twice its loss; heads that do not forecast
    otherwise. Two pairs of heads for one known probability: the right forecast scores worse than the wrong one.
    """

    name: ClassVar[str] = "one_versus_all_reduces_to_binary"
    statement: ClassVar[str] = "For two classes the one-versus-all loss is exactly the binary probit loss."
    formula: ClassVar[str] = (
        "-Σ_k log Φ(s_k t_k) ≠ -log Φ(s t), and Σ_y exp(-loss) ≠ 1; forecast Φ(t_1)/(Φ(t_0) + Φ(t_1))"
    )
    claimed_in: ClassVar[str] = "paper, one-versus-all head for K = 2; theory 6.1, 13.11"
    expected: ClassVar[str] = FAILS
    takes_data: ClassVar[bool] = False

    @classmethod
    def example(cls) -> "OneVersusAllReducesToBinary":
        """A member for the law suite."""
        return cls()

    def problem(self) -> Problem:
        """Thirty rows of two features and a constant; targets are labels 0 and 1."""
        generator = np.random.default_rng(10)
        features = np.column_stack([generator.standard_normal((30, 2)), np.ones(30)])
        latent = features @ np.array([1.0, -0.5, 0.6]) + generator.standard_normal(30)
        return Problem("30 labels, 2 features and a constant", features, (latent > 0.0).astype(float), 1.0, 1.0, 10)

    def check(self, problem: Problem) -> Finding:
        """Losses and forecasts of mirrored heads, of heads that are not, and of two given pairs of heads."""
        labels = problem.targets
        value, latent = _trained(problem, labels, problem.prior_precision)
        other, opposite = _trained(problem, 1.0 - labels, problem.prior_precision)
        _, apart = _trained(problem, 1.0 - labels, OWN_PRECISION)
        mirrored, unlike = np.stack([opposite, latent]), np.stack([apart, latent])
        loss, binary = heads_loss(labels, mirrored), -log_ndtr((2.0 * labels - 1.0) * latent)
        mass = sum(float(np.exp(-heads_loss(np.full(1, label), np.zeros((2, 1)))).item()) for label in (0.0, 1.0))
        (right, cost), (wrong, lower) = (_scored(heads) for heads in (RIGHT, WRONG))
        margins = (
            at_least("trained objective of two heads over that of the binary head", (value + other) / value, 1.9),
            at_most("mirrored heads: loss against twice the binary loss", _largest(loss - 2.0 * binary), 1e-4, "nats"),
            at_most("mirrored heads: forecast against the binary one", _apart(mirrored, latent), 1e-4),
            at_least("heads with priors of their own: forecast against the binary one", _apart(unlike, latent), 0.01),
            at_least("exp(-loss) added up over the labels at t = 0, from 1", abs(mass - 1.0), 0.4),
            at_most("the right forecast, from the true probability", abs(right - TRUTH), ROUNDING),
            at_least("the wrong forecast, from the true probability", abs(wrong - TRUTH), 0.05),
            at_least("mean loss of the right forecast over the wrong one's", cost - lower, 0.1, "nats"),
        )
        sentence = (
            f"two trained heads mirror each other: the forecast is the binary one, the objective {value + other:.2f} "
            f"nats against {value:.2f}; with priors of their own they forecast otherwise, by up to "
            f"{_apart(unlike, latent):.2f}; exp(-loss) adds up to {mass:.2f} at t = 0, and under a probability of "
            f"{TRUTH:g} the forecast {right:.2f} costs {cost:.2f} nats, the forecast {wrong:.2f} only {lower:.2f}"
        )
        return fails_if(margins, sentence)


def heads_loss(labels: Array, latents: Array) -> Array:
    """The library's one-versus-all loss of a label at two latent values, no variance."""
    return -_head().log_partition({}, *_tensors(labels, latents)).numpy()


def heads_forecast(latents: Array) -> Array:
    """The library's normalised probability of label 1."""
    return _head().log_predictive({}, *_tensors(np.ones(latents.shape[1]), latents)).exp().numpy()


def _head() -> Any:
    from corners.likelihoods.one_vs_all import OneVsAll

    return OneVsAll(classes=2)


def _tensors(labels: Array, latents: Array) -> tuple[Any, Any]:
    import torch

    from corners.beliefs import Marginals

    means = torch.from_numpy(np.array(latents))
    return torch.from_numpy(np.array(labels)), Marginals(means, torch.zeros_like(means))


def _trained(problem: Problem, labels: Array, precision: float) -> tuple[float, Array]:
    """The least ``-log Z_w + Σ -log Φ(s_n wᵀψ_n)`` of one binary head with a point belief, and its latent values."""
    signs = 2.0 * labels - 1.0

    def objective(weights: Array) -> float:
        data = -float(log_ndtr(signs * (problem.features @ weights)).sum())
        return prior_overlap(weights, None, precision).value + data

    found = minimize(objective, np.zeros(problem.width), method="BFGS")
    return float(found.fun), problem.features @ found.x


def _scored(heads: tuple[float, float]) -> tuple[float, float]:
    """Forecast of label 1 and mean loss under ``TRUTH``, of the probabilities that the two heads give themselves."""
    latents = ndtri(np.array(heads))[:, None]
    loss = [float(heads_loss(np.full(1, label), latents).item()) for label in (0.0, 1.0)]
    return float(heads_forecast(latents).item()), (1.0 - TRUTH) * loss[0] + TRUTH * loss[1]


def _apart(latents: Array, latent: Array) -> float:
    """The largest difference between the forecast of two heads and ``Φ`` of one."""
    return _largest(heads_forecast(latents) - ndtr(latent))


def _largest(difference: Array) -> float:
    return float(np.max(np.abs(difference)))
