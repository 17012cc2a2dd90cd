"""Class probabilities given draws of a belief: what the entropy of a class prediction is split by."""

import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import Marginals
from corners.covariances._linalg import cholesky_or_nan
from corners.engine.corner import Corner
from corners.engine.fit import CornerFit
from corners.predictive._base import Predictive
from corners.types import Array

DRAWS = 256
"""The epistemic part is a mean over them: its relative error is a few per cent at one point, and far less over many."""


def class_draws(
    fit: CornerFit, replicate: int, inputs: Float[Array, "N D"], count: int = DRAWS
) -> Float[Array, "S N K"]:
    """``P(Y_n = k | f_n)`` at ``count`` draws ``f_n ~ N(m_n, v_n)`` of every point, seeded by the replicate's own seed.

    The draws of different points are independent: the latent values of one point are all that its probabilities see.
    Of one-versus-all the probabilities are normalised draw by draw, so their mean is not quite the predictive, which
    normalises the means.

    Source: theory 6.1, 6.3.
    """
    chosen = fit.replicates[replicate]
    predictive = fit.predict(inputs, replicate=replicate)  # refuses a replicate that failed
    assert chosen is not None and not isinstance(predictive, Predictive)
    features = torch.tensor(fit.features(inputs, replicate=replicate), dtype=chosen.belief.mean.dtype)
    marginals = chosen.belief.marginals(fit.corner.latent_features(features))
    mean = marginals.mean.detach().double()
    generator = torch.Generator().manual_seed(fit.seeds[replicate])
    noise = torch.randn(count, *mean.shape, generator=generator, dtype=torch.float64)
    latent = (mean + _spread(marginals, noise)).movedim(0, -2)
    params = {name: value.detach().double() for name, value in chosen.params.items()}
    draws = latent.reshape(*mean.shape[:-1], count * mean.shape[-1])
    logs = [_log_probability(fit.corner, params, draws, k) for k in range(predictive.classes)]
    probabilities = torch.stack(logs, -1).exp().reshape(count, mean.shape[-1], predictive.classes)
    return (probabilities / probabilities.sum(-1, keepdim=True)).numpy()


def _spread(marginals: Marginals, noise: Float[Tensor, "S *K N"]) -> Float[Tensor, "S *K N"]:
    """Standard normal draws with the covariance of the latent values of each point."""
    if marginals.coupling is None:
        return marginals.variance.detach().double().clamp(min=0.0).sqrt() * noise
    factor = cholesky_or_nan(marginals.coupling.covariance().detach().double())
    return torch.einsum("njk,skn->sjn", factor, noise)


def _log_probability(corner: Corner, params: dict[str, Tensor], latent: Tensor, label: int) -> Float[Tensor, " M"]:
    """Of one label at latent values that are known: the predictive of a belief without width."""
    targets = torch.full(latent.shape[-1:], float(label), dtype=latent.dtype)
    return corner.likelihood.log_predictive(params, targets, Marginals(latent, torch.zeros_like(latent)))
