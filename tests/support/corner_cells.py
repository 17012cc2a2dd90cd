"""Cells at hyperparameters of one's choice: parameters of a corner on given features, and its energy in the graph."""

import torch
from torch import Tensor

from corners.backbones.identity import Identity
from corners.beliefs import Prior
from corners.covariances._base import Params
from corners.engine.cells import CELLS
from corners.engine.corner import Corner
from corners.engine.objective import FreeEnergy
from corners.likelihoods.gaussian import LOG_NOISE_VAR
from corners.routings.mean_closed import LOG_RIDGE
from tests.support.problems import batch, generators, normal
from tests.support.strategies import Layer

JITTER = 0.02


def cell(name: str, **options) -> Corner:
    """The named cell on the identity backbone; jitter where the cell takes any."""
    axes = CELLS[name]
    exact = axes.routing == "closed" and axes.cavity != "shared"
    options = {"backbone": Identity(), "jitter": 0.0 if exact else JITTER} | options
    return Corner(axes.cavity, axes.routing, axes.covariance, **options)


def inputs_of(layers: list[Layer]) -> tuple[Tensor, Tensor]:
    """Features and targets of layers of one shape, stacked."""
    return batch([layer.features for layer in layers]), batch([layer.targets for layer in layers])


def parameters(corner: Corner, layers: list[Layer]) -> Params:
    """Parameters at each layer's precision and noise, the free belief somewhere at random."""
    features, targets = inputs_of(layers)
    params = corner.init(features, targets, generators(*range(len(layers))))
    params = {name: value + 0.3 * normal(60 + k, *value.shape) for k, (name, value) in enumerate(params.items())}
    noise_var = torch.tensor([layer.noise_var for layer in layers], dtype=torch.float64)
    precision = torch.tensor([layer.precision for layer in layers], dtype=torch.float64)
    params[LOG_NOISE_VAR] = noise_var.log()
    params["target_var"] = targets.var(-1, correction=0)
    if LOG_RIDGE in params:
        params[LOG_RIDGE] = (precision * noise_var).log()
    else:
        params[Prior.parameter] = precision.log()
    return params


def energy_at(
    corner: Corner, params: Params, features: Tensor, targets: Tensor, data_size: int | None = None
) -> FreeEnergy:
    """The free energy on all rows that are given."""
    return corner.energy(params, features, targets, corner.route(params, features, targets), data_size)


def gradient(corner: Corner, params: Params, layers: list[Layer]) -> tuple[Params, Tensor]:
    """Autograd of the total, by parameter and by feature."""
    features, targets = inputs_of(layers)
    leaves = {name: value.clone().requires_grad_(name not in corner.frozen) for name, value in params.items()}
    features = features.clone().requires_grad_()
    energy_at(corner, leaves, features, targets).total.sum().backward()
    slopes = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
    assert features.grad is not None
    return slopes, features.grad
