"""What a fit says about its hyperparameters: at a bound, noise collapsed, precision ran away (theory 7.3, 7.4)."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from corners.beliefs import GaussianBelief
from corners.covariances._base import Params
from corners.data.batch import PartBatch
from corners.engine.corner import Corner
from corners.likelihoods.gaussian import LOG_NOISE_VAR
from corners.method import FitStatus
from corners.types import Array

SLACK = 1e-6
NOISE_COLLAPSE, NOISE_EVERYWHERE, VARIANCE_STARVED, RUNAWAY = 0.05, 0.95, 0.99, 100.0


def parameters_at_bound(corner: Corner, params: Params, held: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Names of one replicate's learned parameters of which an element sits on its bound."""
    found = []
    ceiling = corner.likelihood.ceiling(params)
    for name, (low, high) in corner.bounds().items():
        if name in corner.frozen | held:
            continue
        top = torch.minimum(ceiling.get(name, torch.tensor(torch.inf)), torch.tensor(high))
        value = params[name]
        if bool(((value <= low + SLACK) | (value >= top - SLACK)).any()):
            found.append(name)
    return tuple(found)


def data_remarks(corner: Corner, train: PartBatch, constant_target: bool) -> tuple[str, ...]:
    """Sentences on one replicate's training part where it makes the objective unbounded below (theory 3.7)."""
    said = []
    if constant_target:
        said.append("the training targets are constant: only the noise floor keeps the objective bounded")
    if corner.cavity.name == "leave_one_out" and _every_row_has_a_twin(train):
        said.append("every training row is duplicated: leave-one-out sees its twin, and only the noise floor bounds it")
    return tuple(said)


def _every_row_has_a_twin(train: PartBatch) -> bool:
    rows = torch.cat([train.inputs[0], train.targets[0].reshape(-1, train.targets.shape[-1]).mT], -1)
    return len(rows) > 1 and bool((torch.unique(rows, dim=0, return_counts=True)[1] > 1).all())


def fixed_remarks(
    corner: Corner, params: Params, target_scale: float | Float[Array, " P"], held: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """What was not estimated, and at what it was held (noise in original units); whether the belief is approximate."""
    said = []
    if corner.routing.approximate and not corner.likelihood.conjugate:
        said.append(f"approximate: {corner.routing.name} stands for the posterior")
    noise_var = corner.likelihood.noise_var(params)
    if noise_var is not None and LOG_NOISE_VAR in corner.frozen | held:
        scales = np.atleast_1d(noise_var.detach().double().sqrt().numpy() * target_scale)
        said.append(f"noise scale fixed at {', '.join(f'{scale:.4g}' for scale in scales)}")
    if not corner.prior.learned:
        said.append(f"prior precision fixed at {corner.prior.precision:g}")
    return tuple(said)


def _noise_remarks(corner: Corner, shares: Float[Tensor, " N"]) -> list[str]:
    """On one output, from the share of the noise in its predictive variance."""
    share, smallest = float(shares.mean()), float(shares.min())
    if share < NOISE_COLLAPSE:
        return [f"noise collapsed: it is {share:.1%} of the predictive variance"]
    if share > VARIANCE_STARVED and not corner.routing.binds_covariance and corner.covariance.name != "none":
        return [f"covariance starved: noise is {share:.1%} of the predictive variance"]
    if smallest > NOISE_EVERYWHERE and corner.covariance.name != "none":
        return ["noise is over 95% of the predictive variance everywhere: the belief adds next to nothing"]
    return []


def start_remark(best_step: int, status: FitStatus) -> tuple[str, ...]:
    """Says so where early stopping went back to the very start."""
    if best_step == 0 and status.code != "exact":
        return ("validation NLL never improved on the start: features and hyperparameters are untrained",)
    return ()


def remarks(
    corner: Corner,
    params: Params,
    belief: GaussianBelief,
    prior_precision: Float[Tensor, "*K"],
    features: Float[Tensor, "N H"],
    at_bound: tuple[str, ...],
) -> tuple[str, ...]:
    """Sentences on one replicate, thresholds of theory 7.3; of several outputs each is named by its number from 0."""
    said = [f"at bound: {', '.join(at_bound)}"] if at_bound else []
    noise_var = corner.likelihood.noise_var(params)
    if noise_var is not None:
        noise = noise_var[..., None]
        shares = noise / (noise + belief.covariance.quadratic(corner.latent_features(features)))
        outputs = shares.reshape(-1, shares.shape[-1])
        for p, own in enumerate(outputs):
            name = f"output {p}: " if len(outputs) > 1 else ""
            said += [name + remark for remark in _noise_remarks(corner, own)]
    if corner.prior.learned:
        spread = belief.mean.square().sum(-1) + belief.covariance.matrix().diagonal(dim1=-2, dim2=-1).sum(-1)
        ratio = float((prior_precision * spread / belief.mean.shape[-1]).max())
        if ratio > RUNAWAY:
            said.append(f"prior precision ran away: {ratio:.3g} times its value at the belief's own spread")
    return tuple(said)
