"""Mean-closed routing: the ridge solution and ``α = λ/σ²``."""

from hypothesis import given

from corners.covariances.none import NoCovariance
from corners.routings.mean_closed import LOG_RIDGE, MeanClosed
from tests.support import dense_cells as dense
from tests.support.problems import assert_close, batch, real
from tests.support.strategies import Layer, layers


@given(layers())
def test_the_mean_is_the_ridge_solution_whatever_the_noise(layer: Layer):
    features, targets = batch([layer.features]), batch([layer.targets])
    expected, _ = dense.ridge(layer.features, layer.targets, layer.precision)
    params = {LOG_RIDGE: real(layer.precision).log()}
    for noise_var in (layer.noise_var, 3.7):
        routed = MeanClosed().bind(params, NoCovariance(), features, targets, real(noise_var), 0.0)
        assert_close(routed.belief.mean[0], expected, rel=1e-6, abs_=1e-7 * abs(expected).max())
        assert_close(routed.prior_precision, real(layer.precision / noise_var))
