"""Negative log predictive density, nats per observation."""

from dataclasses import dataclass

from corners.comparison.scores._base import SCORES, Score, ScoreRule, mean_score
from corners.predictive._base import Predictive
from corners.types import Array, Float


@SCORES.register("nll")
@dataclass(frozen=True)
class Nll(ScoreRule):
    """Mean of ``-log p(y_n)`` over the test points, in nats per observation of the original target scale (theory 11).

    Rescaling the target by ``a`` adds ``log a``.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> one_nat = GaussianPredictive(np.zeros(1), np.full(1, np.exp(2.0) / (2.0 * np.pi)))
    >>> round(Nll()(one_nat, np.zeros(1)).mean, 12)
    1.0
    """

    def __call__(self, predictive: Predictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        return mean_score("nll", -predictive.log_prob(targets), "nats per observation", "lower")

    @classmethod
    def example(cls) -> "Nll":
        """The rule itself: it has no settings."""
        return cls()
