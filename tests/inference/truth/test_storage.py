"""Compact files, what later versions added, and runs that must never come back as truth."""

import json
from dataclasses import replace

import numpy as np
import pytest

from inference.errors import DataError, FormatError, SpecError, TruthError
from inference.truth import ReferencePosterior, read_certificate, sample_last_layer, to_arviz
from inference.truth.diagnostics import diagnose
from inference.truth.evidence import SmcEstimate


@pytest.fixture(scope="module")
def compact(fixed_run, tmp_path_factory):
    return ReferencePosterior.load(fixed_run.save(tmp_path_factory.mktemp("compact") / "draws", compact=True))


def test_a_compact_file_keeps_every_statistic_and_seven_digits_of_the_draws(fixed_run, compact, tmp_path):
    np.testing.assert_allclose(compact.weights, fixed_run.weights, rtol=1e-7)
    assert compact.weights.dtype == np.float64
    for name in ("ess_bulk", "ess_tail", "ess_mean", "ess_sd", "rhat", "bfmi"):
        np.testing.assert_array_equal(getattr(compact.diagnostics, name), getattr(fixed_run.diagnostics, name))
    np.testing.assert_array_equal(compact.loo.lpd, fixed_run.loo.lpd)
    assert compact.evidence == fixed_run.evidence and compact.provenance == fixed_run.provenance
    whole, small = (fixed_run.save(tmp_path / name, compact=name == "small") for name in ("whole", "small"))
    sizes = [path.with_suffix(".npz").stat().st_size for path in (whole, small)]
    assert sizes[1] < sizes[0] / 5
    assert compact.save(tmp_path / "again", compact=True).with_suffix(".npz").read_bytes() == (
        small.with_suffix(".npz").read_bytes()
    )


def test_the_data_give_the_log_likelihood_back(fixed_run, compact, data):
    """Case 21: it is a call away, and never that of other data."""
    assert fixed_run.complete and not compact.complete
    again = compact.with_data(*data)
    assert again.complete
    np.testing.assert_allclose(again.log_likelihood, fixed_run.log_likelihood, rtol=1e-4, atol=1e-5)
    with pytest.raises(SpecError, match=r"attach it first: reference\.with_data"):
        to_arviz(compact)
    assert to_arviz(again) is not None


@pytest.mark.parametrize("which", ["fixed_run", "compact"])
def test_other_data_are_refused(which, data, request):
    reference = request.getfixturevalue(which)
    features, targets = data
    moved = targets.copy()
    moved[7] += 0.01
    with pytest.raises(DataError, match=r"not the data that were sampled: .* nats \(row 7\); the certificate's source"):
        reference.with_data(features, moved)
    with pytest.raises(DataError, match=r"features of shape \(25, 3\) were sampled, not \(24, 3\)"):
        reference.with_data(features[1:], targets[1:])


def test_other_estimates_and_exact_values_are_kept(fixed_run, tmp_path):
    smc = SmcEstimate(-30.5, 0.1, (-30.4, -30.6), 1000)
    more = replace(fixed_run, smc=smc, exact={"log_evidence": -30.45})
    again = ReferencePosterior.load(more.save(tmp_path / "x"))
    assert again.smc == smc and again.exact == {"log_evidence": -30.45}
    document = read_certificate(tmp_path / "x")
    assert document["verdict"] == "usable as ground truth"
    assert document["loo"] == {
        "elpd": fixed_run.loo.elpd,
        "se": fixed_run.loo.se,
        "flagged": [],
        "threshold": fixed_run.loo.threshold,
    }


def test_a_certificate_of_version_2_has_neither(fixed_run, tmp_path):
    path = fixed_run.save(tmp_path / "x")
    document = json.loads(path.read_text())
    for name in ("smc", "exact", "compact", "verdict", "loo"):
        del document[name]
    del document["provenance"]["source"]
    path.write_text(json.dumps(document | {"version": 2}))
    again = ReferencePosterior.load(path)
    assert again.smc is None and again.exact == {} and again.provenance.source == {}


@pytest.mark.parametrize("stuck", [(1,), (0, 1, 2, 3)], ids=["one", "all"])
def test_a_stuck_chain_is_saved_as_not_usable_and_never_loaded(fixed_run, stuck, tmp_path):
    """A chain that does not move has no variance: R-hat and sizes are not numbers, and no number is a pass."""
    weights = fixed_run.weights.copy()
    for chain in stuck:
        weights[chain] = weights[chain, :1]
    diagnostics = diagnose(weights, {}, dict(fixed_run.sample_stats))
    path = replace(fixed_run, weights=weights, diagnostics=diagnostics).save(tmp_path / "stuck", compact=True)
    document = read_certificate(path)
    assert document["passed"] is False and document["verdict"] == "not usable as ground truth"
    with pytest.raises(TruthError, match=r"may not be used as ground truth: R-hat of weights\[\d\]"):
        ReferencePosterior.load(path)


def test_a_failed_run_has_no_leave_one_out_in_its_certificate(data):
    run = sample_last_layer(*data, prior_precision=1.3, noise_scale=0.3, draws=4, tune=20, chains=2, seed=1)
    assert run.certificate()["loo"] == {"elpd": None, "se": None, "flagged": None, "threshold": run.loo.threshold}


def test_a_network_is_no_last_layer(fixed_run, tmp_path):
    path = fixed_run.save(tmp_path / "x")
    path.write_text(path.read_text().replace("bethe-corners reference posterior", "bethe-corners reference network"))
    with pytest.raises(FormatError, match="is not a bethe-corners reference posterior: it says it is 'bethe-corners"):
        ReferencePosterior.load(path)
