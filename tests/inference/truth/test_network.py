"""A network of one unit, whose posterior is a quadrature: two weights on a grid, the other two in closed form."""

import numpy as np
import pytest
from scipy.special import logsumexp

from inference.errors import SpecError, TruthError
from inference.truth import NetworkPrior, sample_network

X = np.linspace(-3.0, 3.0, 25)[:, None]  # both ends of the unit are seen, so that no weight trades against another
Y = np.tanh(1.5 * X[:, 0] - 0.5) + 0.15 * np.random.default_rng(8).normal(size=25)
AT = np.array([[-2.0], [-0.4], [0.6], [2.0]])
NOISE, PRIOR = 0.15, NetworkPrior(output_scale=1.5, output_bias_scale=0.5)


@pytest.fixture(scope="module")
def run():
    return sample_network(
        X, Y, units=1, at=AT, noise_scale=NOISE, prior=PRIOR, draws=400, tune=400, target_accept=0.95, seed=12
    )


def quadrature(points=301):
    """Mean and standard deviation of f at ``AT``: given (W1, b1) the network is a linear model in (w2, b2)."""
    axis = np.linspace(-6.0, 6.0, points)
    w, b = (each.reshape(-1, 1) for each in np.meshgrid(axis, axis))
    seen = np.stack([np.tanh(w * X[:, 0] + b), np.ones((w.size, len(X)))], axis=2)
    new = np.stack([np.tanh(w * AT[:, 0] + b), np.ones((w.size, len(AT)))], axis=2)
    precision = seen.transpose(0, 2, 1) @ seen / NOISE**2 + np.diag([1.5**-2, 0.5**-2])
    pull = seen.transpose(0, 2, 1) @ Y / NOISE**2
    covariance = np.linalg.inv(precision)
    centre = np.einsum("gij,gj->gi", covariance, pull)
    fit = 0.5 * (pull * centre).sum(axis=1) - 0.5 * np.linalg.slogdet(precision)[1]
    log_mass = fit - 0.5 * (w[:, 0] ** 2 + b[:, 0] ** 2)  # up to a constant
    mass = np.exp(log_mass - logsumexp(log_mass))
    means, variances = np.einsum("gmi,gi->gm", new, centre), np.einsum("gmi,gij,gmj->gm", new, covariance, new)
    mean = mass @ means
    return mean, np.sqrt(mass @ (variances + means**2) - mean**2)


def test_the_quadrature_has_converged():
    for coarse, fine in zip(quadrature(201), quadrature(301), strict=True):
        np.testing.assert_allclose(coarse, fine, rtol=1e-4)


def test_the_function_agrees_with_the_quadrature(run):
    """Means at 4.5 sd/sqrt(ESS_mean), standard deviations at 4.5/sqrt(2 ESS_sd) (theory 10.3)."""
    assert run.passed, str(run.gate)
    mean, sd = quadrature()
    z_mean = (run.mean() - mean) / sd * np.sqrt(run.ess_mean)
    z_sd = (run.sd() / sd - 1.0) * np.sqrt(2.0 * run.diagnostics.ess_sd)
    assert np.abs([z_mean, z_sd]).max() <= 4.5, (z_mean, z_sd)


def test_the_log_likelihood_belongs_to_the_function(run):
    """One row a draw, chain by chain; at a training input that is also a stated one it follows from f alone."""
    assert run.log_likelihood.shape == (1600, 25) and run.function.shape == (4, 400, 4)
    again = sample_network(X, Y, units=1, at=X[:3], noise_scale=NOISE, prior=PRIOR, draws=30, tune=30, seed=5)
    expected = -0.5 * ((Y[:3] - again.function.reshape(-1, 3)) / NOISE) ** 2 - np.log(NOISE * np.sqrt(2.0 * np.pi))
    np.testing.assert_allclose(again.log_likelihood[:, :3], expected, rtol=1e-10)


def test_the_certificate_says_what_was_sampled(run):
    made = run.provenance
    assert made.model == "full network, 1 hidden layer of 1 tanh units, 1 inputs, biases"
    assert made.settings == {"chains": 4, "draws": 400, "tune": 400, "target_accept": 0.95}
    assert made.seed == run.seed == 12 and {"compile", "sampling", "judging"} <= made.seconds.keys()
    assert made.hyperparameters["weights"]["output_scale"] == 1.5 and run.draws == 1600
    assert np.isfinite(run.loo.lpd).all() and len(run.loo.lpd) == 25


def test_sampled_noise_is_judged_beside_the_function_and_few_draws_fail():
    run = sample_network(X, Y, units=2, at=AT, draws=30, tune=60, seed=4)
    assert run.diagnostics.names == ("function[0]", "function[1]", "function[2]", "function[3]", "log_noise_scale")
    assert (run.noise_scale() > 0.0).all() and run.noise_scale().shape == (120,)
    assert not run.passed and np.isnan(run.loo.lpd).all()
    for use in (run.require, run.mean, run.sd, run.function_draws, lambda: run.log_predictive(np.zeros(4))):
        with pytest.raises(TruthError, match=r"may not be used as ground truth: .*bulk ESS of .*; run more draws"):
            use()


def test_same_seed_same_draws_and_a_fresh_one_is_recorded():
    settings = {"units": 1, "at": AT, "noise_scale": NOISE, "draws": 10, "tune": 10}
    first, again = (sample_network(X, Y, seed=5, **settings) for _ in range(2))
    np.testing.assert_array_equal(first.function, again.function)
    fresh = sample_network(X, Y, **settings)
    np.testing.assert_array_equal(sample_network(X, Y, seed=fresh.seed, **settings).function, fresh.function)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"chains": 1}, "chains must be at least 2 but got 1"), ({"units": 0}, "must be at least 1; got 0")],
)
def test_wrong_arguments_are_named(changes, message):
    with pytest.raises(SpecError, match=message):
        sample_network(X, Y, **({"units": 1, "at": AT} | changes))
