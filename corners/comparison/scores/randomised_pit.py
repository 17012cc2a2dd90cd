"""Randomised probability integral transform of counts: uniform over [0, 1] if the predictive is right."""

from dataclasses import dataclass
from typing import ClassVar

from corners.comparison.scores._base import SCORES, Score, ScoreRule, Task, mean_score
from corners.comparison.scores._central import randomised_transform
from corners.predictive._base import Predictive
from corners.types import Array, Float


@SCORES.register("randomised_pit")
@dataclass(frozen=True)
class RandomisedPit(ScoreRule):
    """``F_n(y_n - 1) + u_n P(Y_n = y_n)``, ``u_n`` uniform and fixed by ``seed`` (theory 11); nominal mean one half.

    The plain PIT of a count is not uniform, however right the predictive. The ``u_n`` belong to the rows: the same
    points in another order have other values.

    Reference: Czado, Gneiting and Held (2009), Predictive model assessment for count data.

    Example
    -------
    >>> import numpy as np
    >>> from corners.predictive.count import CountPredictive
    >>> surely_zero = CountPredictive(np.full(1, -100.0), np.zeros(1), log_pmf=np.zeros_like)
    >>> bool(RandomisedPit(seed=5)(surely_zero, np.zeros(1)).mean == np.random.default_rng(5).random())
    True
    """

    tasks: ClassVar[tuple[Task, ...]] = ("count",)

    seed: int = 0

    def __call__(self, predictive: Predictive, targets: Float[Array, " N"]) -> Score:
        """Score the predictive."""
        return mean_score(
            "randomised_pit", randomised_transform(predictive, targets, self.seed), "fraction", "nominal", 0.5
        )

    @classmethod
    def example(cls) -> "RandomisedPit":
        """The first seed."""
        return cls()
