"""What the sampler is asked for, what the certificate says of it, and what is known exactly beside it."""

import numpy as np
import pytest

from corners.data.dataset import Dataset
from corners.errors import DataError, SpecError, TruthError
from corners.study.truths import TruthPlan, sample_truth, truth_name
from inference.errors import TruthError as SamplerError
from inference.truth import Gamma, InverseGamma, LogNormal, NegativeBinomial, Normal, Ordinal, Probit, StudentT
from tests.inference.truth import oracles
from tests.support.drawn_truths import drawn

__all__ = ["drawn"]

GENERATOR = np.random.default_rng(12)
X = GENERATOR.normal(size=(30, 2)) * [3.0, 0.1] + [10.0, 0.0]
LATENT = (X - X.mean(axis=0)) / X.std(axis=0) @ [1.0, -0.7]
TABLE = Dataset(X, 5.0 + 2.0 * LATENT + GENERATOR.normal(size=30), name="lengths")
CLASSES = Dataset(X, (LATENT > 0.0).astype(int), task="classification", name="sides")
GRADES = Dataset(X, np.digitize(LATENT, [-1.0, 0.0, 1.0]), task="classification", name="grades")
COUNTS = Dataset(X, GENERATOR.poisson(np.exp(LATENT)), task="count", name="calls")


def standardised():
    y = TABLE.targets
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def test_by_default_both_hyperparameters_are_sampled_with_the_weights_integrated_out(drawn):
    found = sample_truth(TABLE, TruthPlan(draws=600, seed=3))
    (asked,) = drawn.asked
    features, targets = standardised()
    np.testing.assert_allclose(asked["features"], features, rtol=1e-12)
    np.testing.assert_allclose(asked["targets"], targets, rtol=1e-12)
    assert asked["form"] == "collapsed" and asked["likelihood"] is None and asked["prior_precision"] is None
    assert asked["hyperpriors"].prior_precision == Gamma(2.0, (2 / 2 + 1) / 100)  # theory 7.4
    assert isinstance(asked["hyperpriors"].noise_var, InverseGamma)
    assert asked["hyperpriors"].noise_var.parameters() == pytest.approx((1.0, 0.01))
    assert (asked["chains"], asked["draws"], asked["seed"]) == (4, 600, 3) and "tune" not in asked
    assert found.provenance.source["features"] == "2 standardised inputs, no constant"


def test_the_exact_evidence_of_a_hierarchical_layer_is_the_quadrature(drawn):
    """Against Simpson's rule over dense normal densities."""
    found = sample_truth(TABLE, TruthPlan(seed=1))
    hyperpriors = drawn.asked[0]["hyperpriors"]
    dense = oracles.quadrature(*standardised(), hyperpriors, (1e-4, 1e4), (0.1, 2.0), points=121)
    assert found.exact.keys() == {"log_evidence"}
    assert found.exact["log_evidence"] == pytest.approx(dense.log_evidence, abs=1e-4)


def test_the_exact_values_at_given_numbers_are_dense_ones(drawn):
    drawn.flagged = (4,)
    found = sample_truth(TABLE, TruthPlan(prior_precision=2.0, noise_scale=0.4, seed=1))
    features, targets = standardised()
    full = oracles.log_evidence(features, targets, 2.0, 0.4)
    left_out = []
    for n in range(30):
        keep = np.arange(30) != n
        left_out.append(full - oracles.log_evidence(features[keep], targets[keep], 2.0, 0.4))
    assert found.exact["log_evidence"] == pytest.approx(full, rel=1e-10)
    assert found.exact["elpd_loo"] == pytest.approx(sum(left_out), rel=1e-9)
    refitted = found.loo.elpd - found.loo.lpd[4] + left_out[4]
    assert found.exact["refitted_loo"] == pytest.approx(refitted, rel=1e-9)
    assert drawn.asked[0]["form"] == "whitened" and drawn.asked[0]["hyperpriors"] is None


def test_empirical_bayes_holds_both_where_the_evidence_is_largest(drawn):
    found = sample_truth(TABLE, TruthPlan(empirical_bayes=True, seed=1))
    features, targets = standardised()
    precision, scale = drawn.asked[0]["prior_precision"], drawn.asked[0]["noise_scale"]
    best = oracles.log_evidence(features, targets, precision, scale)
    assert found.exact["log_evidence"] == pytest.approx(best, rel=1e-10)
    for a, s in ((1.05, 1.0), (0.95, 1.0), (1.0, 1.05), (1.0, 0.95)):
        assert oracles.log_evidence(features, targets, a * precision, s * scale) < best


def test_one_number_leaves_the_other_to_its_hyperprior(drawn):
    found = sample_truth(TABLE, TruthPlan(noise_scale=0.5, seed=1))
    asked = drawn.asked[0]
    assert asked["noise_scale"] == 0.5 and asked["hyperpriors"].noise_var is None
    assert asked["hyperpriors"].prior_precision is not None and found.exact == {}


