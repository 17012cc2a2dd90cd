"""What every cavity must satisfy, on beliefs bound by the closed routing and by the dense oracle's own numbers."""

import pytest
import torch

from corners.beliefs import GaussianBelief, RoutedBelief
from corners.cavities._base import Cavity
from corners.covariances.dense import Dense
from corners.errors import ImpossibleCellError
from corners.likelihoods.gaussian import LOG_NOISE_VAR, TARGET_VAR, Gaussian
from corners.routings.closed import Closed
from tests.support import dense_cells as dense
from tests.support.problems import assert_close, batch, normal, real
from tests.support.strategies import Layer, draw_layer

LIKELIHOOD = Gaussian()
LAYERS = [draw_layer(1, 9, 3, 1.7, 0.4), draw_layer(2, 9, 3, 0.02, 2.3), draw_layer(3, 9, 3, 40.0, 0.09)]
WIDE = [draw_layer(4, 4, 6, 1.7, 0.4), draw_layer(5, 4, 6, 0.02, 2.3)]


def bound(layers: list[Layer]) -> tuple[RoutedBelief, torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
    """The closed belief of layers of one shape, their features, targets and likelihood parameters."""
    features, targets = batch([layer.features for layer in layers]), batch([layer.targets for layer in layers])
    noise_var = real(*(layer.noise_var for layer in layers))
    params = {LOG_NOISE_VAR: noise_var.log(), TARGET_VAR: targets.var(-1, correction=0)}
    precision = {"log_prior_precision": real(*(layer.precision for layer in layers)).log()}
    return Closed().bind(precision, Dense(), features, targets, noise_var, 0.0), features, targets, params


def check_data_term_is_the_sum_over_plates(cavity: Cavity) -> None:
    """``Σ_n -log Z_n`` under the cavity's own marginals, whatever cheaper form the cavity uses."""
    for layers in (LAYERS, WIDE):
        routed, features, targets, params = bound(layers)
        marginals = cavity.marginals(routed, features)
        expected = -LIKELIHOOD.log_partition(params, targets, marginals).sum(-1)
        assert_close(cavity.data_term(routed, features, targets, LIKELIHOOD, params), expected, rel=1e-9)


def check_variances_are_variances(cavity: Cavity) -> None:
    """``0 <= v_n <= ‖ψ_n‖²/α``: data can only shrink the prior's variance."""
    for layers in (LAYERS, WIDE):
        routed, features, _, _ = bound(layers)
        variance = cavity.marginals(routed, features).variance
        prior = features.square().sum(-1) / routed.prior_precision[:, None]
        assert bool((variance >= 0.0).all() and (variance <= prior * (1.0 + 1e-9)).all())


def check_total_is_invariant_to_order(cavity: Cavity) -> None:
    """The data term does not depend on the order of the rows."""
    routed, features, targets, params = bound(LAYERS)
    total = cavity.data_term(routed, features, targets, LIKELIHOOD, params)
    for seed in range(5):
        order = torch.randperm(features.shape[1], generator=torch.Generator().manual_seed(seed))
        moved = [Layer(each.features[order], each.targets[order], each.precision, each.noise_var) for each in LAYERS]
        again, features_, targets_, params_ = bound(moved)
        assert_close(cavity.data_term(again, features_, targets_, LIKELIHOOD, params_), total)


def check_units(cavity: Cavity) -> None:
    """Targets and noise in another unit: the total shifts by ``N log a``, with the prior's unit following."""
    routed, features, targets, params = bound(LAYERS)
    total = cavity.data_term(routed, features, targets, LIKELIHOOD, params)
    for factor in (1e-6, 8.0, 1e6):
        scaled = [
            Layer(each.features, factor * each.targets, each.precision / factor**2, factor**2 * each.noise_var)
            for each in LAYERS
        ]
        again, features_, targets_, params_ = bound(scaled)
        shifted = cavity.data_term(again, features_, targets_, LIKELIHOOD, params_)
        assert_close(shifted, total + targets.shape[-1] * real(factor).log(), rel=1e-9)


def check_replicates_are_apart(cavity: Cavity) -> None:
    """Replicate k of a batch is that layer alone, and without a replicate dimension."""
    routed, features, targets, params = bound(LAYERS)
    together = cavity.data_term(routed, features, targets, LIKELIHOOD, params)
    for k, layer in enumerate(LAYERS):
        alone, features_, targets_, params_ = bound([layer])
        assert_close(cavity.data_term(alone, features_, targets_, LIKELIHOOD, params_)[0], together[k])


def check_gradients(cavity: Cavity) -> None:
    """Autograd through binding and cavity agrees with finite differences in features and hyperparameters."""
    for layers in ([draw_layer(6, 5, 2, 1.3, 0.4)], [draw_layer(7, 2, 4, 1.3, 0.4)]):
        targets = batch([layer.targets for layer in layers])

        def total(features, log_precision, log_noise_var, targets=targets):
            noise_var = log_noise_var.exp()
            params = {LOG_NOISE_VAR: log_noise_var, TARGET_VAR: targets.var(-1, correction=0)}
            precision = {"log_prior_precision": log_precision}
            routed = Closed().bind(precision, Dense(), features, targets, noise_var, 0.0)
            marginals = cavity.marginals(routed, features)
            return cavity.data_term(routed, features, targets, LIKELIHOOD, params), marginals.mean, marginals.variance

        leaves = [batch([layer.features for layer in layers]), real(0.3), real(-0.9)]
        assert torch.autograd.gradcheck(total, [each.requires_grad_() for each in leaves])


def check_needs_sites_is_true(cavity: Cavity) -> None:
    """A cavity that removes data refuses a belief without any; the others take it."""
    family = Dense()
    params = family.init(3, [torch.Generator().manual_seed(1)], torch.float64)
    free = RoutedBelief(GaussianBelief(normal(1, 1, 3), family.build(params, normal(1, 1, 3), 0.0)), real(1.3))
    if cavity.needs_sites:
        with pytest.raises(ImpossibleCellError, match=f"{cavity.name} cavity removes data"):
            cavity.marginals(free, normal(2, 1, 5, 3))
    else:
        assert cavity.marginals(free, normal(2, 1, 5, 3)).mean.shape == (1, 5)


def check_last_row_has_seen_its_predecessors(cavity: Cavity) -> None:
    """The last row of the sequential and the leave-one-out cavity is one and the same: all other rows were seen."""
    if not cavity.needs_sites:
        return
    routed, features, _, _ = bound(LAYERS)
    marginals = cavity.marginals(routed, features)
    for k, layer in enumerate(LAYERS):
        mean, covariance = dense.posterior(layer.features[:-1], layer.targets[:-1], layer.precision, layer.noise_var)
        row = layer.features[-1]
        assert_close(marginals.mean[k, -1], row @ mean, rel=1e-9)
        assert_close(marginals.variance[k, -1], row @ covariance @ row, rel=1e-8)
