"""Sequential cavity against the posteriors of every prefix, the dense evidence and the golden numbers."""

import numpy as np
import pytest
from hypothesis import given

from corners.cavities.sequential import Sequential
from tests.corners.cavities.test_leave_one_out import layer_of
from tests.support import dense_cells as dense
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.laws.cavity_laws import LIKELIHOOD, bound
from tests.support.problems import assert_close
from tests.support.strategies import Layer, layers


@given(layers())
def test_marginals_are_the_posteriors_of_the_prefixes(layer: Layer):
    routed, features, _, _ = bound([layer])
    marginals = Sequential().marginals(routed, features)
    mean, variance = dense.prefixes(layer.features, layer.targets, layer.precision, layer.noise_var)
    spread = float((layer.features**2).sum(-1).max()) / layer.precision + layer.noise_var
    assert_close(marginals.mean[0], mean, rel=1e-6, abs_=1e-7 * float(np.abs(layer.targets).max() + np.abs(mean).max()))
    assert_close(marginals.variance[0], variance, rel=1e-6, abs_=1e-9 * spread)


@given(layers())
def test_the_total_is_the_log_density_of_all_targets(layer: Layer):
    """Theorem 1, against ``-log N(y; 0, σ²I + ΨΨᵀ/α)``."""
    routed, features, targets, params = bound([layer])
    expected = dense.neg_log_evidence(layer.features, layer.targets, layer.precision, layer.noise_var)
    total = Sequential().data_term(routed, features, targets, LIKELIHOOD, params)[0]
    size = abs(expected) + float(layer.targets @ layer.targets) / layer.noise_var
    assert abs(float(total) - expected) <= 1e-8 * (1.0 + abs(expected)) + 1e-13 * size


@pytest.mark.parametrize("case", golden_cases("sequential"))
def test_golden_in_both_orders(case):
    base, expected = layer_of(case), case["expected"]
    for listed in expected["orders"]:
        order = np.array(listed["order"])
        layer = Layer(base.features[order], base.targets[order], base.precision, base.noise_var)
        routed, features, targets, params = bound([layer])
        marginals = Sequential().marginals(routed, features)
        assert_golden("sequential", marginals.mean[0], listed["pred_mean"])
        assert_golden("sequential", marginals.variance[0] + layer.noise_var, listed["pred_var"])
        assert_golden("sequential", -LIKELIHOOD.log_partition(params, targets, marginals)[0], listed["terms"])
        total = Sequential().data_term(routed, features, targets, LIKELIHOOD, params)[0]
        assert_golden("sequential", total, expected["neg_log_evidence"])


@pytest.mark.parametrize("case", golden_cases("evidence"))
def test_golden_evidence(case):
    layer = layer_of(case)
    routed, features, targets, params = bound([layer])
    total = Sequential().data_term(routed, features, targets, LIKELIHOOD, params)[0]
    assert_golden("evidence", total, case["expected"]["neg_log_evidence"])
    assert_golden("evidence", routed.belief.mean[0], case["expected"]["post_mean"])
    assert_golden("evidence", routed.belief.covariance.matrix()[0], case["expected"]["post_cov"])
    assert routed.sites is not None
    assert_golden("evidence", routed.sites.leverage()[0], case["expected"]["leverage"])
    new = as_array(case["inputs"]["Psi_test"])
    assert_golden(
        "evidence",
        routed.belief.covariance.quadratic(features.new_tensor(new)[None])[0] + layer.noise_var,
        case["expected"]["pred_var"],
    )


def test_the_terms_depend_on_the_order_but_the_total_does_not():
    layer = Layer(np.random.default_rng(1).normal(size=(6, 3)), np.random.default_rng(2).normal(size=6), 1.3, 0.4)
    turned = Layer(layer.features[::-1].copy(), layer.targets[::-1].copy(), 1.3, 0.4)
    (one, features, *_), (other, features_, *_) = bound([layer]), bound([turned])
    forward, backward = Sequential().marginals(one, features), Sequential().marginals(other, features_)
    assert not np.allclose(forward.variance.numpy(), backward.variance.numpy()[:, ::-1])
