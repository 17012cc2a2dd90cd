"""Case 5: single-precision features with a nearly singular Gram matrix are promoted; two spaces agree; nothing is repaired silently."""

import numpy as np
import pytest

from corners.cavities.sequential import Sequential
from corners.data.dataset import Dataset
from corners.data.split import Part, Split
from corners.engine.training import CornerMethod
from tests.support.corner_cells import cell, energy_at, inputs_of, parameters
from tests.support.problems import SHORT
from tests.support.strategies import Layer

GENERATOR = np.random.default_rng(5)
INPUTS = np.linspace(-1.0, 1.0, 300, dtype=np.float32)
FEATURES = np.tanh(np.outer(INPUTS, GENERATOR.normal(size=50)).astype(np.float32) + GENERATOR.normal(size=50).astype(np.float32))
TARGETS = np.sin(3.0 * INPUTS) + 0.05 * GENERATOR.standard_normal(300).astype(np.float32)
LAYER = Layer(FEATURES.astype(np.float64), TARGETS.astype(np.float64), precision=1e-2, noise_var=1e-6)


def test_the_gram_matrix_is_nearly_singular():
    assert FEATURES.dtype == np.float32
    assert np.linalg.cond(LAYER.features.T @ LAYER.features) > 1e14


def test_feature_space_and_data_space_agree():
    """``-log Z`` from ``A`` (50 x 50) and as the sum of sequential predictives from ``C`` (300 x 300), to 1e-8."""
    corner = cell("sequential")
    params, (features, targets) = parameters(corner, [LAYER]), inputs_of([LAYER])
    routed = corner.route(params, features, targets)
    marginals = Sequential().marginals(routed, features)
    assert bool((marginals.variance >= 0.0).all() and marginals.mean.isfinite().all())
    in_data_space = -corner.likelihood.log_partition(params, targets, marginals).sum()
    in_feature_space = energy_at(corner, params, features, targets).total[0]
    assert float(in_feature_space) == pytest.approx(float(in_data_space), rel=1e-8)


@pytest.mark.parametrize("name", ["sequential", "leave_one_out", "shared_closed"])
def test_every_closed_cell_is_finite_there(name):
    corner = cell(name, jitter=0.0)
    params, (features, targets) = parameters(corner, [LAYER]), inputs_of([LAYER])
    routed = corner.route(params, features, targets)
    assert bool(energy_at(corner, params, features, targets).total.isfinite().all())
    marginals = routed.belief.marginals(features)
    assert bool((marginals.variance >= 0.0).all())


def test_single_precision_tables_are_promoted():
    data = Dataset(FEATURES, TARGETS)
    assert data.inputs.dtype == data.targets.dtype == np.float64
    parts = [Part(FEATURES[rows], TARGETS[rows]) for rows in (slice(0, 200), slice(200, 250), slice(250, 300))]
    fit = CornerMethod("sequential", cell("sequential"), SHORT).fit([Split(*parts)], [5])
    predictive = fit.predict(FEATURES[250:])
    assert predictive.variance.dtype == np.float64 and (predictive.variance > 0.0).all()
    assert fit.last_layer(0, Split(*parts)).jitter == 0.0  # the exact corner adds none
