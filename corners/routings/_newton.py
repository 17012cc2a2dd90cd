"""The mode of a log-concave posterior of a linear layer by damped Newton steps, all replicates at once."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from corners.covariances._linalg import cholesky_or_nan

SETTLED = 1e-18
"""Of the Newton decrement relative to ``1 + |log joint|``: the step then moves the mode by rounding alone."""
ROUNDING = 1e-14
HALVINGS = 40


@dataclass(frozen=True, eq=False)
class LogConcave:
    """``log p(y | f) - α ‖w‖² / 2`` with ``f = Ψ w``; ``log_likelihood`` is summed over data and latent functions."""

    log_likelihood: Callable[[Tensor], Tensor]
    features: Float[Tensor, "*B N H"]
    precision: Float[Tensor, "*B"]

    def detached(self) -> "LogConcave":
        """The same problem outside the graph."""
        return LogConcave(self.log_likelihood, self.features.detach(), self.precision.detach())


def curvature_and_slope(
    log_likelihood: Callable[[Tensor], Tensor], latent: Float[Tensor, "*B N"]
) -> tuple[Float[Tensor, "*B N"], Float[Tensor, "*B N"]]:
    """``∂ log p / ∂f_n`` and ``W_n = -∂² log p / ∂f_n²``, inside the graph where there is one.

    Each latent value enters one term by itself, so that the sum of a row of the Hessian is its diagonal.
    """
    inside = torch.is_grad_enabled()
    with torch.enable_grad():
        at = latent if latent.requires_grad and inside else latent.detach().requires_grad_()
        (slope,) = torch.autograd.grad(log_likelihood(at).sum(), at, create_graph=True)
        (bend,) = torch.autograd.grad(slope.sum(), at, create_graph=inside)
    return (slope, -bend) if inside else (slope.detach(), -bend.detach())


def posterior_factor(problem: LogConcave, curvature: Float[Tensor, "*B N"]) -> Float[Tensor, "*B H H"]:
    """Cholesky factor of ``A = αI + Ψᵀ W Ψ``; NaN where it is not positive definite."""
    features = problem.features
    eye = torch.eye(features.shape[-1], dtype=features.dtype, device=features.device)
    return cholesky_or_nan(problem.precision[..., None, None] * eye + features.mT @ (curvature[..., None] * features))


@torch.no_grad()
def find_mode(problem: LogConcave, steps: int, *, latents: int = 1) -> Float[Tensor, "*B H"]:
    """The mode, from zero on; NaN where a replicate did not settle within so many steps.

    A replicate has settled when its Newton decrement, twice what the log joint can still gain, is rounding. Latent
    functions of one data point move together.
    """
    features = problem.features
    w = torch.zeros_like(features[..., 0, :])
    value = _log_joint(problem, w, latents)
    settled = torch.zeros_like(value, dtype=torch.bool)
    for _ in range(steps):
        slope, curvature = curvature_and_slope(problem.log_likelihood, (features @ w[..., None])[..., 0])
        gradient = (features.mT @ slope[..., None])[..., 0] - problem.precision[..., None] * w
        step = torch.cholesky_solve(gradient[..., None], posterior_factor(problem, curvature))[..., 0]
        decrement = _over_latents((gradient * step).sum(-1), latents)
        moved, value = _climb(problem, w, value, step, decrement, latents)
        # A replicate that had settled stays, so that it is the same alone as among slower siblings.
        w = torch.where(_spread(settled, w, latents), w, moved)
        settled = settled | (decrement <= SETTLED * (1.0 + value.abs()))
        if bool((settled | decrement.isnan()).all()):
            break
    return torch.where(_spread(settled, w, latents), w, torch.nan)


def _climb(
    problem: LogConcave, w: Tensor, value: Tensor, step: Tensor, decrement: Tensor, latents: int
) -> tuple[Tensor, Tensor]:
    """Full steps where they do not lower the log joint, else halved until they do not; where none does, none."""
    size = torch.ones_like(value)
    floor = value - ROUNDING * (1.0 + value.abs())
    for _ in range(HALVINGS):
        moved = w + _spread(size, w, latents) * step
        found = _log_joint(problem, moved, latents)
        worse = ~(found >= floor) & ~decrement.isnan()
        if not bool(worse.any()):
            break
        size = torch.where(worse, 0.5 * size, size)
    kept = torch.where(worse, 0.0, size)
    return torch.where(_spread(worse, w, latents), w, w + _spread(kept, w, latents) * step), torch.where(
        worse, value, found
    )


def _log_joint(problem: LogConcave, w: Tensor, latents: int) -> Tensor:
    penalty = _over_latents(0.5 * problem.precision * w.square().sum(-1), latents)
    return problem.log_likelihood((problem.features @ w[..., None])[..., 0]) - penalty


def _over_latents(each: Tensor, latents: int) -> Tensor:
    return each if latents == 1 else each.sum(-1)


def _spread(by_replicate: Tensor, like: Tensor, latents: int) -> Tensor:
    """A number a replicate over the weights of all its latent functions."""
    wide = by_replicate[..., None] if latents == 1 else by_replicate[..., None, None]
    return wide.expand_as(like)
