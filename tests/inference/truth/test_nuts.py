import numpy as np
import pytest

from inference.errors import DataError, SpecError, TruthError
from inference.truth import Gamma, Hyperpriors, InverseGamma, sample_last_layer
from inference.truth.models import structure_of, twin
from inference.truth.problem import last_layer_problem
from tests.inference.truth import oracles
from tests.inference.truth.judging import assert_log_moments, assert_moments
from tests.support.golden import as_array

pytestmark = pytest.mark.unchecked


def test_golden_fixed_hyperparameters(fixed_run, fixed_case):
    expected = fixed_case["expected"]
    assert fixed_run.passed, str(fixed_run.gate)
    assert_moments(fixed_run, as_array(expected["post_mean"]), as_array(expected["post_cov"]))
    assert abs(fixed_run.evidence.log_evidence - expected["log_evidence"]) <= 5.0 * fixed_run.evidence.se <= 0.05


def test_golden_log_predictive(fixed_run, fixed_case):
    inputs = fixed_case["inputs"]
    value, error = fixed_run.log_predictive(as_array(inputs["Psi_test"]), as_array(inputs["y_test"]))
    assert np.all(np.abs(value - as_array(fixed_case["expected"]["test_lpd"])) <= 4.5 * error)
    assert np.all(error < 0.02)


@pytest.mark.parametrize("form", ["whitened", "plain"])
def test_golden_hyperpriors_with_weights(form, data, hyperpriors, hyper_case):
    check_hyperpriors(sample_last_layer(*data, hyperpriors=hyperpriors, form=form, seed=20242), hyper_case["expected"])


def test_golden_hyperpriors_collapsed(collapsed_run, hyper_case):
    check_hyperpriors(collapsed_run, hyper_case["expected"])


def check_hyperpriors(run, expected):
    assert run.passed, str(run.gate)
    assert_moments(run, as_array(expected["mean_w"]), as_array(expected["cov_w"]))
    mean_log = [expected["mean_log_alpha"], expected["mean_log_sigma"]]
    assert_log_moments(run, mean_log, [expected["sd_log_alpha"], expected["sd_log_sigma"]])
    assert abs(run.evidence.log_evidence - expected["log_evidence"]) <= 5.0 * run.evidence.se <= 0.1


def test_density_of_the_noise_variance_has_its_jacobian(data):
    """A skewed posterior and a density of the variance: a wrong sign or a lost factor moves it by many errors."""
    hyperpriors = Hyperpriors(prior_precision=Gamma(3.0, 2.0), noise_var=InverseGamma(3.0, 0.5))
    run = sample_last_layer(*data, hyperpriors=hyperpriors, form="collapsed", seed=20243)
    exact = oracles.quadrature(*data, hyperpriors, (0.01, 20.0), (0.12, 0.9), points=33)
    assert run.passed, str(run.gate)
    assert_moments(run, exact.mean_weights, exact.cov_weights)
    assert_log_moments(run, exact.mean_log, exact.sd_log)
    assert abs(run.evidence.log_evidence - exact.log_evidence) <= 5.0 * run.evidence.se


def test_one_unknown_hyperparameter_and_fewer_points_than_features(generator):
    """N < H goes through the non-centred twin; the noise is a number there, so only the precision moves."""
    features, targets = generator.normal(size=(3, 5)), generator.normal(size=3)
    hyperpriors = Hyperpriors(prior_precision=Gamma(3.0, 2.0))
    run = sample_last_layer(features, targets, noise_scale=0.7, hyperpriors=hyperpriors, seed=20244)
    assert run.passed and run.provenance.model.endswith("non_centred")
    assert set(run.hyperparameters) == {"prior_precision"} and np.all(run.noise_scale() == 0.7)
    assert_moments(run, *one_unknown(features, targets, hyperpriors, 0.7))


def one_unknown(features, targets, hyperpriors, scale):
    """Moments of the weights by the midpoint rule in log precision."""
    mean, second, total = 0.0, 0.0, 0.0
    for a in np.exp(np.linspace(-7.0, 4.0, 300)):
        log_mass = oracles.log_evidence(features, targets, a, scale) + oracles.log_prior(hyperpriors, a, scale)
        location, covariance = oracles.posterior(features, targets, a, scale)
        total += np.exp(log_mass)
        mean += np.exp(log_mass) * location
        second += np.exp(log_mass) * (covariance + np.outer(location, location))
    return mean / total, second / total - np.outer(mean, mean) / total**2


