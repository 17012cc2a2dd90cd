"""Closed routing: the conjugate posterior, against dense linear algebra in every regime and the golden optimum."""

import numpy as np
import torch
from hypothesis import given

from corners.covariances.dense import Dense
from corners.covariances.none import NoCovariance
from corners.routings.closed import Closed
from tests.support import dense_cells as dense
from tests.support.problems import assert_close, batch, real
from tests.support.strategies import Layer, draw_layer, layers


def bind(layer: Layer, family=None):
    params = {"log_prior_precision": real(layer.precision).log()}
    features, targets = batch([layer.features]), batch([layer.targets])
    return Closed().bind(params, family or Dense(), features, targets, real(layer.noise_var), 0.0)


@given(layers())
def test_mean_and_covariance_are_the_posteriors(layer: Layer):
    routed = bind(layer)
    mean, covariance = dense.posterior(layer.features, layer.targets, layer.precision, layer.noise_var)
    assert_close(routed.belief.mean[0], mean, rel=1e-6, abs_=1e-7 * np.abs(mean).max())
    assert_close(routed.belief.covariance.matrix()[0], covariance, rel=1e-6, abs_=1e-7 * np.abs(covariance).max())


@given(layers())
def test_leverage_is_the_diagonal_of_the_hat_matrix(layer: Layer):
    routed = bind(layer)
    assert routed.sites is not None
    _, covariance = dense.posterior(layer.features, layer.targets, layer.precision, layer.noise_var)
    expected = np.diag(layer.features @ covariance @ layer.features.T) / layer.noise_var
    leverage = routed.sites.leverage()[0].numpy()
    np.testing.assert_allclose(leverage, expected, rtol=1e-6, atol=1e-8)
    assert (leverage >= 0.0).all() and (leverage <= 1.0 + 1e-12).all()


def test_without_covariance_the_mean_is_the_same():
    layer = draw_layer(1, 7, 3, 1.3, 0.4)
    assert torch.equal(bind(layer, NoCovariance()).belief.mean, bind(layer).belief.mean)
    assert not bind(layer, NoCovariance()).belief.covariance.matrix().any()
