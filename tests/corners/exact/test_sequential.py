"""Sequential predictives: golden prefixes, refitting, invariance of the sum, and honesty about lost digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corners.errors import SpecError
from corners.exact import Evidence, sequential_predictives
from tests.corners.exact.problems import EVERY_SHAPE, problem
from tests.support import oracles
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.strategies import layers

METHODS = ["auto", "block", "cholesky", "rank_one", "square_root"]


def unpack(case):
    inputs = case["inputs"]
    return as_array(inputs["Psi"]), as_array(inputs["y"]), float(inputs["alpha"]), float(inputs["sigma2"]) ** 0.5


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", golden_cases("sequential"))
def test_golden_prefixes_in_both_orders(case, method):
    for expected in case["expected"]["orders"]:
        order = np.array(expected["order"])
        steps = sequential_predictives(*unpack(case), order=order, method=method, block_size=3)
        assert_golden("sequential", steps.means, expected["pred_mean"])
        assert_golden("sequential", steps.variances, expected["pred_var"])
        assert_golden("sequential", steps.terms, expected["terms"])
        assert_golden("sequential", steps.total, expected["total"])
        np.testing.assert_array_equal(steps.order, order)


@pytest.mark.parametrize("case", golden_cases("sequential"))
def test_golden_blocks(case):
    expected = case["expected"]
    steps = sequential_predictives(*unpack(case))
    assert_golden("sequential", steps.block_terms(expected["block_size"]), expected["block_terms"])
    assert_golden("sequential", steps.total, expected["neg_log_evidence"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("given_problem", EVERY_SHAPE)
def test_every_form_is_refitting_on_each_prefix(given_problem, method):
    expected = oracles.sequential(*given_problem)
    steps = sequential_predictives(*given_problem.arguments, method=method, block_size=2)
    for name in ("means", "variances", "terms"):
        np.testing.assert_allclose(getattr(steps, name), getattr(expected, name), rtol=1e-9, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("sizes", [[1] * 12, [12], [5, 7], [1, 10, 1], [3, 3, 3, 3]])
def test_blocks_of_any_partition_are_joint_predictives(sizes):
    given_problem = problem(12, 4)
    expected = oracles.block_terms(*given_problem, sizes)
    np.testing.assert_allclose(
        sequential_predictives(*given_problem.arguments).block_terms(sizes), expected, rtol=1e-10
    )


@given(layers(), st.integers(0, 2**31), st.integers(1, 5))
def test_the_sum_is_the_evidence_in_any_order_and_any_blocks(layer, seed, size):
    order = np.random.default_rng(seed).permutation(len(layer.targets))
    evidence = Evidence(layer.features, layer.targets)
    scale = layer.noise_var**0.5
    total = -evidence.log_evidence(layer.precision, scale)
    for method in METHODS:
        steps = evidence.sequential(layer.precision, scale, order=order, method=method, block_size=size)
        np.testing.assert_allclose(steps.total, total, rtol=1e-8, atol=1e-8, err_msg=method)
        np.testing.assert_allclose(steps.block_terms(size).sum(), total, rtol=1e-8, atol=1e-8)


@given(layers(rows=(2, 9)))
def test_single_terms_depend_on_the_order(layer):
    """The sum is invariant; the terms are not: the first plate is always scored by the prior alone."""
    scale = layer.noise_var**0.5
    steps = sequential_predictives(layer.features, layer.targets, layer.precision, scale)
    turned = sequential_predictives(
        layer.features, layer.targets, layer.precision, scale, order=np.arange(len(layer.targets))[::-1]
    )
    for first, row in ((steps, 0), (turned, -1)):
        prior = layer.noise_var + (layer.features[row] ** 2).sum() / layer.precision
        np.testing.assert_allclose(first.variances[0], prior, rtol=1e-9)
        assert abs(first.means[0]) < 1e-9 * (1.0 + abs(layer.targets[row]))


@given(layers())
def test_seeing_more_never_widens(layer):
    """``v_sequential ≥ v_leave_one_out ≥ v_shared`` at equal hyperparameters, in any order."""
    evidence, scale = Evidence(layer.features, layer.targets), layer.noise_var**0.5
    slack = 1.0 + 1e-9
    one_out = evidence.leave_one_out(layer.precision, scale).variances
    assert (evidence.sequential(layer.precision, scale).variances * slack >= one_out).all()
    assert (one_out * slack >= evidence.shared_closed(layer.precision, scale).variances).all()


def test_a_well_conditioned_problem_uses_the_fast_form_without_a_note():
    features, targets, precision, scale = problem(300, 5).arguments
    steps = sequential_predictives(features, targets, precision, scale)
    assert (steps.method, steps.note) == ("block", "")
    assert steps.disagreement < 1e-12
    assert sequential_predictives(features[:20], targets[:20], precision, scale).method == "cholesky"


@pytest.mark.parametrize("width", [5, 12])
def test_lost_digits_are_noticed_repaired_and_said(width):
    """At ``ασ² = 1e-12`` against ``s² ≈ 1`` the fast form loses the sum; the square-root form keeps every term."""
    features, targets, _, _ = problem(80, width)
    precision, scale = 1e-6, 1e-3
    expected = oracles.precise_sequential(features, targets, precision, scale**2)
    fast = sequential_predictives(features, targets, precision, scale, method="block")
    assert fast.disagreement > 1e-8
    assert fast.method == "block"
    steps = sequential_predictives(features, targets, precision, scale)
    assert steps.method == "square_root"
    assert "block form disagreed" in steps.note
    assert steps.disagreement < 1e-9
    np.testing.assert_allclose(steps.terms, expected.terms, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(steps.variances, expected.variances, rtol=1e-8)


def test_the_one_shot_factor_loses_more_digits_than_the_square_root_form():
    """Why the repair is not the Cholesky factor of ``C``: forming ``C`` squares the condition number."""
    features, targets, _, _ = problem(60, 12)
    expected = oracles.precise_sequential(features, targets, 1e-4, 1e-6)
    errors = {}
    for method in ("cholesky", "square_root"):
        steps = sequential_predictives(features, targets, 1e-4, 1e-3, method=method)
        errors[method] = np.max(np.abs(steps.terms - expected.terms) / (1.0 + np.abs(expected.terms)))
    assert errors["square_root"] < 1e-12
    assert errors["cholesky"] > 1e-7


def test_arguments_that_make_no_sense_are_refused():
    arguments = problem(4, 2).arguments
    with pytest.raises(SpecError, match=r"permutation of 0\.\.3"):
        sequential_predictives(*arguments, order=np.array([0, 1, 2, 2]))
    with pytest.raises(SpecError, match="block_size must be at least 1; got 0"):
        sequential_predictives(*arguments, block_size=0)
    with pytest.raises(SpecError, match="'rank_one'"):
        sequential_predictives(*arguments, method="kalman")
    with pytest.raises(SpecError, match="add up to 4"):
        sequential_predictives(*arguments).block_terms([1, 2])
