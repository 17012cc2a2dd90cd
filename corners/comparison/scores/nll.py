"""Negative log predictive density or probability, nats per observation."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.predictive._base import Predictive
from corners.predictive.categorical import CategoricalPredictive
from corners.types import Array, Float

LOWEST_PROBABILITY = 1e-12


@SCORES.register("nll")
@dataclass(frozen=True)
class Nll(ScoreRule):
    """Mean of ``-log p(y_n)`` over the test points, in nats per observation of the original target scale (theory 11).

    Rescaling a continuous target by ``a`` adds ``log a``. Of classes, ``p(y_n)`` is the probability of the true class,
    clipped at 1e-12 from below: one certain mistake costs 27.6 nats, not infinity. Counts are not clipped.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.gaussian import GaussianPredictive
    >>> one_nat = GaussianPredictive(np.zeros(1), np.full(1, np.exp(2.0) / (2.0 * np.pi)))
    >>> round(Nll()(one_nat, np.zeros(1)).mean, 12)
    1.0
    """

    tasks: ClassVar[tuple[Task, ...]] = ("regression", "classification", "count")

    def __call__(self, predictive: Predictive | CategoricalPredictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        log_prob = predictive.log_prob(targets)
        if isinstance(predictive, CategoricalPredictive):
            log_prob = np.maximum(log_prob, np.log(LOWEST_PROBABILITY))
        return mean_score("nll", -log_prob, "nats per observation", "lower")

    @classmethod
    def example(cls) -> "Nll":
        """The rule itself: it has no settings."""
        return cls()
