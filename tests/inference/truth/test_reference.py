import json
from dataclasses import replace

import numpy as np
import pytest

from inference.errors import FormatError, TruthError
from inference.truth import ReferencePosterior, gate, sample_last_layer
from inference.truth.reference import gaussian_log_density
from inference.truth.storage import VERSION


@pytest.fixture
def saved(fixed_run, tmp_path):
    return fixed_run.save(tmp_path / "deep" / "draws.of.v1")


def edit(path, **changes):
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | changes))


def test_pointwise_log_likelihood_belongs_to_the_draws(fixed_run, collapsed_run, data):
    """Case 21: always attached, one column a point and one row a draw, chain by chain."""
    features, targets = data
    for run in (fixed_run, collapsed_run):
        assert run.log_likelihood.shape == (4000, 25)
        for s in (0, 1234, 3999):
            weights, scale = run.weights[s // 1000, s % 1000], run.noise_scale()[s]
            expected = -0.5 * ((targets - features @ weights) / scale) ** 2 - np.log(scale * np.sqrt(2.0 * np.pi))
            np.testing.assert_allclose(run.log_likelihood[s], expected, rtol=1e-12)


def test_numbers_that_were_given_are_constant_over_the_draws(fixed_run, collapsed_run):
    assert np.all(fixed_run.prior_precision() == 1.3) and fixed_run.prior_precision().shape == (4000,)
    assert np.all(fixed_run.noise_scale() == 0.3) and not fixed_run.hyperparameters
    np.testing.assert_array_equal(
        collapsed_run.noise_scale(), np.concatenate(list(collapsed_run.hyperparameters["noise_scale"]))
    )


def test_predictive_is_the_mixture_over_the_draws(collapsed_run, data, generator):
    features = generator.normal(size=(2, 3))
    location, scale = collapsed_run.predictive_draws(features)
    assert location.shape == (4000, 2) and scale.shape == (4000,)
    np.testing.assert_allclose(location[1500, 1], collapsed_run.weights[1, 500] @ features[1])
    value, error = collapsed_run.log_predictive(features, np.array([0.3, -9.0]))
    density = np.exp(gaussian_log_density(np.array([0.3, -9.0]), location, scale))
    np.testing.assert_allclose(value, np.log(density.mean(axis=0)), rtol=1e-9)
    assert np.all(error > 0.0)


def test_statistics_of_the_weights_leave_out_the_hyperparameters(collapsed_run):
    for name in ("ess_bulk", "ess_tail", "ess_mean", "ess_sd", "rhat"):
        assert getattr(collapsed_run, name).shape == (3,)
    assert collapsed_run.diagnostics.rhat.shape == (5,)


def test_provenance_says_how_to_make_the_draws_again(collapsed_run, data):
    found = collapsed_run.provenance
    assert found.model == "gaussian_last_layer, collapsed" and found.seed == 20241
    assert {"python", "numpy", "pymc", "pytensor", "arviz", "numba"} <= found.versions.keys()
    assert {"compile", "whitening", "sampling", "judging"} <= found.seconds.keys()
    assert found.settings["chains"] == 4 and found.settings["target_accept"] == 0.9
    assert found.hyperparameters["noise_scale"] == {"family": "half_normal", "scale": 1.0}


def test_save_and_load_lose_nothing(fixed_run, collapsed_run, tmp_path):
    for run in (fixed_run, collapsed_run):
        path = run.save(tmp_path / "draws.of.v1")
        assert path.name == "draws.of.v1.json"
        again = ReferencePosterior.load(path)
        np.testing.assert_array_equal(again.weights, run.weights)
        np.testing.assert_array_equal(again.log_likelihood, run.log_likelihood)
        np.testing.assert_array_equal(again.loo.k_hat, run.loo.k_hat)
        np.testing.assert_array_equal(again.sample_stats["tree_size"], run.sample_stats["tree_size"])
        assert set(again.hyperparameters) == set(run.hyperparameters)
        assert again.provenance == run.provenance and again.evidence == run.evidence
        assert str(again.gate) == str(run.gate)
    assert len(list(tmp_path.iterdir())) == 2  # nothing partial is left


def test_a_certificate_of_version_1_is_of_gaussian_noise(saved, fixed_run):
    """It named no likelihood: there was one."""
    provenance = json.loads(saved.read_text())["provenance"]
    del provenance["likelihood"]
    edit(saved, version=1, provenance=provenance)
    again = ReferencePosterior.load(saved)
    assert again.likelihood == "gaussian"
    np.testing.assert_array_equal(again.weights, fixed_run.weights)


def test_the_certificate_can_be_read_by_people(saved):
    document = json.loads(saved.read_text())
    assert document["passed"] is True and document["checks_made"][0]["name"] == "R-hat"
    assert document["provenance"]["seed"] == 20240


def test_a_run_that_failed_is_refused_however_the_certificate_reads(data, tmp_path):
    run = sample_last_layer(*data, prior_precision=1.3, noise_scale=0.3, draws=20, tune=20, seed=1)
    path = run.save(tmp_path / "failed")
    assert json.loads(path.read_text())["passed"] is False
    edit(path, passed=True)
    with pytest.raises(TruthError, match="bulk ESS"):
        ReferencePosterior.load(path)


def test_a_failed_run_has_neither_evidence_nor_leave_one_out(data, tmp_path):
    run = sample_last_layer(*data, prior_precision=1.3, noise_scale=0.3, draws=4, tune=20, chains=2, seed=1)
    assert run.evidence is None and run.provenance.settings["no_evidence_because"] == "the run failed its gate"
    assert np.isnan(run.loo.lpd).all() and run.loo.flagged.size == 25
    run.save(tmp_path / "few")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": VERSION + 1}, f"is of version {VERSION + 1}, this program reads up to {VERSION}; upgrade"),
        ({"kind": "something else"}, "is not a bethe-corners reference posterior"),
        ({"provenance": {}}, "is incomplete"),
        ({"arrays_sha256": "0"}, "is not the file that .* certifies"),
    ],
)
def test_a_certificate_that_does_not_fit_is_refused(saved, changes, message):
    edit(saved, **changes)
    with pytest.raises(FormatError, match=message):
        ReferencePosterior.load(saved)


def test_other_arrays_under_the_same_name_are_refused(saved, fixed_run):
    replace(fixed_run, weights=fixed_run.weights + 1.0).save(saved.with_name("other"))
    saved.with_name("draws.of.v1.npz").write_bytes(saved.with_name("other.npz").read_bytes())
    with pytest.raises(FormatError, match="sha256 differs"):
        ReferencePosterior.load(saved)


def test_text_that_is_no_json_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("draws")
    with pytest.raises(FormatError, match="is not JSON"):
        ReferencePosterior.load(tmp_path / "x")


def test_a_save_that_is_killed_leaves_no_certificate(fixed_run, tmp_path, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("inference.truth.storage._arrays", killed)
    with pytest.raises(KeyboardInterrupt):
        fixed_run.save(tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_the_gate_follows_the_diagnostics(fixed_run):
    """There is no stored verdict to edit: the report is computed from the statistics."""
    bad = replace(fixed_run.diagnostics, rhat=fixed_run.diagnostics.rhat + 1.0)
    assert not replace(fixed_run, diagnostics=bad).passed
    assert fixed_run.gate == gate.judge(fixed_run.diagnostics, draws=4000, hyperpriors=False)
