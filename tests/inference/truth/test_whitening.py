import numpy as np
import pytest

from inference.errors import TruthError
from inference.truth.models import structure_of, twin
from inference.truth.problem import last_layer_problem
from inference.truth.whitening import whiten
from tests.inference.truth import oracles


def test_fixed_hyperparameters_give_the_exact_posterior(generator):
    """The density is Gaussian: mode and curvature found from its gradients are mean and covariance."""
    features, targets = generator.normal(size=(30, 4)) * [1.0, 10.0, 0.1, 3.0], generator.normal(size=30)
    problem = last_layer_problem(features, targets, prior_precision=0.6, noise_scale=0.2)
    compiled = twin(structure_of(problem, "centred"))
    compiled.set_data(problem)
    found = whiten(compiled.density, np.empty(0), 4)
    mean, covariance = oracles.posterior(features, targets, 0.6, 0.2)
    np.testing.assert_allclose(found.centre, mean, rtol=1e-9)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-8)
    assert found.floored == 0


def test_collapsed_geometry_is_the_curvature_at_the_marginal_mode(data, hyperpriors):
    problem = last_layer_problem(*data, hyperpriors=hyperpriors)
    compiled = twin(structure_of(problem, "collapsed"))
    compiled.set_data(problem)
    found = whiten(compiled.density, np.zeros(2), 0)

    def dense(x):
        precision, scale = np.exp(x)
        return oracles.log_evidence(*data, precision, scale) + oracles.log_prior(hyperpriors, precision, scale)

    step = 0.02 * np.eye(2)
    curvature = np.array(
        [
            [
                (dense(found.centre + a + b) - dense(found.centre + a - b) - dense(found.centre - a + b))
                + dense(found.centre - a - b)
                for b in step
            ]
            for a in step
        ]
    ) / (-4.0 * 0.02**2)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(curvature), rtol=0.02, atol=1e-3)
    slopes = np.array([(dense(found.centre + a) - dense(found.centre - a)) / 0.04 for a in step])
    assert np.sqrt(slopes @ found.covariance @ slopes) < 0.05  # in standard deviations from the mode


def test_joint_geometry_is_close_to_the_posterior_moments(data, hyperpriors, hyper_case):
    """Laplace's method is not exact here, only close; the target does not depend on it."""
    problem = last_layer_problem(*data, hyperpriors=hyperpriors)
    compiled = twin(structure_of(problem, "centred"))
    compiled.set_data(problem)
    found = whiten(compiled.density, np.zeros(2), 3)
    expected = hyper_case["expected"]
    sd = np.sqrt(np.diag(np.array(expected["cov_w"])))
    assert np.abs((found.centre[2:] - expected["mean_w"]) / sd).max() < 0.1
    ratio = np.sqrt(np.diag(found.covariance)) / [expected["sd_log_alpha"], expected["sd_log_sigma"], *sd]
    assert np.abs(np.log(ratio)).max() < 0.15
    # Hyperparameters and weights covary as the conditional mean moves: the chain rule with a dense derivative.
    slopes = [mean_at(data, found.centre[:2] + e) - mean_at(data, found.centre[:2] - e) for e in 0.5e-3 * np.eye(2)]
    cross = 1e3 * np.array(slopes).T @ found.covariance[:2, :2]
    np.testing.assert_allclose(found.covariance[2:, :2], cross, rtol=0.01, atol=1e-6)


def mean_at(data, logs):
    return oracles.posterior(*data, *np.exp(logs))[0]


class Fake:
    """A density given by a function of the vector, with its gradient by differences."""

    def __init__(self, function):
        self.function = function

    def __call__(self, x):
        return self.function(x), np.array([self.function(x + e) - self.function(x - e) for e in 0.5 * np.eye(len(x))])


def test_a_flat_direction_is_floored_and_counted():
    found = whiten(Fake(lambda x: -0.5 * x[0] ** 2), np.empty(0), 2)
    assert found.floored == 1 and found.covariance[1, 1] > 1e6


def test_a_density_that_is_nowhere_finite_is_an_error():
    with pytest.raises(TruthError, match="finite for no hyperparameters near those of the data"):
        whiten(Fake(lambda _: -np.inf), np.zeros(1), 0)


def test_starts_spread_as_asked(generator, data, hyperpriors):
    problem = last_layer_problem(*data, prior_precision=1.3, noise_scale=0.3)
    compiled = twin(structure_of(problem, "centred"))
    compiled.set_data(problem)
    found = whiten(compiled.density, np.empty(0), 3)
    starts = np.array([found.start(generator, 1.5) for _ in range(4000)])
    whitened = np.linalg.solve(np.linalg.cholesky(found.covariance), (starts - found.centre).T)
    np.testing.assert_allclose(np.cov(whitened), 2.25 * np.eye(3), atol=5.0 * 2.25 * np.sqrt(2.0 / 4000))
