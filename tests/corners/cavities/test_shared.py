"""Shared cavity: the belief's own forward messages, row by row, for any belief."""

from corners.beliefs import GaussianBelief, RoutedBelief
from corners.cavities.shared import Shared
from corners.covariances.diagonal import LOG_VAR, Diagonal
from tests.support import dense_cells as dense
from tests.support.laws.cavity_laws import LAYERS, LIKELIHOOD, bound
from tests.support.problems import assert_close, normal, real


def test_marginals_are_forward_messages_of_the_posterior():
    routed, features, _, _ = bound(LAYERS)
    marginals = Shared().marginals(routed, features)
    for k, layer in enumerate(LAYERS):
        belief = dense.posterior(layer.features, layer.targets, layer.precision, layer.noise_var)
        mean, variance = dense.forward(layer.features, *belief)
        assert_close(marginals.mean[k], mean, rel=1e-9)
        assert_close(marginals.variance[k], variance, rel=1e-9)


def test_data_term_of_a_free_belief_at_data_it_never_saw():
    mean, log_var = normal(1, 2, 3), normal(2, 2, 3)
    belief = GaussianBelief(mean, Diagonal().build({LOG_VAR: log_var}, mean, 0.02))
    features, targets = normal(3, 2, 7, 3), normal(4, 2, 7)
    params = {"log_noise_var": real(-0.3, 0.8), "target_var": real(1.0, 1.0)}
    total = Shared().data_term(RoutedBelief(belief, real(1.3, 2.1)), features, targets, LIKELIHOOD, params)
    for k in range(2):
        matrix = belief.covariance.matrix()[k].numpy()
        forward = dense.forward(features[k].numpy(), mean[k].numpy(), matrix)
        noise_var = float(params["log_noise_var"][k].exp())
        assert_close(total[k], dense.plates(targets[k].numpy(), *forward, noise_var).sum())
