"""``corners truth`` with the real sampler: from a table to a certificate, and back from the files to the table."""

import numpy as np
import pytest
from click.testing import CliRunner

import corners
from corners.cli.main import main
from corners.study.truth_data import features_of, truth_data
from inference.errors import TruthError
from inference.truth import NetworkReference, ReferencePosterior
from tests.inference.truth import oracles
from tests.inference.truth.judging import assert_moments

HELD = ("--prior-precision", "2", "--noise-scale", "0.5")


def run(folder, *arguments):
    return CliRunner().invoke(main, ["truth", *arguments, "--out", str(folder), "--quiet"])


def test_a_last_layer(tmp_path):
    ran = run(tmp_path, "linear", *HELD, "--train-seed", "5", "--draws", "500", "--seed", "1")
    assert ran.exit_code == 0 and "usable as ground truth" in ran.output, ran.output
    reference = ReferencePosterior.load(tmp_path / "linear_gaussian_fixed")
    data = truth_data(corners.load("linear"), train_seed=5)
    features = features_of(data).values
    assert_moments(reference, *oracles.posterior(features, data.targets, 2.0, 0.5))
    exact = oracles.log_evidence(features, data.targets, 2.0, 0.5)
    assert abs(reference.evidence.log_evidence - exact) <= 0.05
    assert reference.exact["log_evidence"] == pytest.approx(exact, rel=1e-9)
    assert np.isfinite(reference.with_data(features, data.targets).log_likelihood).all()


def test_a_network_that_was_hardly_sampled(tmp_path):
    ran = run(
        tmp_path, "sine", "--network", "2", "--noise-scale", "0.5", "--draws", "10", "--tune", "20", "--seed", "1"
    )
    assert ran.exit_code == 1 and "not usable as ground truth" in ran.output, ran.output
    with pytest.raises(TruthError, match="may not be used as ground truth"):
        NetworkReference.load(tmp_path / "sine_network_2_fixed_noise")
