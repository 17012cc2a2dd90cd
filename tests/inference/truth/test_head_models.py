"""Sampled prior precision under a head: both forms of the twin, hierarchical draws, storage, provenance."""

import numpy as np
import pytest
from scipy import stats

from inference.errors import SpecError
from inference.truth import Gamma, Hyperpriors, Normal, Ordinal, Probit, ReferencePosterior, sample_last_layer, stacks
from inference.truth.density import CompiledDensity
from inference.truth.head_models import HeadTwin, build, head_structure, head_twin
from inference.truth.head_problem import head_problem
from tests.inference.truth.heads.grids import grid, weight_prior

pytestmark = pytest.mark.unchecked

PRIORS = Hyperpriors(prior_precision=Gamma(2.0, 1.0))
FEATURES = np.random.default_rng(31).normal(size=(15, 2))
LABELS = (FEATURES @ [1.1, -0.6] + np.random.default_rng(5).normal(size=15) > 0.0).astype(float)


def log_data(at):
    return stats.norm.logcdf((2.0 * LABELS - 1.0) * (at[:, :2] @ FEATURES.T))


def log_prior(at):
    """Of the weights given log α, and of log α with its Jacobian."""
    precision = np.exp(at[:, 2])
    return weight_prior(precision)(at) + stats.gamma.logpdf(precision, 2.0) + at[:, 2]


@pytest.fixture(scope="module")
def run():
    return sample_last_layer(FEATURES, LABELS, likelihood=Probit(), hyperpriors=PRIORS, draws=500, seed=3)


def test_hierarchical_draws_agree_with_the_grid(run):
    """Moments at 4.5 standard errors, the evidence at 0.05 nats or 4.5 of its own errors."""
    assert run.passed, str(run.gate)
    reference = grid(log_data, log_prior, [0.5, -0.3, 0.3], 61, 12.0)
    sd = np.sqrt(np.diag(reference.cov))
    draws = np.column_stack([run.flat(), np.log(run.prior_precision())])
    z = (draws.mean(axis=0) - reference.mean) / sd * np.sqrt(run.diagnostics.ess_mean)
    z_sd = (draws.std(axis=0, ddof=1) / sd - 1.0) * np.sqrt(2.0 * run.diagnostics.ess_sd)
    assert np.abs([z, z_sd]).max() <= 4.5, (z, z_sd)
    assert abs(run.evidence.log_evidence - reference.log_evidence) <= max(0.05, 4.5 * run.evidence.se)


@pytest.mark.parametrize("form", ["centred", "non_centred"])
def test_both_forms_are_the_dense_density(monkeypatch, generator, form):
    monkeypatch.setattr(stacks, "compile_kwargs", lambda: {"mode": "FAST_COMPILE"})
    problem = head_problem(FEATURES, LABELS, Probit(), hyperpriors=PRIORS)
    structure = head_structure(problem, form)
    model, shared = build(structure)
    twin = HeadTwin(structure, model, shared, CompiledDensity(model))
    twin.set_data(problem)
    positions = generator.normal(size=(10, 3))
    scale = np.exp(-0.5 * positions[:, :1]) if form == "non_centred" else 1.0
    at = np.column_stack([positions[:, 1:] * scale, positions[:, 0]])
    jacobian = -positions[:, 0] if form == "non_centred" else 0.0  # of two weights
    expected = log_data(at).sum(axis=1) + log_prior(at) + jacobian
    np.testing.assert_allclose(twin.density.batch(positions), expected, rtol=1e-10)


def test_fewer_points_than_features_are_sampled_non_centred():
    features = np.random.default_rng(1).normal(size=(4, 6))
    run = sample_last_layer(features, LABELS[:4], likelihood=Probit(), hyperpriors=PRIORS, draws=20, tune=50, seed=1)
    assert run.provenance.model == "probit_last_layer, non_centred"
    assert run.weights.shape == (4, 20, 6)


def test_a_second_problem_compiles_nothing(run):
    first, second = (head_problem(FEATURES[:n], LABELS[:n], Probit(), hyperpriors=PRIORS) for n in (5, 9))
    assert head_twin(head_structure(first, "centred")) is head_twin(head_structure(second, "centred"))


def test_what_was_saved_is_loaded_with_its_likelihood(run, tmp_path):
    """Log predictives of the loaded reference are the same numbers: its formula comes from the certificate."""
    loaded = ReferencePosterior.load(run.save(tmp_path / "probit"))
    assert loaded.likelihood == "probit" and loaded.provenance == run.provenance
    for one, other in zip(loaded.log_predictive(FEATURES, LABELS), run.log_predictive(FEATURES, LABELS), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(loaded.log_prob(LABELS, loaded.latent_draws(FEATURES)), run.log_likelihood)
    assert loaded.parameters() == {}


def test_gaussian_questions_are_refused_in_words(run):
    for ask in (run.noise_scale, lambda: run.predictive_draws(FEATURES)):
        with pytest.raises(SpecError, match="is of Gaussian noise and this is probit: use latent_draws and log_prob"):
            ask()


def test_real_parameters_are_judged_as_they_are_and_positive_ones_in_logarithms():
    head = Ordinal(Normal(0.0, 1.0), (Gamma(2.0, 1.0),))
    labels = np.digitize(FEATURES[:, 0], [-0.5, 0.5]).astype(float)
    run = sample_last_layer(FEATURES, labels, likelihood=head, prior_precision=1.0, draws=20, tune=50, seed=1)
    assert run.diagnostics.names == ("weights[0]", "weights[1]", "first_threshold", "log_gap_1")
    assert (run.hyperparameters["gap_1"] > 0.0).all() and (run.hyperparameters["first_threshold"] < 0.0).any()


def test_the_same_seed_gives_the_same_draws_and_the_data_are_named(run):
    again = sample_last_layer(FEATURES, LABELS, likelihood=Probit(), hyperpriors=PRIORS, draws=500, seed=3)
    np.testing.assert_array_equal(run.weights, again.weights)
    moved = head_problem(FEATURES, LABELS, Probit(), hyperpriors=PRIORS, offset=np.ones(15))
    plain = head_problem(FEATURES, LABELS, Probit(), hyperpriors=PRIORS)
    assert plain.fingerprint() == run.provenance.data_sha256 != moved.fingerprint()
