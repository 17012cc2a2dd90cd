import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.truth import Gamma, HalfNormal, Hyperpriors, InverseGamma, LogNormal, last_layer_model, stacks
from inference.truth.density import CompiledDensity
from inference.truth.models import Twin, _build, conditional_weights, structure_of, twin
from inference.truth.problem import last_layer_problem
from tests.inference.truth import oracles

HYPERPRIORS = {
    "gamma_half_normal": Hyperpriors(prior_precision=Gamma(2.3, 0.7), noise_scale=HalfNormal(1.7)),
    "log_normal_inverse_gamma": Hyperpriors(prior_precision=LogNormal(0.3, 0.8), noise_var=InverseGamma(1.4, 0.6)),
    "noise_only": Hyperpriors(noise_var=Gamma(1.5, 2.5)),
    "precision_only": Hyperpriors(prior_precision=InverseGamma(2.5, 1.5)),
}


@pytest.fixture
def interpreted(monkeypatch):
    """The same graphs without Numba's seconds of compilation; runs in test_nuts.py compile them."""
    monkeypatch.setattr(stacks, "compile_kwargs", lambda: {"mode": "FAST_COMPILE"})


def make_problem(rng, rows, columns, hyperpriors):
    fixed = {"prior_precision": 1.3, "noise_scale": 0.4}
    if hyperpriors is not None:
        fixed["prior_precision"] = None if hyperpriors.prior_precision else 1.3
        fixed["noise_scale"] = None if hyperpriors.noise_prior else 0.4
    features = rng.normal(size=(rows, columns))
    return last_layer_problem(features, rng.normal(size=rows), hyperpriors=hyperpriors, **fixed)


def fresh_twin(problem, form):
    structure = structure_of(problem, form)
    model, shared = _build(structure)
    compiled = Twin(structure, model, shared, CompiledDensity(model))
    compiled.set_data(problem)
    return compiled


def dense_log_density(problem, hyperpriors, form, position):
    """The formula of models.py's table from dense densities, in the sampler's coordinates."""
    position = list(position)
    precision = np.exp(position.pop(0)) if hyperpriors and hyperpriors.prior_precision else 1.3
    noise = np.exp(position.pop(0)) if hyperpriors and hyperpriors.noise_prior else 0.4
    scale = np.sqrt(noise) if problem.noise_is_var else noise
    prior = oracles.log_prior(hyperpriors, precision, scale) if hyperpriors else 0.0
    if form == "collapsed":
        return prior + oracles.log_evidence(problem.features, problem.targets, precision, scale)
    weights = np.array(position)
    if form == "centred":
        return prior + oracles.log_joint(problem.features, problem.targets, weights, precision, scale)
    joint = oracles.log_joint(problem.features, problem.targets, weights / np.sqrt(precision), precision, scale)
    return prior + joint - 0.5 * len(weights) * np.log(precision)  # dw/dz


@pytest.mark.parametrize("form", ["centred", "non_centred", "collapsed"])
@pytest.mark.parametrize("name", HYPERPRIORS)
def test_log_density_is_the_dense_formula(interpreted, form, name, generator):
    """Constants and Jacobians included, for data of several shapes in one graph; its gradient is its derivative."""
    compiled = None
    for rows, columns in ((7, 3), (3, 5), (4, 4), (6, 1)):
        problem = make_problem(generator, rows, columns, HYPERPRIORS[name])
        compiled = compiled or fresh_twin(problem, form)
        compiled.set_data(problem)
        size = compiled.density.scalars + (0 if form == "collapsed" else columns)
        position = generator.normal(size=size)
        value, gradient = compiled.density(position)
        expected = dense_log_density(problem, HYPERPRIORS[name], form, position)
        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-10)
        steps = 1e-6 * np.eye(size)
        ahead, behind = (compiled.density.batch(position + sign * steps) for sign in (1, -1))
        np.testing.assert_allclose(gradient, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-5)


@given(rows=st.integers(1, 9), columns=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_fixed_hyperparameters_any_shape(rows, columns, seed):
    """The compiled twin that every run shares, filled with data of any shape."""
    rng = np.random.default_rng(seed)
    problem = make_problem(rng, rows, columns, None)
    compiled = twin(structure_of(problem, "centred"))
    compiled.set_data(problem)
    position = rng.normal(size=columns)
    expected = dense_log_density(problem, None, "centred", position)
    np.testing.assert_allclose(compiled.density(position)[0], expected, rtol=1e-10, atol=1e-10)


def test_structures_are_compiled_once(generator):
    first, second = (make_problem(generator, rows, 3, None) for rows in (4, 9))
    assert twin(structure_of(first, "centred")) is twin(structure_of(second, "centred"))


def test_points_and_positions_are_inverse(interpreted, generator):
    problem = make_problem(generator, 5, 3, HYPERPRIORS["gamma_half_normal"])
    density = fresh_twin(problem, "centred").density
    position = generator.normal(size=5)
    point = density.point(position)
    assert list(point) == ["prior_precision_log__", "noise_scale_log__", "weights"]
    np.testing.assert_array_equal(density.position(point), position)


@pytest.mark.parametrize(("rows", "columns"), [(8, 3), (3, 8)])
def test_conditional_weights_have_the_posterior_moments(rows, columns, generator):
    problem = make_problem(generator, rows, columns, None)
    count = 40_000
    draws = conditional_weights(problem, np.full(count, 1.3), np.full(count, 0.4), generator)
    mean, covariance = oracles.posterior(problem.features, problem.targets, 1.3, 0.4)
    whitened = np.linalg.solve(np.linalg.cholesky(covariance), (draws - mean).T)
    # Each entry of the mean and of the covariance of standard normals, at five standard errors.
    assert np.abs(whitened.mean(axis=1)).max() <= 5.0 / np.sqrt(count)
    error = np.abs(np.cov(whitened) - np.eye(columns))
    assert (error <= 5.0 * np.sqrt((1.0 + np.eye(columns)) / count)).all()


def test_conditional_weights_follow_each_rows_hyperparameters(generator):
    problem = make_problem(generator, 6, 2, None)
    many, tight = np.full(5, 1e12), np.full(5, 1e-6)
    least_squares = np.linalg.lstsq(problem.features, problem.targets, rcond=None)[0]
    drawn = conditional_weights(
        problem, np.concatenate([many, np.ones(5)]), np.concatenate([np.ones(5), tight]), generator
    )
    assert np.abs(drawn[:5]).max() < 1e-4  # an infinite prior precision leaves nothing
    np.testing.assert_allclose(drawn[5:], np.tile(least_squares, (5, 1)), atol=1e-4)


def test_the_model_is_an_ordinary_pymc_model(generator):
    model = last_layer_model(
        generator.normal(size=(5, 2)), generator.normal(size=5), hyperpriors=HYPERPRIORS["log_normal_inverse_gamma"]
    )
    assert [variable.name for variable in model.free_RVs] == ["prior_precision", "noise_var", "weights"]
    assert [variable.name for variable in model.observed_RVs] == ["targets"]


@pytest.mark.parametrize("form", ["non_centred", "collapsed"])
def test_other_forms_of_the_model(form, generator):
    priors = HYPERPRIORS["gamma_half_normal"]
    model = last_layer_model(generator.normal(size=(5, 2)), generator.normal(size=5), hyperpriors=priors, form=form)
    names = [variable.name for variable in model.free_RVs]
    assert names == ["prior_precision", "noise_scale"] + (["standardised_weights"] if form == "non_centred" else [])
