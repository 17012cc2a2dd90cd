"""The loss of the vbll package for many replicates at once, and its training problem."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from corners.backbones._base import Backbone
from corners.covariances._base import Params
from corners.data.batch import PartBatch, SplitBatch

HEAD = "layer."
"""Prefix of the package's parameters among those the optimiser moves."""
NOISE, NOISE_MEAN = f"{HEAD}noise_logdiag", f"{HEAD}noise_mean"
PRODUCTS = (torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__)


class OneProduct(TorchFunctionMode):
    """``A b_n`` of one matrix, or ``A_k b_n`` of a few, with many vectors as one product of two matrices.

    The package writes it as a batch of products, for which torch lays down a copy of ``A`` for every row and replicate:
    with 20 replicates of 300 rows and 50 features a training step is then ten times as long. The sums are the same.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The product of matrices where it is one; else what was called."""
        if func in PRODUCTS and len(args) == 2 and _one_matrix(*args):
            matrix, vectors = args
            return (vectors[..., 0] @ matrix.reshape(matrix.shape[-2:]).mT)[..., None]
        if func in PRODUCTS and len(args) == 2 and _few_matrices(*args):
            matrices, vectors = args
            many = vectors[:, 0, :, 0] @ matrices.reshape(-1, matrices.shape[-1]).mT
            return many.reshape(len(vectors), *matrices.shape[:2], 1)
        return func(*args, **(kwargs or {}))


def _one_matrix(matrix: Tensor, vectors: Tensor) -> bool:
    many = vectors.dim() > 2 and vectors.shape[-1] == 1
    return many and 2 <= matrix.dim() <= vectors.dim() and all(size == 1 for size in matrix.shape[:-2])


def _few_matrices(matrices: Tensor, vectors: Tensor) -> bool:
    """``(K, R, H)`` with ``(N, 1, H, 1)``."""
    return matrices.dim() == 3 and vectors.dim() == 4 and vectors.shape[1] == vectors.shape[-1] == 1


@contextmanager
def unchecked() -> Iterator[None]:
    """Distributions of torch that do not look at their parameters.

    Looking is impossible while replicates are mapped over, and would raise, which would stop the siblings too: what is
    no number shows in the loss.
    """
    looked = torch.distributions.Distribution._validate_args
    torch.distributions.Distribution.set_default_validate_args(False)
    try:
        yield
    finally:
        torch.distributions.Distribution.set_default_validate_args(looked)


class Loss(nn.Module):
    """The package's layer, called with features and targets: its negative bound, a mean, or its validation NLL."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer: Any = layer

    def forward(
        self, features: Float[Tensor, "N H"], targets: Float[Tensor, " N"], weight: Float[Tensor, ""], training: bool
    ) -> Float[Tensor, ""]:
        """``train_loss_fn`` or ``val_loss_fn`` of the layer's answer; (N, 1), or the package would go N x N."""
        self.layer.regularization_weight = weight  # no parameter to the package, but each row has its own
        answer = self.layer(features)
        return (answer.train_loss_fn if training else answer.val_loss_fn)(targets[:, None])


class ClassLoss(nn.Module):
    """The package's layer for classes: its negative bound, or the NLL of its predictive.

    The package takes the predictive from twenty random draws a call, of which no two are alike. Here they are the same
    quasi-random ``normals`` at every point, call and replicate.
    """

    def __init__(self, layer: nn.Module, normals: Float[Tensor, "S K"]) -> None:
        super().__init__()
        self.layer: Any = layer
        self.register_buffer("normals", normals)

    def forward(
        self, features: Float[Tensor, "N H"], targets: Float[Tensor, " N"], weight: Float[Tensor, ""], training: bool
    ) -> Float[Tensor, ""]:
        """The package's ``jensen_bound`` and regularisers; or the mean NLL of the average of softmaxes."""
        labels = targets.long()
        if training:
            self.layer.regularization_weight = weight
            return self.layer._get_train_loss_fn(features)(labels)  # its forward() would draw, for nothing
        logits = self.layer.logit_predictive(features)
        log_prob = log_mean_softmax(logits.mean, logits.var, self.get_buffer("normals"))
        return -log_prob.gather(-1, labels[:, None]).mean()


def log_draws(mean: Tensor, variance: Tensor, normals: Float[Tensor, "S K"]) -> Float[Tensor, "S N K"]:
    """``log softmax(m + √v z_s)`` of every draw, logits being independent given the input as the package has them."""
    return (mean + variance.sqrt() * normals[:, None].to(mean.dtype)).log_softmax(-1)


def log_mean_softmax(mean: Tensor, variance: Tensor, normals: Float[Tensor, "S K"]) -> Float[Tensor, "N K"]:
    """Their average, in log space."""
    return log_draws(mean, variance, normals).logsumexp(0) - math.log(len(normals))


def quasi_normals(count: int, classes: int) -> Float[Tensor, "S K"]:
    """Scrambled Sobol points as standard normal numbers, always the same."""
    points = torch.quasirandom.SobolEngine(classes, scramble=True, seed=0).draw(count, dtype=torch.float64)
    return torch.special.ndtri(points.clamp(1e-9, 1.0 - 1e-9))


@dataclass(frozen=True)
class VbllProblem:
    """``N`` times the package's loss ``+ λ_bb ‖W_hidden‖²`` for every pair of replicate and regularisation weight.

    With reduction "mean" the package's loss is not multiplied.
    """

    backbone: Backbone
    loss: nn.Module
    data: SplitBatch
    weights: Float[Tensor, " B"]
    backbone_penalty: float
    reduction: str = "sum"

    @property
    def count(self) -> int:
        """Number of pairs."""
        return self.data.count

    def objective(self, params: Params, step: int) -> tuple[Float[Tensor, " B"], None]:
        """The negative bound in nats up to the constants the package drops, a total unless the reduction is a mean."""
        rows = 1 if self.reduction == "mean" else self.data.train.targets.shape[-1]
        penalty = self.backbone_penalty * self.backbone.penalty(params)
        return rows * self._loss(params, self.data.train, True) + penalty, None

    def validation(self, params: Params, state: None) -> Float[Tensor, " B"]:
        """Mean NLL of the validation part."""
        return self._loss(params, self.data.validation, False) + self.data.log_scale

    def watched(self, params: Params, state: None) -> dict[str, Float[Tensor, " B"]]:
        """Test NLL for the trace, and the noise scale of a regression."""
        nll = self._loss(params, self.data.test, False) + self.data.log_scale
        if not isinstance(self.loss, Loss):
            return {"test_nll": nll}
        return {"test_nll": nll, "noise_scale": (params[NOISE].detach()[:, 0] + self.data.log_scale).exp()}

    def adjust(self, params: Params, step: int, state: None) -> None:
        """Nothing: the package bounds nothing."""

    def select(self, index: Tensor) -> "VbllProblem":
        """The pairs ``index`` alone."""
        return replace(self, data=self.data.select(index), weights=self.weights[index])

    def _loss(self, params: Params, part: PartBatch, training: bool) -> Float[Tensor, " B"]:
        features = self.backbone.features(params, part.inputs)
        own = {name: value for name, value in params.items() if name.startswith(HEAD)}

        def one(head: Params, features: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
            return torch.func.functional_call(self.loss, head, (features, targets, weight, training))

        with unchecked(), OneProduct():
            return torch.func.vmap(one)(own, features, part.targets, self.weights)
