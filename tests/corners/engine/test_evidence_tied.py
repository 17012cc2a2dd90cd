"""MacKay's update: its fixed point is the golden one, and batches, constants and widths do no harm."""

import numpy as np
import pytest
import torch

from corners.engine.evidence_tied import mackay_log_precision
from corners.exact.evidence import Evidence
from tests.support import dense_cells as dense
from tests.support.golden import as_array, golden_cases
from tests.support.problems import assert_close, batch, normal, real
from tests.support.strategies import draw_layer


def updated(features, targets, noise_var, *, calls: int = 60, start: float = 1.0) -> torch.Tensor:
    log_precision = torch.full((len(features),), start, dtype=torch.float64).log()
    for _ in range(calls):
        log_precision = mackay_log_precision(features, targets, log_precision, noise_var)
    return log_precision.exp()


@pytest.mark.parametrize("case", [case for case in golden_cases("eb_fixed_point") if case.id != "eb_runaway"])
def test_the_fixed_point_at_the_golden_noise_is_the_golden_precision(case):
    features, targets = batch([as_array(case["inputs"]["Psi"])]), batch([as_array(case["inputs"]["y"])])
    precision = updated(features, targets, real(case["expected"]["sigma2"]))
    assert float(precision[0]) == pytest.approx(case["expected"]["alpha"], rel=1e-6)


@pytest.mark.parametrize("start", [1e-3, 1.0, 1e3])
def test_the_fixed_point_is_that_of_the_definition_from_every_start(start):
    layers = [draw_layer(1, 20, 4, 1.0, 0.5), draw_layer(2, 20, 4, 1.0, 0.5)]
    features, targets = batch([each.features for each in layers]), batch([each.targets for each in layers])
    precision = updated(features, targets, real(0.5, 0.9), start=start)
    for k, noise_var in enumerate((0.5, 0.9)):
        assert float(precision[k]) == pytest.approx(
            dense.mackay_fixed_point(layers[k].features, layers[k].targets, noise_var), rel=1e-6
        )


def test_the_fixed_point_is_stationary_for_the_evidence():
    layer = draw_layer(3, 15, 4, 1.0, 0.5)
    precision = updated(batch([layer.features]), batch([layer.targets]), real(0.5))
    slope = Evidence(layer.features, layer.targets).gradient(float(precision[0]), 0.5**0.5)
    assert abs(slope.log_prior_precision) < 1e-6


def test_one_update_is_the_formula():
    """``UPDATES`` steps of ``γ/‖μ*‖²`` by dense algebra."""
    from corners.engine.evidence_tied import UPDATES

    layer = draw_layer(4, 6, 8, 1.0, 0.5)
    precision = 2.3
    found = mackay_log_precision(batch([layer.features]), batch([layer.targets]), real(precision).log(), real(0.5))
    for _ in range(UPDATES):
        mean, covariance = dense.posterior(layer.features, layer.targets, precision, 0.5)
        precision = (8 - precision * np.trace(covariance)) / (mean @ mean)
    assert_close(found.exp(), real(precision), rel=1e-6)


def test_targets_without_signal_send_it_to_the_bound_and_not_to_nan():
    found = mackay_log_precision(
        normal(1, 2, 6, 3), torch.zeros(2, 6, dtype=torch.float64), real(0.0, 1.0), real(0.5, 0.5)
    )
    assert not found.isnan().any() and bool((found > 12.0).all())


def test_features_without_signal_are_no_nan():
    found = mackay_log_precision(torch.zeros(1, 6, 3, dtype=torch.float64), normal(2, 1, 6), real(0.0), real(0.5))
    assert not found.isnan().any()


def test_nan_in_one_replicate_leaves_the_others():
    features, targets = normal(1, 3, 6, 3), normal(2, 3, 6)
    features[1, 2, 0] = torch.nan
    found = mackay_log_precision(features, targets, real(0.0, 0.0, 0.0), real(0.5, 0.5, 0.5))
    expected = mackay_log_precision(features[[0, 2]], targets[[0, 2]], real(0.0, 0.0), real(0.5, 0.5))
    assert_close(found[[0, 2]], expected)
    assert not bool(found[1].isfinite())
