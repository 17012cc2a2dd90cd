"""Case 5: single-precision features with a nearly singular Gram matrix are promoted, and two spaces agree."""

import numpy as np
import pytest

from corners.cavities.sequential import Sequential
from corners.data.dataset import Dataset
from corners.data.split import Part, Split
from corners.engine.training import CornerMethod
from corners.exact.cholesky_form import log_evidence
from corners.exact.evidence import Evidence
from tests.support.corner_cells import cell, energy_at, inputs_of, parameters
from tests.support.problems import SHORT
from tests.support.strategies import Layer

GENERATOR = np.random.default_rng(5)
INPUTS = np.linspace(-1.0, 1.0, 300, dtype=np.float32)
FEATURES = np.tanh(
    np.outer(INPUTS, GENERATOR.normal(size=50)).astype(np.float32) + GENERATOR.normal(size=50).astype(np.float32)
)
TARGETS = np.sin(3.0 * INPUTS) + 1e-3 * GENERATOR.standard_normal(300).astype(np.float32)
LAYER = Layer(FEATURES.astype(np.float64), TARGETS.astype(np.float64), precision=1e-2, noise_var=1e-6)


def test_the_gram_matrix_is_nearly_singular():
    assert FEATURES.dtype == np.float32
    assert np.linalg.cond(LAYER.features.T @ LAYER.features) > 1e14


def test_feature_space_and_data_space_agree():
    """The exact evidence from ``A`` (50 x 50), from ``C`` (300 x 300) and from one factorisation, to 1e-8."""
    values = [log_evidence(FEATURES, TARGETS, 1e-2, 1e-3, space=space) for space in ("features", "data")]
    values.append(Evidence(FEATURES, TARGETS).log_evidence(1e-2, 1e-3))
    assert np.isfinite(values).all()
    assert values == pytest.approx([values[0]] * 3, rel=1e-8)


def test_the_objective_that_is_trained_is_that_evidence():
    """One Cholesky of ``A``, whose condition number is 1e12 here: it keeps six digits, and adds no jitter for them."""
    corner = cell("sequential")
    found = energy_at(corner, parameters(corner, [LAYER]), *inputs_of([LAYER])).total[0]
    assert float(found) == pytest.approx(-Evidence(FEATURES, TARGETS).log_evidence(1e-2, 1e-3), rel=1e-6)


def test_sequential_variances_are_variances_there():
    corner = cell("sequential")
    routed = corner.route(parameters(corner, [LAYER]), *inputs_of([LAYER]))
    marginals = Sequential().marginals(routed, inputs_of([LAYER])[0])
    assert bool((marginals.variance >= 0.0).all() and marginals.mean.isfinite().all())


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
