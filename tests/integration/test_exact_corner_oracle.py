"""Two independent programs on the features of a trained network: message passing, and the closed forms of corners."""

from dataclasses import replace

import numpy as np
import pytest

import corners
import inference as P
from corners.backbones.mlp import MLP
from corners.engine.named import named_cell
from corners.exact import Evidence
from corners.protocols import PROTOCOLS
from tests.support.expert_models import regression

pytestmark = pytest.mark.needs_tables


def assert_close(found, expected) -> None:
    """To 1e-8; targets have unit variance."""
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.fixture(scope="module")
def layer(tables_folder):
    """The last layer of a network trained by its own evidence, briefly."""
    split = corners.random_split(corners.load("boston", folder=tables_folder), 5)
    protocol = replace(PROTOCOLS["default"], max_steps=40, dtype="float64")
    return named_cell("sequential", protocol, MLP(20)).fit([split], [5]).last_layer(0, split)


@pytest.fixture(scope="module")
def exact(layer):
    return Evidence(layer.features, layer.targets)


@pytest.fixture(scope="module")
def hyperparameters(layer):
    """``(alpha, sigma)``."""
    return layer.prior_precision, layer.noise_var**0.5


@pytest.fixture(scope="module")
def model(layer):
    width = layer.features.shape[1]
    cov = np.eye(width) / layer.prior_precision
    return regression.bind(mean=np.zeros(width), cov=cov, tau=1.0 / layer.noise_var)


@pytest.fixture(scope="module")
def result(layer, model):
    return P.infer(model, data={"x": layer.features, "y": layer.targets}, constraints=[P.BeliefPropagation()])


def test_the_evidence(result, exact, hyperparameters):
    np.testing.assert_allclose(-result.free_energy[-1], exact.log_evidence(*hyperparameters), rtol=1e-8)


def test_the_posterior(result, exact, hyperparameters):
    w, expected = result.posteriors["w"], exact.posterior(*hyperparameters)
    assert_close(w.mean(), expected.mean)
    assert_close(w.covariance, expected.covariance)


def test_predictions_at_test_rows(result, layer, exact, hyperparameters):
    found, expected = result.predict({"x": layer.test_features}), exact.predict(layer.test_features, *hyperparameters)
    assert_close(found.mean(), expected.means)
    np.testing.assert_allclose(found.var(), expected.variances, rtol=1e-8)


def test_every_leave_one_out_predictive(result, layer, exact, hyperparameters):
    expected, messages = exact.leave_one_out(*hyperparameters), result.messages["w"]
    cavities = [messages.cavity(n) for n in range(len(layer.targets))]
    means = [x @ q.mean() for x, q in zip(layer.features, cavities, strict=True)]
    variances = [x @ q.covariance @ x + layer.noise_var for x, q in zip(layer.features, cavities, strict=True)]
    assert_close(means, expected.means)
    np.testing.assert_allclose(variances, expected.variances, rtol=1e-8)


def test_every_sequential_predictive(layer, model, exact, hyperparameters):
    """One row at a time; the scores are the plates' terms, and sum to the evidence."""
    expected, stream = exact.sequential(*hyperparameters), P.Stream(model, carry=["w"])
    rows = ({"x": layer.features[n : n + 1], "y": layer.targets[n : n + 1]} for n in range(len(layer.targets)))
    steps = [stream.step(row) for row in rows]
    assert_close([step.predictive["y"].mean()[0] for step in steps], expected.means)
    np.testing.assert_allclose([step.predictive["y"].var()[0] for step in steps], expected.variances, rtol=1e-8)
    assert_close([-step.logscore for step in steps], expected.terms)
    np.testing.assert_allclose(sum(step.logscore for step in steps), exact.log_evidence(*hyperparameters), rtol=1e-8)
    assert_close(stream.posteriors["w"].mean(), exact.posterior(*hyperparameters).mean)
