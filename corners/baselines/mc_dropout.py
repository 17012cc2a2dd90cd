"""Monte Carlo dropout on the last features of a MAP network with learned noise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from corners.baselines._network_fit import NetworkFit, derived_seed, validation_scores
from corners.baselines._network_problem import WEIGHTS, MapProblem
from corners.baselines._networks import NetworkMethod
from corners.covariances._base import Params
from corners.data.batch import PartBatch, SplitBatch
from corners.errors import SpecError
from corners.method import METHODS
from corners.predictive.gaussian import GaussianPredictive
from corners.predictive.mixture import MixturePredictive
from corners.selection import Candidate
from corners.types import Array

if TYPE_CHECKING:
    from corners.data.split import Split

TRAINING, PREDICTION = 0, 1
"""What a seed's streams of masks are for."""


def uniforms(rows: int, size: int, seed: int, *key: int) -> Float[Tensor, "S H"]:
    """Numbers in [0, 1) that decide what is dropped; the same whatever the dtype of training, or the rate."""
    generator = torch.Generator().manual_seed(derived_seed(seed, *key))
    return torch.rand(rows, size, generator=generator, dtype=torch.float32)


def kept(draws: Float[Tensor, "*B S H"], rates: Float[Tensor, "*B"]) -> Bool[Tensor, "*B S H"]:
    """Which features stay: each with probability ``1 - rate``."""
    return draws >= rates[..., None, None]


def passes_of(
    weights: Float[Tensor, "*B H"], draws: Float[Tensor, "*B S H"], rates: Float[Tensor, "*B"]
) -> Float[Tensor, "*B S H"]:
    """``w ⊙ z_s / (1 - rate)``: the last layer of every pass."""
    scaled = weights / (1.0 - rates)[..., None]
    return scaled[..., None, :] * kept(draws, rates)


@dataclass(frozen=True)
class DropoutProblem(MapProblem):
    """``map``'s objective with every training point's features dropped anew at every step.

    Validation is that of the predictive itself: the mixture over the passes, whose masks stay the same all along.
    """

    rates: Float[Tensor, " B"]
    seeds: tuple[int, ...]
    pass_draws: Float[Tensor, "B S H"]

    def losses(self, params: Params, step: int) -> Float[Tensor, "B N"]:
        """``-log N(y_n; wᵀ(z_n ⊙ ψ_n) / (1 - rate), σ²)`` with this step's masks ``z_n``."""
        features = self.backbone.features(params, self.data.train.inputs)
        rows, size = features.shape[-2:]
        dropped = features * kept(self._step_draws(rows, size, step), self.rates)
        weights = params[WEIGHTS] / (1.0 - self.rates)[:, None]
        latent = (dropped @ weights[..., None])[..., 0]
        return -self.likelihood.log_prob(params, self.data.train.targets, latent)

    def mean(self, params: Params, part: PartBatch) -> Float[Tensor, "B N"]:
        """Mean over the passes, the centre of the residuals that a noise from validation is made of."""
        weights = passes_of(params[WEIGHTS], self.pass_draws, self.rates).mean(1)
        return (self.backbone.features(params, part.inputs) @ weights[..., None])[..., 0]

    def log_prob(self, params: Params, part: PartBatch) -> Float[Tensor, "B N"]:
        """Log density of the mixture over the passes."""
        features = self.backbone.features(params, part.inputs)
        weights = passes_of(params[WEIGHTS], self.pass_draws, self.rates)
        latents = torch.einsum("bnh,bsh->sbn", features, weights)
        log_prob = self.likelihood.log_prob(params, part.targets.expand_as(latents), latents)
        return log_prob.logsumexp(0) - math.log(len(latents))

    def select(self, index: Tensor) -> "DropoutProblem":
        """The pairs ``index`` alone."""
        return replace(
            self,
            data=self.data.select(index),
            penalties=self.penalties[index],
            rates=self.rates[index],
            seeds=tuple(self.seeds[row] for row in index.tolist()),
            pass_draws=self.pass_draws[index],
        )

    def _step_draws(self, rows: int, size: int, step: int) -> Float[Tensor, "B N H"]:
        """One draw a seed, shared by the candidates of the grid: they differ by what they are, not by their masks."""
        own = {seed: uniforms(rows, size, seed, TRAINING, step) for seed in set(self.seeds)}
        return torch.stack([own[seed] for seed in self.seeds])


