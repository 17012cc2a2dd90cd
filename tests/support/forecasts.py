"""Predictives that tests make by hand: class probabilities, and Poisson counts from their definition."""

from typing import ClassVar, Literal

import numpy as np
from hypothesis import strategies as st
from scipy import special, stats

from corners.predictive._base import Predictive
from corners.predictive.categorical import CategoricalPredictive


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis."""
    return special.softmax(logits, axis=-1)


@st.composite
def class_forecasts(draw: st.DrawFn, classes: int | None = None) -> tuple[CategoricalPredictive, np.ndarray]:
    """Class probabilities in hundredths, so that edges, ties, zeros and ones are met, with labels."""
    count, width = draw(st.integers(1, 30)), classes or draw(st.integers(2, 4))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cuts = np.sort(generator.integers(0, draw(st.sampled_from([1, 10, 100])) + 1, (count, width - 1)), axis=1)
    edges = np.column_stack([np.zeros(count), cuts / max(cuts.max(), 1), np.ones(count)])
    return CategoricalPredictive(np.diff(edges, axis=1)), generator.integers(0, width, count).astype(float)


class PoissonPredictive(Predictive):
    """Poisson counts, as a user would write a predictive of their own: scipy's distribution and the definitions."""

    task: ClassVar[Literal["regression", "count"]] = "count"

    def __init__(self, rates: np.ndarray) -> None:
        self.rates = rates

    @property
    def mean(self) -> np.ndarray:
        return self.rates

    @property
    def variance(self) -> np.ndarray:
        return self.rates

    def log_prob(self, targets: np.ndarray) -> np.ndarray:
        return stats.poisson.logpmf(targets, self.rates)

    def cdf(self, targets: np.ndarray) -> np.ndarray:
        return stats.poisson.cdf(targets, self.rates)

    def quantile(self, level: float) -> np.ndarray:
        return stats.poisson.ppf(level, self.rates)

    def crps(self, targets: np.ndarray) -> np.ndarray:
        """``(y - λ)(2 F(y) - 1) + 2 λ p(y) - λ e^{-2λ} (I_0(2λ) + I_1(2λ))``."""
        spread = special.ive(0, 2.0 * self.rates) + special.ive(1, 2.0 * self.rates)
        distance = (targets - self.rates) * (2.0 * self.cdf(targets) - 1.0)
        return distance + self.rates * (2.0 * stats.poisson.pmf(targets, self.rates) - spread)

    def sample(self, count: int, generator: np.random.Generator) -> np.ndarray:
        return generator.poisson(self.rates, (count, self.rates.size)).astype(float)
