"""What every routing must satisfy: what it starts, what it bounds, and what it binds."""

import math

import numpy as np
import torch

from corners.beliefs import LOG_PRECISION_BOUNDS, Prior, RoutedBelief
from corners.covariances._base import CovarianceFamily, Params
from corners.covariances.diagonal import Diagonal
from corners.routings._base import Routing
from tests.support import dense_cells as dense
from tests.support.problems import assert_close, generators, normal, real

SEEDS, ROWS, SIZE = (3, 4), 7, 3
NOISE_VAR = (0.4, 1.9)


def setting(
    routing: Routing, family: CovarianceFamily | None = None
) -> tuple[Params, CovarianceFamily, torch.Tensor, torch.Tensor]:
    """Parameters off their start, a family, features and targets of two replicates."""
    family = family or Diagonal()
    params = routing.init(Prior(precision=1.7), family, SIZE, real(*NOISE_VAR), generators(*SEEDS))
    params = {name: value + 0.3 * normal(k, *value.shape) for k, (name, value) in enumerate(params.items())}
    return params, family, normal(31, 2, ROWS, SIZE), normal(32, 2, ROWS)


def bind(routing: Routing, jitter: float = 0.02) -> tuple[RoutedBelief, torch.Tensor, torch.Tensor]:
    """The belief at those parameters."""
    params, family, features, targets = setting(routing)
    return routing.bind(params, family, features, targets, real(*NOISE_VAR), jitter), features, targets


def check_start(routing: Routing) -> None:
    """The precision starts where the prior says; everything is within bounds; replicate k alone starts the same."""
    prior, family = Prior(precision=1.7), Diagonal()
    params = routing.init(prior, family, SIZE, real(*NOISE_VAR), generators(*SEEDS))
    assert_close(routing.prior_precision(params, real(*NOISE_VAR)), real(1.7, 1.7))
    for name, (low, high) in routing.bounds(prior, family).items():
        assert bool(((params[name] >= low) & (params[name] <= high)).all())
    for k, seed in enumerate(SEEDS):
        alone = routing.init(prior, family, SIZE, real(NOISE_VAR[k]), generators(seed))
        assert set(alone) == set(params)
        assert all(torch.equal(alone[name][0], value[k]) for name, value in params.items())


def check_bounds_include_the_start(routing: Routing) -> None:
    """Bounds are theory 5.7's and widen to include a user's start, on either side."""
    for precision in (1.7, math.exp(LOG_PRECISION_BOUNDS[0] - 3.0), math.exp(LOG_PRECISION_BOUNDS[1] + 30.0)):
        prior, family = Prior(precision=precision), Diagonal()
        params = routing.init(prior, family, SIZE, real(*NOISE_VAR), generators(*SEEDS))
        for name, (low, high) in routing.bounds(prior, family).items():
            outside = ~((params[name] >= low) & (params[name] <= high))
            assert not outside.any(), f"{name} starts outside its bounds {low}..{high} at precision {precision:g}"


def check_bounds_follow_the_targets_unit(routing: Routing) -> None:
    """Unscaled targets of any unit start within bounds: noise 1e-6 or 1e6 times as large moves no start."""
    for factor in (1e-6, 1e6):
        noise_var = factor**2 * real(*NOISE_VAR)
        prior, family = Prior(precision=1.0), Diagonal()
        params = routing.init(prior, family, SIZE, noise_var, generators(*SEEDS))
        for name, (low, high) in routing.bounds(prior, family).items():
            outside = ~((params[name] >= low) & (params[name] <= high))
            assert not outside.any(), f"{name} starts outside {low}..{high} with targets in units of {factor:g}"


def check_what_is_bound(routing: Routing) -> None:
    """``binds_mean`` and ``binds_covariance`` say what follows the data: the ridge mean, and the family's optimum."""
    routed, features, targets = bind(routing)
    assert (routed.sites is not None) == routing.binds_mean
    assert routed.covariance_is_bound == routing.binds_covariance
    for k, noise_var in enumerate(NOISE_VAR):
        precision = float(routed.prior_precision[k])
        mean, covariance = dense.posterior(features[k].numpy(), targets[k].numpy(), precision, noise_var)
        same_mean = torch.allclose(routed.belief.mean[k], torch.tensor(mean), rtol=1e-9)
        assert same_mean == routing.binds_mean
        bound = torch.diag(torch.tensor(1.0 / np.diag(np.linalg.inv(covariance)) + 0.02))
        same = torch.allclose(routed.belief.covariance.matrix()[k], bound, rtol=1e-9)
        assert same == routing.binds_covariance


def check_gradients_flow(routing: Routing) -> None:
    """Through the binding, autograd agrees with finite differences in features, noise and every parameter."""
    params, family, features, targets = setting(routing)
    names = list(params)

    def belief(features_: torch.Tensor, log_noise: torch.Tensor, *leaves: torch.Tensor) -> tuple[torch.Tensor, ...]:
        own = dict(zip(names, leaves, strict=True))
        routed = routing.bind(own, family, features_, targets, log_noise.exp(), 0.02)
        # The free belief touches neither features nor noise: add them, so that every input is in the graph.
        idle = 0.0 * (features_.sum() + log_noise.sum())
        return routed.belief.mean + idle, routed.belief.covariance.matrix() + idle, routed.prior_precision + idle

    inputs = [features[:, :4], real(*NOISE_VAR).log(), *params.values()]
    targets = targets[:, :4]
    assert torch.autograd.gradcheck(belief, [each.clone().requires_grad_() for each in inputs])


def check_nothing_is_detached(routing: Routing) -> None:
    """A bound mean moves with the features inside the graph; a free one does not depend on them at all."""
    params, family, features, targets = setting(routing)
    leaf = features.clone().requires_grad_()
    routed = routing.bind(params, family, leaf, targets, real(*NOISE_VAR), 0.02)
    assert routed.belief.mean.requires_grad == routing.binds_mean
    if routing.binds_mean:
        (slope,) = torch.autograd.grad(routed.belief.mean.square().sum(), leaf)
        assert bool(slope.abs().sum() > 0.0)


def check_replicates_are_apart(routing: Routing) -> None:
    """Replicate k of a batch is that replicate alone."""
    params, family, features, targets = setting(routing)
    routed = routing.bind(params, family, features, targets, real(*NOISE_VAR), 0.02)
    for k in range(2):
        own = {name: value[k : k + 1] for name, value in params.items()}
        alone = routing.bind(own, family, features[k : k + 1], targets[k : k + 1], real(NOISE_VAR[k]), 0.02)
        assert_close(alone.belief.mean[0], routed.belief.mean[k])
        assert_close(alone.belief.covariance.matrix()[0], routed.belief.covariance.matrix()[k])
        assert_close(alone.prior_precision[0], routed.prior_precision[k])