def test_a_second_problem_of_another_shape_compiles_nothing_and_is_whitened(fixed_run, generator):
    """Features whose scales span a thousand: unwhitened trajectories would need hundreds of leapfrog steps."""
    features = generator.normal(size=(40, 6)) * np.geomspace(0.03, 30.0, 6)
    targets = generator.normal(size=40)
    run = sample_last_layer(features, targets, prior_precision=1.0, noise_scale=0.5, draws=200, tune=200, seed=1)
    assert run.provenance.seconds["compile"] < 0.05
    assert run.provenance.leapfrog_steps_per_draw < 10.0


def test_the_step_size_is_frozen_after_tuning(fixed_run):
    steps = fixed_run.sample_stats["step_size"]
    assert np.all(steps == steps[:, :1]) and len(np.unique(steps[:, 0])) == 4


def test_same_seed_same_draws_and_other_data_in_between(data):
    first, other, again = (
        sample_last_layer(data[0], data[1] + shift, prior_precision=1.3, noise_scale=0.3, draws=40, tune=40, seed=5)
        for shift in (0.0, 1.0, 0.0)
    )
    np.testing.assert_array_equal(first.weights, again.weights)
    assert not np.array_equal(first.weights, other.weights)
    assert first.provenance.data_sha256 == again.provenance.data_sha256 != other.provenance.data_sha256


def test_the_seed_is_recorded_and_fresh_where_none_is_given(data):
    """Case 23: no hidden seed."""
    runs = [sample_last_layer(*data, prior_precision=1.3, noise_scale=0.3, draws=20, tune=20) for _ in range(2)]
    assert runs[0].seed != runs[1].seed
    again = sample_last_layer(*data, prior_precision=1.3, noise_scale=0.3, draws=20, tune=20, seed=runs[0].seed)
    np.testing.assert_array_equal(runs[0].weights, again.weights)


def test_too_few_draws_fail_the_gate_and_are_refused(data):
    run = sample_last_layer(*data, prior_precision=1.3, noise_scale=0.3, draws=50, seed=3)
    assert not run.passed
    for use in (
        run.require,
        run.mean,
        run.cov,
        lambda: run.predictive_draws(data[0]),
        lambda: run.log_predictive(*data),
    ):
        with pytest.raises(
            TruthError, match=r"bulk ESS of weights\[\d\] is \d+.*required > 400: FAILED; run more draws"
        ):
            use()


def test_an_interrupted_run_leaves_nothing_behind(data, monkeypatch):
    problem = last_layer_problem(*data, prior_precision=1.3, noise_scale=0.3)
    compiled = twin(structure_of(problem, "centred"))
    function, calls = compiled.density._function, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 500:
            raise KeyboardInterrupt
        return function(*arguments)

    monkeypatch.setattr(compiled.density, "_function", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sample_last_layer(*data, prior_precision=1.3, noise_scale=0.3, seed=1)
    assert not compiled.lock.locked()


def test_targets_may_be_a_column(data):
    settings = {"prior_precision": 1.3, "noise_scale": 0.3, "draws": 10, "tune": 10, "seed": 2}
    flat, column = (sample_last_layer(data[0], y, **settings) for y in (data[1], data[1][:, None]))
    np.testing.assert_array_equal(flat.weights, column.weights)


def test_progress_goes_to_standard_error(data, capsys):
    sample_last_layer(*data, prior_precision=1.3, noise_scale=0.3, draws=10, tune=10, seed=2, progress=True)
    captured = capsys.readouterr()
    assert "NUTS" in captured.err and captured.out == ""


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"form": "fast"}, SpecError, "form must be one of whitened, collapsed, plain but got 'fast'"),
        ({"form": "collapsed"}, SpecError, "nothing is left to sample; use form='whitened'"),
        ({"chains": 1}, SpecError, "chains must be at least 2 but got 1"),
        ({"draws": 0}, SpecError, "draws must be at least 4 but got 0"),
        ({"target_accept": 1.0}, SpecError, "strictly between 0 and 1 but got 1.0"),
        ({"noise_scale": None}, SpecError, "noise_scale needs either a number or a density .* neither"),
        ({"hyperpriors": Hyperpriors(noise_var=InverseGamma(1.0, 1.0))}, SpecError, "noise_scale needs .* but both"),
        ({"prior_precision": -1.0}, SpecError, "prior_precision must be finite and positive but got -1.0"),
        ({"features": [[1.0, np.nan]]}, DataError, "features must be finite.*row 0, column 1"),
    ],
)
def test_wrong_arguments_are_named(changes, error, message):
    arguments = {"features": [[1.0, 2.0]], "targets": [1.0], "prior_precision": 1.0, "noise_scale": 1.0} | changes
    with pytest.raises(error, match=message):
        sample_last_layer(arguments.pop("features"), arguments.pop("targets"), **arguments)
