"""The graph that is sampled against scipy's densities, for networks of several sizes in one compiled function."""

import numpy as np
import pytest
from scipy.stats import halfnorm, norm

from inference.truth import HalfNormal, NetworkPrior, stacks
from inference.truth.density import CompiledDensity
from inference.truth.network_models import build, fill, natural_network_draws, network_twin
from inference.truth.network_problem import network_problem

PRIOR = NetworkPrior(hidden_scale=1.5, hidden_bias_scale=0.7, output_scale=2.0, output_bias_scale=0.4)


@pytest.fixture
def interpreted(monkeypatch):
    monkeypatch.setattr(stacks, "compile_kwargs", lambda: {"mode": "FAST_COMPILE"})


def make_problem(rng, rows, columns, units, noise):
    inputs, targets = rng.normal(size=(rows, columns)), rng.normal(size=rows)
    return network_problem(inputs, targets, units=units, at=inputs[:2], noise_scale=noise, prior=PRIOR)


def log_density(problem, position):
    """Standard normal coordinates, the network as a formula, normal noise, and the Jacobian of the logarithm."""
    position, columns, units = np.array(position), problem.inputs.shape[1], problem.units
    noise, total = problem.noise_scale, 0.0
    if problem.noise_family is not None:
        noise, total = np.exp(position[0]), halfnorm.logpdf(np.exp(position[0]), scale=1.3) + position[0]
        position = position[1:]
    a, b, c = columns * units, columns * units + units, columns * units + 2 * units
    hidden = position[:a].reshape(columns, units) * 1.5 / np.sqrt(columns)
    latent = np.tanh(problem.inputs @ hidden + 0.7 * position[a:b]) @ (2.0 * position[b:c] / np.sqrt(units))
    latent = latent + 0.4 * position[c]
    return total + norm.logpdf(position).sum() + norm.logpdf(problem.targets, latent, noise).sum()


@pytest.mark.parametrize("noise", [0.6, HalfNormal(1.3)], ids=["fixed", "sampled"])
def test_log_density_is_the_dense_formula(interpreted, noise, generator):
    """Constants and the Jacobian included; the gradient is its derivative."""
    family = None if isinstance(noise, float) else noise.family
    model, shared = build(family)
    density = CompiledDensity(model)
    for rows, columns, units in ((5, 1, 3), (7, 4, 2), (2, 2, 1)):
        problem = make_problem(generator, rows, columns, units, noise)
        fill(shared, problem)
        position = generator.normal(size=len(problem.scales) + density.scalars)
        value, gradient = density(position)
        np.testing.assert_allclose(value, log_density(problem, position), rtol=1e-10)
        steps = 1e-6 * np.eye(len(position))
        ahead, behind = (density.batch(position + sign * steps) for sign in (1, -1))
        np.testing.assert_allclose(gradient, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-5)


def test_natural_draws_undo_the_coordinates(generator):
    sampled = make_problem(generator, 4, 2, 3, HalfNormal(1.3))
    positions = generator.normal(size=(2, 5, 14))
    noise, weights = natural_network_draws(sampled, positions)
    np.testing.assert_allclose(noise["noise_scale"], np.exp(positions[:, :, 0]))
    np.testing.assert_allclose(weights[7], positions[1, 2, 1:] * sampled.scales)  # draw 2 of chain 1
    noise, weights = natural_network_draws(make_problem(generator, 4, 2, 3, 0.6), positions[:, :, 1:])
    assert noise == {} and weights.shape == (10, 13)


def test_swapped_and_turned_units_are_one_function(generator):
    """Why weights are not judged: f is even under the sign of a unit and does not know their order."""
    problem = make_problem(generator, 6, 2, 3, 0.6)
    weights = generator.normal(size=(1, 13))
    hidden, bias, output = weights[0, :6].reshape(2, 3), weights[0, 6:9], weights[0, 9:12]
    order, sign = [2, 0, 1], np.array([1.0, -1.0, -1.0])
    moved = np.concatenate(
        [(hidden[:, order] * sign).reshape(-1), bias[order] * sign, output[order] * sign, weights[0, 12:]]
    )
    np.testing.assert_allclose(
        problem.function(moved[None], problem.inputs), problem.function(weights, problem.inputs), rtol=1e-12
    )


def test_one_compiled_twin_serves_every_size():
    assert network_twin(None) is network_twin(None)
