"""The committed references: what is said of each, that the usable ones are right, and that the others are refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

import corners
from corners.exact import Evidence
from corners.exact.hyper_posterior import integrate_hyperparameters
from corners.study.truths import exact_values
from inference.errors import TruthError
from inference.truth import (
    Gamma,
    InverseGamma,
    NetworkReference,
    ReferencePosterior,
    energy_distance_null,
    read_certificate,
)
from tests.inference.truth import oracles
from tests.inference.truth.judging import assert_log_moments, assert_moments
from tests.support.importance import importance

FOLDER = Path(__file__).parents[2] / "reports" / "references"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
DOCUMENTS = {name: read_certificate(FOLDER / name) for name in NAMES}
USABLE = [name for name in NAMES if DOCUMENTS[name]["passed"]]
NOT_USABLE = [name for name in NAMES if not DOCUMENTS[name]["passed"]]
NETWORKS = [name for name in NAMES if "network" in DOCUMENTS[name]["kind"]]
LAYER_BYTES, NETWORK_BYTES = 500_000, 2_000_000


def load(name):
    kind = NetworkReference if name in NETWORKS else ReferencePosterior
    return kind.load(FOLDER / name)


def standardised(name, *, targets=True, intercept=False):
    """All rows of the table, by hand."""
    data = corners.load(name)
    features = (data.inputs - data.inputs.mean(axis=0)) / data.inputs.std(axis=0)
    if intercept:
        features = np.column_stack([features, np.ones(data.n)])
    centred = (data.targets - data.targets.mean()) / data.targets.std()
    return features, centred if targets else data.targets


def test_what_the_issue_asks_for_is_there():
    assert {"diabetes_gaussian_fixed", "diabetes_gaussian_hierarchical", "sine_network_10"} <= set(USABLE)
    assert {DOCUMENTS[name]["provenance"]["likelihood"] for name in USABLE} >= {"gaussian", "probit", "poisson"}
    assert "yacht_network_10" in NOT_USABLE


def test_the_readme_lists_every_reference_with_its_verdict_and_command():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", text, flags=re.MULTILINE))
    assert sorted(rows) == NAMES
    for name, row in rows.items():
        cells = [cell.strip() for cell in row.split("|")]
        assert f"`{DOCUMENTS[name]['provenance']['source']['command']}`" in cells
        assert ("usable" if name in USABLE else "**not usable**") in cells


@pytest.mark.parametrize("name", NAMES)
def test_files_are_small_and_hold_no_weights_of_a_network(name):
    path = FOLDER / f"{name}.npz"
    assert path.stat().st_size < (NETWORK_BYTES if name in NETWORKS else LAYER_BYTES)
    with np.load(path, allow_pickle=False) as archive:
        assert ("weights" in archive.files) == (name not in NETWORKS)


@pytest.mark.parametrize("name", NAMES)
def test_a_certificate_says_how_to_make_the_draws_again(name):
    made = DOCUMENTS[name]["provenance"]
    assert {"python", "numpy", "pymc", "pytensor", "arviz", "numba"} <= made["versions"].keys()
    assert isinstance(made["seed"], int) and len(made["data_sha256"]) == len(made["source"]["table_sha256"]) == 64
    assert f"--seed {made['seed']}" in made["source"]["command"]
    assert [check["name"] for check in DOCUMENTS[name]["checks_made"]] == [
        "R-hat",
        "bulk ESS",
        "tail ESS",
        "divergent fraction",
        "E-BFMI",
    ]


@pytest.mark.parametrize("name", USABLE)
def test_usable_references_load_and_their_gate_is_computed_again(name):
    reference = load(name)
    assert reference.passed and json.loads(json.dumps(reference.gate.as_dicts())) == DOCUMENTS[name]["checks_made"]


@pytest.mark.parametrize("name", NOT_USABLE)
def test_the_others_are_refused_with_the_reason_their_certificate_gives(name):
    failed = [check for check in DOCUMENTS[name]["checks_made"] if not check["passed"]]
    assert failed and DOCUMENTS[name]["verdict"] == "not usable as ground truth"
    with pytest.raises(TruthError, match=f"may not be used as ground truth: {failed[0]['name']} of"):
        load(name)


@pytest.mark.parametrize("name", ["diabetes_gaussian_fixed", "sine_network_10"])
def test_the_table_is_the_one_that_was_sampled(name):
    source = DOCUMENTS[name]["provenance"]["source"]
    assert corners.load(source["data"]).fingerprint == source["table_sha256"]


@pytest.mark.needs_tables
@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith(("diabetes", "sine"))])
def test_the_table_of_the_folder_is_the_one_that_was_sampled(name, tables_folder):
    source = DOCUMENTS[name]["provenance"]["source"]
    assert corners.load(source["data"], folder=tables_folder).fingerprint == source["table_sha256"]


def test_gaussian_noise_with_known_hyperparameters():
    """Conjugate posterior, evidence (bridge within 0.05, SMC within 0.3) and leave-one-out, all dense (theory 10.3)."""
    reference = load("diabetes_gaussian_fixed")
    features, targets = standardised("diabetes")
    precision, scale = reference.prior_precision()[0], reference.noise_scale()[0]
    assert_moments(reference, *oracles.posterior(features, targets, precision, scale))
    exact = oracles.log_evidence(features, targets, precision, scale)
    assert reference.exact["log_evidence"] == pytest.approx(exact, rel=1e-9)
    assert abs(reference.evidence.log_evidence - exact) <= 0.05
    assert abs(reference.smc.log_evidence - exact) <= 0.3
    inverse = np.linalg.inv(scale**2 * np.eye(len(targets)) + features @ features.T / precision)
    residual, variance = inverse @ targets / np.diag(inverse), 1.0 / np.diag(inverse)
    left_out = stats.norm.logpdf(residual, 0.0, np.sqrt(variance))
    assert reference.exact["elpd_loo"] == pytest.approx(left_out.sum(), rel=1e-9)
    loo = reference.loo.refitted(lambda n: float(left_out[n]))
    assert abs(loo.elpd - left_out.sum()) <= max(0.1, 0.05 * loo.se)
    assert reference.with_data(features, targets).log_likelihood.shape == (4000, 442)


def test_gaussian_noise_with_hyperpriors():
    """Weights, logarithms of the hyperparameters and the evidence against the quadrature over both (theory 10.2)."""
    reference = load("diabetes_gaussian_hierarchical")
    features, targets = standardised("diabetes")
    given = reference.provenance.hyperparameters
    precision = Gamma(given["prior_precision"]["shape"], given["prior_precision"]["rate"])
    noise = InverseGamma(given["noise_var"]["shape"], given["noise_var"]["scale"])

    def log_prior(log_precision, log_scale):
        of_precision = stats.gamma.logpdf(np.exp(log_precision), precision.shape, scale=1.0 / precision.rate)
        of_noise = stats.invgamma.logpdf(np.exp(2.0 * log_scale), noise.shape, scale=noise.scale)
        return float(of_precision + log_precision + of_noise + np.log(2.0) + 2.0 * log_scale)

    exact = integrate_hyperparameters(Evidence(features, targets), log_prior, points=61)
    assert_moments(reference, exact.mean_weights, exact.covariance_weights)
    means = [exact.mean_log_prior_precision, exact.mean_log_noise_scale]
    assert_log_moments(reference, means, [exact.sd_log_prior_precision, exact.sd_log_noise_scale])
    assert reference.exact["log_evidence"] == pytest.approx(exact.log_evidence, abs=1e-6)
    assert abs(reference.evidence.log_evidence - exact.log_evidence) <= 0.05


def log_layer(at, rate):
    """Weights given log α, its Gamma(2, rate) and Jacobian."""
    weights, log_precision = at[:, :-1], at[:, -1]
    precision = np.exp(log_precision)
    prior = 0.5 * weights.shape[1] * (log_precision - np.log(2.0 * np.pi)) - 0.5 * precision * (weights**2).sum(axis=1)
    return prior + stats.gamma.logpdf(precision, 2.0, scale=1.0 / rate) + log_precision


HEADS = {
    "blood_transfusion_probit_hierarchical": lambda y, f: special.log_ndtr((2.0 * y - 1.0) * f),
    "bio_chemists_poisson_hierarchical": lambda y, f: y * f - np.exp(f) - special.gammaln(y + 1.0),
}


@pytest.mark.needs_tables
@pytest.mark.parametrize("name", HEADS)
def test_heads_agree_with_importance_sampling(name, tables_folder, monkeypatch):
    """Means and evidence, both errors counted; the oracle shares no code with the sampler."""
    monkeypatch.setenv("CORNERS_DATA", str(tables_folder))
    reference = load(name)
    features, targets = standardised(reference.provenance.source["data"], targets=False, intercept=True)
    rate = reference.provenance.hyperparameters["prior_precision"]["rate"]
    size = features.shape[1]

    def log_joint(at):
        return HEADS[name](targets, at[:, :-1] @ features.T).sum(axis=1) + log_layer(at, rate)

    exact = importance(log_joint, np.append(np.zeros(size), 1.0))
    assert exact.ess > 5000.0
    draws = np.column_stack([reference.flat(), np.log(reference.prior_precision())])
    error = exact.sd * np.sqrt(1.0 / reference.diagnostics.ess_mean + 1.0 / exact.ess)
    assert np.abs((draws.mean(axis=0) - exact.mean) / error).max() <= 4.5
    spread = np.sqrt(0.5 / reference.diagnostics.ess_sd + 0.5 / exact.ess)
    assert np.abs((draws.std(axis=0, ddof=1) / exact.sd - 1.0) / spread).max() <= 4.5
    assert abs(reference.evidence.log_evidence - exact.log_evidence) <= 0.05
    assert reference.with_data(features, targets).complete


def test_a_network_that_passed_agrees_with_itself_and_saw_the_sine():
    """Its chains differ no more than independent draws of the same moments; it is sure where there are data."""
    reference = load("sine_network_10")
    flat, (chains, draws, _) = reference.function_draws(), reference.function.shape
    generator = np.random.default_rng(1)
    moments = flat.mean(axis=0), np.cov(flat, rowvar=False)
    independent = generator.multivariate_normal(*moments, size=(chains, draws), method="eigh")
    assert energy_distance_null(reference.function).max() <= 3.0 * energy_distance_null(independent).max()
    source = reference.provenance.source
    part = corners.random_split(corners.load("sine"), 5).train
    inputs = reference.inputs[:, 0] * part.inputs.std() + part.inputs.mean()
    seen = np.abs(inputs) > 1.0  # the table has nothing between -1 and 1
    truth = (np.sin(2.0 * inputs) - source["target_mean"]) / source["target_scale"]
    assert reference.sd()[seen].mean() < 0.5 * reference.sd()[~seen].mean()
    assert np.abs(reference.mean() - truth)[seen].mean() < 0.25
    in_sample = special.logsumexp(reference.log_likelihood, axis=0) - np.log(len(reference.log_likelihood))
    assert reference.loo.elpd < in_sample.sum()  # a point left out is predicted worse than one that was seen


def test_exact_values_in_certificates_are_those_of_the_package():
    """So that a change of the closed forms does not leave an old number standing."""
    features, targets = standardised("diabetes")
    reference = load("diabetes_gaussian_fixed")
    at = {"prior_precision": reference.prior_precision()[0], "noise_scale": reference.noise_scale()[0]}
    known = {"likelihood": None, "hyperpriors": None, **at}
    assert exact_values(features, targets, known, reference.loo) == pytest.approx(dict(reference.exact), rel=1e-9)