@pytest.mark.parametrize(
    ("table", "head", "likelihood", "columns"),
    [
        (CLASSES, None, Probit(), 3),
        (GRADES, "ordinal", Ordinal(Normal(0.0, 2.0), (LogNormal(0.0, 1.0),) * 2), 2),
        (COUNTS, "negative_binomial", NegativeBinomial(Gamma(2.0, 0.5)), 3),
        (TABLE, "student_t", StudentT(LogNormal(np.log(0.5), 1.0)), 2),
    ],
    ids=["probit", "ordinal", "negative_binomial", "student_t"],
)
def test_heads_and_the_constant_where_targets_are_not_centred(drawn, table, head, likelihood, columns):
    found = sample_truth(table, TruthPlan(head=head, seed=1))
    (asked,) = drawn.asked
    assert asked["likelihood"] == likelihood and asked["form"] == "whitened" and found.exact == {}
    assert asked["features"].shape == (30, columns) and asked["hyperpriors"].noise_prior is None
    assert ("and a constant" in found.provenance.source["features"]) == (columns == 3)
    sample_truth(table, TruthPlan(head=head, seed=1, intercept=columns == 2, prior_precision=3.0))
    assert drawn.asked[1]["features"].shape == (30, 5 - columns)
    assert drawn.asked[1]["prior_precision"] == 3.0 and drawn.asked[1]["hyperpriors"] is None


def test_smc_is_asked_the_same_question(drawn):
    found = sample_truth(COUNTS, TruthPlan(smc=True, seed=9))
    layer, smc = drawn.asked
    assert {name: smc[name] for name in ("likelihood", "hyperpriors")} == {
        name: layer[name] for name in ("likelihood", "hyperpriors")
    }
    assert smc["seed"] == 9 and found.smc.log_evidence == -1.6


def test_a_network_is_judged_at_stated_inputs(drawn):
    said = []
    found = sample_truth(TABLE, TruthPlan(network=7, seed=1, target_accept=0.99, tune=20), say=said.append)
    (asked,) = drawn.asked
    assert asked["what"] == "network" and asked["units"] == 7 and "noise_scale" not in asked
    assert (asked["tune"], asked["target_accept"]) == (20, 0.99)
    np.testing.assert_allclose(asked["inputs"], standardised()[0], rtol=1e-12)
    assert found.provenance.source["stated_inputs"] == "25 rows, evenly spaced in the order of the table"
    assert said == ["sampling every weight of 7 units on 30 rows"]
    sample_truth(TABLE, TruthPlan(network=7, noise_scale=0.2))
    assert drawn.asked[1]["noise_scale"] == 0.2


def test_the_command_and_the_rows_stand_in_the_certificate(drawn):
    found = sample_truth(TABLE, TruthPlan(train_seed=5, units=4), command="corners truth lengths")
    source = found.provenance.source
    assert source["command"] == "corners truth lengths" and source["data"] == "lengths"
    assert source["rows"] == "18 of 30 rows, the training part of seed 5" and drawn.asked[0]["features"].shape == (
        18,
        4,
    )


def test_names_tell_truths_of_one_table_apart():
    plans = [TruthPlan(), TruthPlan(empirical_bayes=True), TruthPlan(units=4), TruthPlan(network=3)]
    plans += [TruthPlan(network=3, noise_scale=0.1), TruthPlan(head="student_t")]
    names = [truth_name(TABLE, plan) for plan in plans]
    assert names[0] == "lengths_gaussian_hierarchical" and names[3] == "lengths_network_3"
    assert len(set(names)) == len(plans)


@pytest.mark.parametrize(
    ("table", "plan", "message"),
    [
        (TABLE, {"head": "poisson"}, "head 'poisson' is not for regression; heads for it: gaussian, student_t"),
        (
            CLASSES,
            {"noise_scale": 1.0},
            "empirical Bayes are of Gaussian noise; the head here is probit",
        ),
        (GRADES, {}, "there is no truth for likelihood 'one_vs_all'; there is one for .*ordinal"),
        (COUNTS, {"network": 3}, "sampled with Gaussian noise; calls is a table of count"),
    ],
)
def test_what_a_table_cannot_have_is_refused(table, plan, message):
    with pytest.raises(SpecError, match=message):
        sample_truth(table, TruthPlan(**plan))


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"empirical_bayes": True, "noise_scale": 1.0}, "empirical Bayes finds prior precision and noise scale itself"),
        ({"network": 3, "units": 5, "smc": True}, "units, smc: of a last layer on fixed features, and a network of 3"),
        ({"network": 3, "prior_precision": 1.0}, "prior_precision: of a last layer"),
    ],
)
def test_contradictions_are_refused_before_anything_is_loaded(plan, message):
    with pytest.raises(SpecError, match=message):
        TruthPlan(**plan)


@pytest.mark.parametrize(
    ("raised", "error"), [(SamplerError("no curvature"), TruthError), (None, DataError)], ids=["sampler", "table"]
)
def test_errors_are_those_of_this_package(monkeypatch, raised, error):
    def fail(*_, **__):
        raise raised

    if raised is not None:
        monkeypatch.setattr("inference.truth.nuts.sample_last_layer", fail)
    table = TABLE if raised is not None else Dataset(X, np.ones(30), name="flat")
    with pytest.raises(error):
        sample_truth(table, TruthPlan())
