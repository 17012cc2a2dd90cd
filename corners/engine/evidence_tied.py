"""Evidence-tied prior precision: MacKay's update at the current features (theory 3.7, 7.4)."""

import torch
from jaxtyping import Float
from torch import Tensor

UPDATES = 10
"""Fixed-point updates a call; the next call starts from their result and comes nearer to the fixed point."""


def mackay_log_precision(
    features: Float[Tensor, "B N H"],
    targets: Float[Tensor, "B N"],
    log_precision: Float[Tensor, " B"],
    noise_var: Float[Tensor, " B"],
) -> Float[Tensor, " B"]:
    """``log α`` after a few updates ``α ← γ/‖μ*‖²``, ``γ = H - α tr Σ*``, at fixed features and noise.

    One eigendecomposition of ``ΨᵀΨ/σ²`` serves all updates: ``γ = Σ s_i/(s_i + α)``, ``‖μ*‖² = Σ (z_i/(s_i + α))²``.
    """
    gram = features.mT @ features / noise_var[:, None, None]
    moment = (features.mT @ targets[..., None])[..., 0] / noise_var[:, None]
    healthy = gram.isfinite().all(-1).all(-1) & moment.isfinite().all(-1)
    # ``eigh`` refuses a whole batch for one NaN: a failed replicate stays NaN and its siblings go on.
    strengths, directions = torch.linalg.eigh(torch.where(healthy[:, None, None], gram, 0.0))
    strengths = strengths.clamp(min=0.0)
    projected = (directions.mT @ moment[..., None])[..., 0]
    precision = log_precision.exp()
    for _ in range(UPDATES):
        total = strengths + precision[:, None]
        effective, spread = (strengths / total).sum(-1), (projected / total).square().sum(-1)
        # Without signal the fixed point is infinity, the null model (theory 3.7); the caller's bound stands for it.
        precision = torch.where(spread > 0.0, effective / spread, torch.inf)
    return torch.where(healthy, precision.log(), torch.nan)
