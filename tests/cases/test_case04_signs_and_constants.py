"""Case 4 (engine): the log evidence has sign and constants of the dense density, BayesianRidge and gpytorch."""

import numpy as np
import pytest

from corners.engine.objective import FreeEnergy
from tests.support import dense_cells as dense
from tests.support.corner_cells import cell, energy_at, inputs_of, parameters
from tests.support.strategies import Layer, draw_layer

LAYERS = [draw_layer(1, 40, 5, 1.7, 0.3), draw_layer(2, 6, 9, 0.4, 0.8)]


def objective(layer: Layer) -> float:
    corner = cell("sequential")
    return float(energy_at(corner, parameters(corner, [layer]), *inputs_of([layer])).total[0])


@pytest.mark.parametrize("layer", LAYERS)
def test_it_is_the_negative_log_density_of_all_targets(layer):
    assert objective(layer) == pytest.approx(
        dense.neg_log_evidence(layer.features, layer.targets, layer.precision, layer.noise_var), rel=1e-10
    )


def test_it_is_minus_the_score_of_bayesian_ridge():
    """Zero hyper-priors; its score is computed at its final precision and noise."""
    from sklearn.linear_model import BayesianRidge

    given = LAYERS[0]
    model = BayesianRidge(
        alpha_1=0.0,
        alpha_2=0.0,
        lambda_1=0.0,
        lambda_2=0.0,
        fit_intercept=False,
        compute_score=True,
        tol=1e-12,
        max_iter=2000,
    )
    model.fit(given.features, given.targets)
    at = Layer(given.features, given.targets, float(model.lambda_), 1.0 / float(model.alpha_))
    assert objective(at) == pytest.approx(-float(model.scores_[-1]), rel=1e-6)


@pytest.mark.parametrize("layer", LAYERS)
def test_it_is_minus_n_times_the_marginal_likelihood_of_gpytorch(layer):
    """gpytorch divides by N; its linear kernel of variance 1/α is the same model."""
    gpytorch = pytest.importorskip("gpytorch")
    import torch

    features, targets = (torch.tensor(each) for each in (layer.features, layer.targets))
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = layer.noise_var

    class Linear(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(features, targets, likelihood)
            self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), gpytorch.kernels.LinearKernel()

        def forward(self, inputs):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(inputs), self.covar_module(inputs))

    model = Linear().double()
    model.covar_module.variance = 1.0 / layer.precision
    model.train()
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        value = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(features), targets)
    assert objective(layer) == pytest.approx(-len(targets) * float(value), rel=1e-6)


def test_the_objective_says_that_it_is_a_total_and_in_what_unit():
    assert "in nats, minimised" in (FreeEnergy.__doc__ or "")
    assert objective(
        Layer(np.tile(LAYERS[0].features, (2, 1)), np.tile(LAYERS[0].targets, 2), 1.7, 0.3)
    ) > 1.5 * objective(LAYERS[0])
