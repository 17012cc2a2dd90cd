"""A stand-in for the sampler: exact draws of a Gaussian last layer, to test what surrounds it in no time."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

from corners.method import LastLayer
from tests.support import dense_cells as dense

Array = np.ndarray


class Moments(NamedTuple):
    """Location (S, N) and noise scale (S,) of every draw's own predictive."""

    location: Array
    scale: Array


@dataclass(frozen=True)
class Drawn:
    """Draws as a gated reference posterior has them: (chains, draws, H)."""

    draws: Array
    precision: float
    noise: float

    def predictive_draws(self, features: Array) -> Moments:
        flat = self.draws.reshape(-1, self.draws.shape[-1])
        return Moments(flat @ features.T, self.noise_scale())

    def prior_precision(self) -> Array:
        return np.full(self.draws[..., 0].size, self.precision)

    def noise_scale(self) -> Array:
        return np.full(self.draws[..., 0].size, self.noise)


@dataclass
class Sampler:
    """Takes the place of ``corners.baselines._sampling.sample_layer``; remembers what it was asked."""

    asked: list[dict] = field(default_factory=list)
    failing: Exception | None = None

    def __call__(
        self,
        layer: LastLayer,
        *,
        hierarchical: bool = False,
        draws: int = 500,
        chains: int = 4,
        seed: int | None = None,
    ) -> Drawn:
        self.asked.append({"layer": layer, "hierarchical": hierarchical, "draws": draws, "seed": seed})
        if self.failing is not None:
            raise self.failing
        mean, covariance = dense.posterior(layer.features, layer.targets, layer.prior_precision, layer.noise_var)
        generator = np.random.default_rng(seed)
        draws_ = generator.multivariate_normal(mean, covariance, size=(chains, draws))
        return Drawn(draws_, layer.prior_precision, layer.noise_var**0.5)


@pytest.fixture
def sampler(monkeypatch: pytest.MonkeyPatch) -> Sampler:
    """The stand-in, in place."""
    stand_in = Sampler()
    monkeypatch.setattr("corners.baselines._sampling.sample_layer", stand_in)
    return stand_in
