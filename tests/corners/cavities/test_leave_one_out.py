"""Leave-one-out cavity against refitting without each row, and against the golden numbers."""

import numpy as np
import pytest
import torch
from hypothesis import given

from corners.beliefs import GaussianBelief, RoutedBelief
from corners.cavities.leave_one_out import LeaveOneOut
from corners.covariances.dense import Dense
from corners.routings.mean_closed import LOG_RIDGE, MeanClosed
from tests.support import dense_cells as dense
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.laws.cavity_laws import LIKELIHOOD, bound
from tests.support.problems import assert_close, batch, normal, real
from tests.support.strategies import Layer, draw_layer, layers


def layer_of(case) -> Layer:
    given_ = case["inputs"]
    return Layer(as_array(given_["Psi"]), as_array(given_["y"]), given_["alpha"], given_["sigma2"])


@given(layers())
def test_marginals_are_those_of_refitting(layer: Layer):
    routed, features, _, _ = bound([layer])
    marginals = LeaveOneOut().marginals(routed, features)
    mean, variance = dense.leave_one_out(layer.features, layer.targets, layer.precision, layer.noise_var)
    scale = float(np.abs(layer.targets).max() + np.abs(mean).max())
    assert_close(marginals.mean[0], mean, rel=1e-6, abs_=1e-7 * scale)
    assert_close(marginals.variance[0], variance, rel=1e-6, abs_=1e-7 * layer.noise_var)


@pytest.mark.parametrize("case", golden_cases("loo"))
def test_golden(case):
    layer, expected = layer_of(case), case["expected"]
    routed, features, targets, params = bound([layer])
    marginals = LeaveOneOut().marginals(routed, features)
    assert_golden("loo", marginals.mean[0], expected["pred_mean"])
    assert_golden("loo", marginals.variance[0] + layer.noise_var, expected["pred_var"])
    assert_golden("loo", -LIKELIHOOD.log_partition(params, targets, marginals)[0], expected["terms"])
    assert_golden("loo", LeaveOneOut().data_term(routed, features, targets, LIKELIHOOD, params)[0], expected["total"])


@pytest.mark.parametrize(("rows", "size"), [(9, 3), (4, 6), (5, 5)])
def test_a_free_covariance_keeps_its_own_variances_under_the_left_out_mean(rows, size):
    """Mean-closed routing (theory 3.10): ``e_n = r*_n/(1 - h_n)`` by refitting the ridge, ``v_n = ψ_nᵀΣψ_n``."""
    layer, strength = draw_layer(8, rows, size, 1.0, 0.3), 0.9
    family = Dense()
    params = {LOG_RIDGE: real(strength).log()} | family.init(size, [torch.Generator().manual_seed(1)], torch.float64)
    features, targets = batch([layer.features]), batch([layer.targets])
    routed = MeanClosed().bind(params, family, features, targets, real(0.3), 0.01)
    marginals = LeaveOneOut().marginals(routed, features)
    _, residual = dense.ridge(layer.features, layer.targets, strength)
    assert_close(targets - marginals.mean, residual[None], rel=1e-9)
    assert_close(marginals.variance, routed.belief.covariance.quadratic(features))


def test_digits_survive_an_interpolating_fit_at_a_tiny_ridge():
    """N <= H and λ = 1e-10: ``1 - h_n`` is about 1e-10 and would cancel; the dual form keeps it."""
    layer = draw_layer(9, 4, 6, 1e-5, 1e-5)
    routed, features, targets, _ = bound([layer])
    marginals = LeaveOneOut().marginals(routed, features)
    gram = layer.features @ layer.features.T / layer.precision
    inverse = np.linalg.inv(layer.noise_var * np.eye(4) + gram)
    assert_close(targets - marginals.mean, (inverse @ layer.targets / np.diag(inverse))[None], rel=1e-8)
    assert_close(marginals.variance, (1.0 / np.diag(inverse) - layer.noise_var)[None], rel=1e-8)


def test_digits_survive_a_row_that_alone_reaches_a_direction():
    """N > H, yet one row has leverage 1 - λ/s², as one-hot columns do; λ is the smallest of theory 5.7."""
    features = np.vstack([np.column_stack([normal(1, 6, 2).numpy(), np.zeros(6)]), [[0.3, -0.2, 1.0]]])
    layer = Layer(features, normal(2, 7).numpy(), np.exp(-10.0), np.exp(-14.0))
    routed, tensor, _, _ = bound([layer])
    mean, variance = dense.leave_one_out(layer.features, layer.targets, layer.precision, layer.noise_var)
    marginals = LeaveOneOut().marginals(routed, tensor)
    assert_close(marginals.variance[0], variance, rel=1e-4)
    assert_close(marginals.mean[0], mean, rel=1e-4, abs_=1e-5)


def test_it_is_free_of_the_belief_that_is_given():
    """The marginals come from the sites: a free covariance in a bound belief changes the variances alone."""
    routed, features, _, _ = bound([draw_layer(3, 6, 3, 1.3, 0.4)])
    family = Dense()
    other = family.build(family.init(3, [torch.Generator().manual_seed(1)], torch.float64), normal(1, 1, 3), 0.0)
    changed = RoutedBelief(GaussianBelief(routed.belief.mean, other), routed.prior_precision, routed.sites)
    one, two = LeaveOneOut().marginals(routed, features), LeaveOneOut().marginals(changed, features)
    assert_close(one.mean, two.mean)
    assert_close(two.variance, other.quadratic(features))
