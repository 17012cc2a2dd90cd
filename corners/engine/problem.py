"""A cell on a batch of splits, as the optimiser wants it: objective, validation, what is watched, what is clamped."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Prior, RoutedBelief
from corners.covariances._base import Params
from corners.data.batch import PartBatch, SplitBatch
from corners.engine.corner import Corner
from corners.engine.evidence_tied import mackay_log_precision

LEVELS = torch.arange(1, 20, dtype=torch.float64) / 20.0
"""Nominal coverages of the calibration error (theory 11)."""


class CornerProblem:
    """A cell on a batch of splits, as :func:`corners.optimise.train` wants it."""

    def __init__(
        self,
        corner: Corner,
        data: SplitBatch,
        generators: list[torch.Generator],
        batch_size: int | None = None,
        reduction: str = "sum",
    ) -> None:
        self.corner, self.data, self.generators, self.reduction = corner, data, generators, reduction
        rows = data.train.targets.shape[-1]
        self.batch_size = None if batch_size is None or batch_size >= rows else batch_size
        self._order: Tensor | None = None
        self._used = 0

    @property
    def count(self) -> int:
        """Number of replicates."""
        return self.data.count

    @property
    def steps_per_epoch(self) -> int:
        """Steps that see every training row once."""
        rows = self.data.train.targets.shape[-1]
        return 1 if self.batch_size is None else max(1, rows // self.batch_size)

    def objective(self, params: Params, step: int) -> tuple[Float[Tensor, " B"], RoutedBelief]:
        """Free energy of every replicate, on all rows or on the next mini-batch; divided by all rows for a mean."""
        part = self.data.train if self.batch_size is None else self.data.train.rows(self._next_rows())
        features = self.corner.backbone.features(params, part.inputs)
        routed = self.corner.route(params, features, part.targets)
        rows = self.data.train.targets.shape[-1]
        data_size = None if self.batch_size is None else rows
        energy = self.corner.energy(params, features, part.targets, routed, data_size)
        if self.reduction == "mean":
            return (energy.data + energy.prior + energy.hyperprior) / rows + energy.penalty, routed
        return energy.total, routed

    def validation(self, params: Params, state: RoutedBelief) -> Float[Tensor, " B"]:
        """Mean NLL of the validation part under the present belief."""
        return self._nll(params, state, self.data.validation)

    def calibration_error(self, params: Params, state: RoutedBelief) -> Float[Tensor, " B"]:
        """Mean of |coverage - level| over 19 levels, on the validation part (theory 11); the mean of all outputs'."""
        part, likelihood = self.data.validation, self.corner.likelihood
        noise_var = likelihood.noise_var(params)
        assert noise_var is not None  # a method of another head refuses this stopping rule
        features = self.corner.latent_features(self.corner.backbone.features(params, part.inputs))
        marginals = state.belief.detach().marginals(features)
        z = (part.targets - marginals.mean).abs() / (noise_var[..., None] + marginals.variance).sqrt()
        limits = torch.special.ndtri(0.5 + 0.5 * LEVELS)
        covered = (z[..., None] <= limits.to(z.dtype)).double().mean(-2)
        error = (covered - LEVELS).abs().mean(-1)
        return error if likelihood.target_columns == 1 else error.mean(-1)

    def watched(self, params: Params, state: RoutedBelief) -> dict[str, Float[Tensor, " B"]]:
        """Test NLL, prior precision and noise scale (original units; one an output) for the trace."""
        values = {
            "test_nll": self._nll(params, state, self.data.test),
            "prior_precision": one_precision(state.prior_precision.detach(), self.corner.likelihood.latents),
        }
        noise_var = self.corner.likelihood.noise_var(params)
        if noise_var is None:
            return values
        noise_scale, each = noise_var.detach().sqrt(), self.data.target_scale
        if each is None:
            return values | {"noise_scale": noise_scale * self.data.log_scale.exp()}
        return values | {f"noise_scale_{p}": own for p, own in enumerate((noise_scale * each).unbind(-1))}

    def adjust(self, params: Params, step: int, state: RoutedBelief) -> None:
        """Clamp to bounds (outside the graph: a clamp inside it zeroes the gradient) and tie the precision."""
        every = self.corner.prior.evidence_tied
        if every and step % every == 0:
            self.tie_precision(params)
        for name, (low, high) in self.corner.bounds().items():
            params[name].clamp_(low, high)
        for name, bound in self.corner.likelihood.ceiling(params).items():
            params[name].copy_(torch.minimum(params[name], bound))

    def tie_precision(self, params: Params, calls: int = 1) -> None:
        """Move the prior precision to (or, in one call, towards) its evidence fixed point, where it is tied."""
        noise_var = self.corner.likelihood.noise_var(params)
        if not self.corner.prior.evidence_tied or noise_var is None:
            return
        with torch.no_grad():
            features = self.corner.backbone.features(params, self.data.train.inputs)
            # Every output has an evidence of its own: outputs count as replicates here.
            each = self.corner.latent_features(features).reshape(-1, *features.shape[-2:])
            targets = self.data.train.targets.reshape(-1, features.shape[-2])
            for _ in range(calls):
                old = params[Prior.parameter]
                tied = mackay_log_precision(each, targets, old.reshape(-1), noise_var.reshape(-1))
                old.copy_(tied.reshape(old.shape).clamp(*self.corner.prior.bounds()[Prior.parameter]))

    def select(self, index: Tensor) -> "CornerProblem":
        """The replicates ``index`` alone, each with its own stream of mini-batches."""
        chosen = CornerProblem(
            self.corner,
            self.data.select(index),
            [self.generators[i] for i in index.tolist()],
            self.batch_size,
            self.reduction,
        )
        if self._order is not None:
            chosen._order, chosen._used = self._order[index], self._used
        return chosen

    def _nll(self, params: Params, state: RoutedBelief, part: PartBatch) -> Float[Tensor, " B"]:
        features = self.corner.latent_features(self.corner.backbone.features(params, part.inputs))
        marginals = state.belief.detach().marginals(features)
        log_prob = self.corner.likelihood.log_predictive(params, part.targets, marginals)
        return -log_prob.mean(-1) + self.data.log_scale

    def _next_rows(self) -> Float[Tensor, "B M"] | Any:
        rows = self.data.train.targets.shape[-1]
        assert self.batch_size is not None
        if self._order is None or self._used + self.batch_size > rows:
            self._order = torch.stack([torch.randperm(rows, generator=each) for each in self.generators])
            self._used = 0
        chosen = self._order[:, self._used : self._used + self.batch_size]
        self._used += self.batch_size
        return chosen


def one_precision(precision: Tensor, latents: int) -> Float[Tensor, "*B"]:
    """One number a replicate: where every latent function has its own precision, their geometric mean."""
    return precision if latents == 1 else precision.log().mean(-1).exp()