@dataclass(frozen=True)
class McDropoutFit(NetworkFit):
    """Fit of :class:`McDropout`; features are those without dropout."""

    passes: int = 50

    def predict(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> MixturePredictive:
        """``(1/S) Σ_s N((w ⊙ z_s)ᵀψ / (1 - rate), σ²)`` in original units.

        A pass drops the same features at every input: it is one function, and a point's predictive does not depend on
        the points beside it.
        """
        own = self._usable(replicate)
        features, weights = self._features(inputs, replicate), own.params[WEIGHTS]
        draws = uniforms(self.passes, len(weights), self.seeds[replicate], PREDICTION)
        latents = passes_of(weights, draws, torch.tensor(own.chosen["rate"], dtype=weights.dtype)) @ features.mT
        means = own.standardiser.original_mean(latents.double().numpy())
        noise_var = np.full_like(means, float(self.likelihood.noise_var(own.params)))
        return MixturePredictive(means, own.standardiser.original_var(noise_var))

    def moments(self, inputs: Float[Array, "..."], *, replicate: int = 0) -> GaussianPredictive:
        """The Gaussian with the mixture's mean and variance."""
        return self.predict(inputs, replicate=replicate).moment_matched


@METHODS.register("mc_dropout")
@dataclass(frozen=True)
class McDropout(NetworkMethod):
    """``map`` trained with dropout on its last features, predicting by the mixture over random passes.

    Parameters
    ----------
    rate_grid : probabilities, in [0, 1), that a feature is dropped; with the penalty, chosen by validation NLL of the
        mixture. Rate 0 is ``map``.
    passes : components of the mixture; their masks are derived from the replicate's seed.
    noise : "learned", or the mean square of the "validation" residuals of the mean over the passes.

    Reference: Gal and Ghahramani (2016), Dropout as a Bayesian approximation, section 4; dropout only where the cells
    of the design space are uncertain too, at the last layer.

    Example
    -------
    >>> McDropout().rate_grid, McDropout().passes
    ((0.1,), 50)
    """

    name: str = "mc_dropout"
    rate_grid: tuple[float, ...] = (0.1,)
    passes: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.rate_grid or not all(0.0 <= rate < 1.0 for rate in self.rate_grid):
            raise SpecError(f"rate_grid must hold at least one dropout rate, each in [0, 1); got {self.rate_grid}")
        if self.passes < 1:
            raise SpecError(f"at least 1 pass is needed to predict; got passes={self.passes}")

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Every penalty with every rate."""
        return tuple({"penalty": penalty, "rate": rate} for penalty in self.penalty_grid for rate in self.rate_grid)

    def _made(self, **fields: Any) -> McDropoutFit:
        return McDropoutFit(**fields, passes=self.passes)

    def _found(self, fit: McDropoutFit, replicate: int, split: "Split") -> Mapping[str, float]:
        return validation_scores(fit.predict(split.validation.inputs, replicate=replicate), split)

    def _problem(self, data: SplitBatch, seeds: list[int], size: int) -> DropoutProblem:
        own = {seed: uniforms(self.passes, size, seed, PREDICTION) for seed in set(seeds)}
        return DropoutProblem(
            self.backbone,
            self.likelihood,
            data,
            self._column("penalty", seeds),
            self.backbone_penalty,
            noise=self.noise,
            reduction=self.reduction,
            rates=self._column("rate", seeds),
            seeds=tuple(seeds),
            pass_draws=torch.stack([own[seed] for seed in seeds]),
        )
