"""Dropout on a network's last features, whatever its head: masks, objective, and what a grid of rates adds."""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from corners.baselines._heads import Head
from corners.baselines._network_fit import derived_seed
from corners.baselines._network_problem import WEIGHTS, MapProblem, latent_values
from corners.baselines._networks import NetworkMethod
from corners.covariances._base import Params
from corners.data.batch import PartBatch, SplitBatch
from corners.errors import SpecError
from corners.selection import Candidate

TRAINING, PREDICTION = 0, 1
"""What a seed's streams of masks are for."""


def uniforms(rows: int, size: int, seed: int, *key: int) -> Float[Tensor, "S H"]:
    """Numbers in [0, 1) that decide what is dropped; the same whatever the dtype of training, or the rate."""
    generator = torch.Generator().manual_seed(derived_seed(seed, *key))
    return torch.rand(rows, size, generator=generator, dtype=torch.float32)


def kept(draws: Float[Tensor, "*B S H"], rates: Float[Tensor, "*B"]) -> Bool[Tensor, "*B S H"]:
    """Which features stay: each with probability ``1 - rate``."""
    return draws >= rates[..., None, None]


def rescaled(weights: Tensor, rates: Float[Tensor, "*B"]) -> Tensor:
    """``W / (1 - rate)``, for weights with any number of dimensions behind those of the rates."""
    return weights / (1.0 - rates).reshape(rates.shape + (1,) * (weights.dim() - rates.dim()))


def passes_of(weights: Tensor, draws: Float[Tensor, "*B S H"], rates: Float[Tensor, "*B"]) -> Tensor:
    """``W ⊙ z_s / (1 - rate)``: the last layer of every pass, ``(*B, S, H)`` or, for K functions, ``(*B, S, K, H)``."""
    masks = kept(draws, rates)
    if weights.dim() == draws.dim():  # (*B, K, H): a pass drops a feature for all K
        return rescaled(weights, rates)[..., None, :, :] * masks[..., None, :]
    return rescaled(weights, rates)[..., None, :] * masks


def pass_latents(features: Float[Tensor, "*B N H"], passes: Tensor) -> Tensor:
    """``W_sψ_n`` with passes leading: ``(S, *B, N)`` or ``(S, *B, K, N)``."""
    if passes.dim() == features.dim():
        return torch.einsum("...nh,...sh->s...n", features, passes)
    return torch.einsum("...nh,...skh->s...kn", features, passes)


@dataclass(frozen=True)
class DropoutProblem(MapProblem):
    """``map``'s objective with every training point's features dropped anew at every step.

    Validation is that of the predictive itself: the mixture over the passes, whose masks stay the same all along.
    """

    rates: Float[Tensor, " B"]
    seeds: tuple[int, ...]
    pass_draws: Float[Tensor, "B S H"]

    def losses(self, params: Params, step: int) -> Float[Tensor, "B N"]:
        """``-log p(y_n | W(z_n ⊙ ψ_n) / (1 - rate))`` with this step's masks ``z_n``."""
        features = self.backbone.features(params, self.data.train.inputs)
        rows, size = features.shape[-2:]
        dropped = features * kept(self._step_draws(rows, size, step), self.rates)
        latent = latent_values(rescaled(params[WEIGHTS], self.rates), dropped)
        return -self.likelihood.log_prob(params, self.data.train.targets, latent)

    def mean(self, params: Params, part: PartBatch) -> Float[Tensor, "B N"]:
        """Mean over the passes, the centre of the residuals that a noise from validation is made of."""
        weights = passes_of(params[WEIGHTS], self.pass_draws, self.rates).mean(1)
        return (self.backbone.features(params, part.inputs) @ weights[..., None])[..., 0]

    def log_prob(self, params: Params, part: PartBatch) -> Float[Tensor, "B N"]:
        """Log density of the mixture over the passes."""
        features = self.backbone.features(params, part.inputs)
        latents = pass_latents(features, passes_of(params[WEIGHTS], self.pass_draws, self.rates))
        targets = part.targets.expand(len(latents), *part.targets.shape)
        log_prob = self.likelihood.log_prob(params, targets, latents)
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
class DropoutMethod(NetworkMethod):
    """Networks trained with dropout on their last features, predicting by the mixture over random passes."""

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

    def _problem(self, head: Head, data: SplitBatch, seeds: list[int], size: int) -> DropoutProblem:
        base = super()._problem(head, data, seeds, size)
        own = {seed: uniforms(self.passes, size, seed, PREDICTION) for seed in set(seeds)}
        return DropoutProblem(
            base.backbone,
            base.likelihood,
            base.data,
            base.penalties,
            base.backbone_penalty,
            noise=base.noise,
            reduction=base.reduction,
            rates=self._column("rate", seeds),
            seeds=tuple(seeds),
            pass_draws=torch.stack([own[seed] for seed in seeds]),
        )
