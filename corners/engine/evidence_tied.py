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
    strengths, directions = torch.linalg.eigh(gram)
    strengths = strengths.clamp(min=0.0)
    projected = (directions.mT @ moment[..., None])[..., 0]
    precision = log_precision.exp()
    for _ in range(UPDATES):
        total = strengths + precision[:, None]
        effective = (strengths / total).sum(-1)
        precision = effective / (projected / total).square().sum(-1).clamp(min=torch.finfo(targets.dtype).tiny)
    return precision.log()
