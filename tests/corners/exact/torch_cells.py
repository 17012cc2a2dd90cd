"""The objectives of the cells in torch, dense and from their definitions, for autograd to differentiate."""

import numpy as np
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal, Normal

from tests.corners.exact.problems import Problem


class Leaves:
    """Torch twins of a problem that require gradients: features, ``log α`` and ``log σ²``."""

    def __init__(self, given: Problem) -> None:
        self.features = torch.tensor(given.features, requires_grad=True)
        self.targets = torch.tensor(given.targets)
        self.log_precision = torch.tensor(np.log(given.precision), requires_grad=True)
        self.log_noise_var = torch.tensor(np.log(given.noise_var), requires_grad=True)

    @property
    def precision(self) -> Tensor:
        return self.log_precision.exp()

    @property
    def noise_var(self) -> Tensor:
        return self.log_noise_var.exp()

    def gradients(self, objective: Tensor) -> tuple[float, float, np.ndarray]:
        """``(∂ log α, ∂ log σ², ∂Ψ)``."""
        leaves = (self.log_precision, self.log_noise_var, self.features)
        slopes = torch.autograd.grad(objective, leaves, allow_unused=True, materialize_grads=True)
        return float(slopes[0]), float(slopes[1]), slopes[2].numpy()


def posterior(features: Tensor, targets: Tensor, precision: Tensor, noise_var: Tensor) -> tuple[Tensor, Tensor]:
    """``(μ*, Σ*)`` by an inverse."""
    identity = torch.eye(features.shape[1], dtype=features.dtype)
    covariance = torch.linalg.inv(precision * identity + features.T @ features / noise_var)
    return covariance @ features.T @ targets / noise_var, covariance


def log_evidence(leaves: Leaves) -> Tensor:
    """``log N(y; 0, σ²I + ΨΨᵀ/α)``."""
    identity = torch.eye(len(leaves.targets), dtype=torch.float64)
    covariance = leaves.noise_var * identity + leaves.features @ leaves.features.T / leaves.precision
    return MultivariateNormal(torch.zeros_like(leaves.targets), covariance).log_prob(leaves.targets)


def leave_one_out(leaves: Leaves) -> Tensor:
    """``F_loo`` by refitting for every plate."""
    rows, terms = torch.arange(len(leaves.targets)), []
    for n in rows:
        keep = rows != n
        mean, covariance = posterior(leaves.features[keep], leaves.targets[keep], leaves.precision, leaves.noise_var)
        terms.append(plate(leaves.features[n], leaves.targets[n], mean, covariance, leaves.noise_var))
    return torch.stack(terms).sum()


def shared_closed(leaves: Leaves, family: str) -> Tensor:
    """``F_sc`` with the family's binding."""
    mean, covariance = posterior(leaves.features, leaves.targets, leaves.precision, leaves.noise_var)
    if family == "none":
        covariance = torch.zeros_like(covariance)
    if family == "diagonal":
        covariance = torch.diag(1.0 / torch.diag(torch.linalg.inv(covariance)))
    return shared_free(leaves, mean, covariance)


def shared_free(leaves: Leaves, mean: Tensor, covariance: Tensor) -> Tensor:
    """``F_sf`` at any belief."""
    spread = covariance + torch.eye(len(mean), dtype=mean.dtype) / leaves.precision
    prior = -MultivariateNormal(torch.zeros_like(mean), spread).log_prob(mean)
    pairs = zip(leaves.features, leaves.targets, strict=True)
    return prior + sum(plate(row, y, mean, covariance, leaves.noise_var) for row, y in pairs)


def plate(row: Tensor, target: Tensor, mean: Tensor, covariance: Tensor, noise_var: Tensor) -> Tensor:
    """``−log N(y; μᵀψ, σ² + ψᵀΣψ)``."""
    return -Normal(row @ mean, (noise_var + row @ covariance @ row).sqrt()).log_prob(target)
