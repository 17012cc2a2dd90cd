"""The same numbers from scikit-learn and from GPyTorch, each in its own conventions (acceptance case 4)."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.linear_model import BayesianRidge

from corners.exact import Evidence, log_evidence
from tests.corners.exact.problems import Problem, problem

PROBLEMS = [pytest.param(problem(40, 5), id="N>H"), pytest.param(problem(12, 20, noise_var=0.3), id="N<H")]


def gpytorch_mean_log_likelihood(given: Problem) -> float:
    """Zero mean, kernel ``ψᵀψ'/α``, Cholesky throughout; its objective is a mean per row."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*torch.jit.script.* is deprecated", DeprecationWarning)
        import gpytorch
    features, targets = torch.tensor(given.features), torch.tensor(given.targets)

    class LinearProcess(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(features, targets, gpytorch.likelihoods.GaussianLikelihood().double())
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.LinearKernel().double()

        def forward(self, inputs):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(inputs), self.covar_module(inputs))

    process = LinearProcess()
    process.likelihood.noise, process.covar_module.variance = given.noise_var, 1.0 / given.precision
    process.train()
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(process.likelihood, process)
    with gpytorch.settings.fast_computations(False, False, False):
        return marginal(process(features), targets).item()


@pytest.mark.parametrize("given_problem", PROBLEMS)
def test_gpytorch_times_the_number_of_rows(given_problem):
    """Its objective is a mean per row: N times it is the total."""
    total = len(given_problem.targets) * gpytorch_mean_log_likelihood(given_problem)
    np.testing.assert_allclose(log_evidence(*given_problem.arguments), total, rtol=1e-6)


@pytest.mark.parametrize("given_problem", PROBLEMS)
def test_bayesian_ridge_score_and_optimum(given_problem):
    """``alpha_`` is its noise precision, ``lambda_`` its prior precision; with zero hyperpriors its score is the
    evidence.
    """
    features, targets, _, _ = given_problem
    peer = BayesianRidge(
        alpha_1=0.0,
        alpha_2=0.0,
        lambda_1=0.0,
        lambda_2=0.0,
        compute_score=True,
        fit_intercept=False,
        tol=1e-12,
        max_iter=3000,
    ).fit(features, targets)
    evidence = Evidence(features, targets)
    at_peer = evidence.log_evidence(float(peer.lambda_), float(peer.alpha_) ** -0.5)
    np.testing.assert_allclose(at_peer, peer.scores_[-1], rtol=1e-6)
    best = evidence.maximise(noise_var_floor=1e-12)
    assert best.log_evidence >= at_peer - 1e-8
    if best.status.startswith("converged"):
        np.testing.assert_allclose(best.prior_precision, peer.lambda_, rtol=1e-4)
        np.testing.assert_allclose(best.noise_var, 1.0 / peer.alpha_, rtol=1e-4)
    mean = evidence.posterior(float(peer.lambda_), float(peer.alpha_) ** -0.5).mean
    np.testing.assert_allclose(mean, peer.coef_, rtol=1e-6, atol=1e-9)
