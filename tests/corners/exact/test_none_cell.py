"""Stationary prior precisions of the point belief: golden roots, the case of six, and stationarity of the
definition.
"""

import math

import numpy as np
import pytest
from hypothesis import given

from corners.exact import none_cell_stationary_points, shared_closed_gradient
from tests.corners.exact.problems import problem
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.strategies import layers


def profile_slope(features, targets, precision, scale):
    """``dP/d log α`` by the closed cell's own gradient: with ``Σ = 0`` the bound mean is the optimal one."""
    return shared_closed_gradient(features, targets, precision, scale, family="none").log_prior_precision


@pytest.mark.parametrize("case", golden_cases("eb_fixed_point"))
def test_golden_roots_at_the_golden_noise(case):
    expected = case["expected"]
    noise_var = float(expected.get("sigma2") or expected["null_sigma2"])
    points = none_cell_stationary_points(as_array(case["inputs"]["Psi"]), as_array(case["inputs"]["y"]), noise_var**0.5)
    assert_golden("eb_fixed_point", points.roots, expected.get("v1_joint_map_alpha_roots_at_this_sigma2", []))
    assert_golden("eb_fixed_point", points.largest_pull, expected["v1_max_alpha_mu2"])
    assert points.exists == expected.get("v1_has_stationary_point", True)


def test_six_roots_alternate_minimum_and_barrier():
    """The case of theory 7.2: ``s = (30, .3, .003)``, ``z = (3, 3, 3)``, ``σ² = .3``."""
    features, targets, scale = np.diag([30.0, 0.3, 0.003]), np.full(3, 3.0), 0.3**0.5
    points = none_cell_stationary_points(features, targets, scale)
    assert len(points.roots) == 6
    for k, root in enumerate(points.roots):
        before, after = (profile_slope(features, targets, root * f, scale) for f in (0.99, 1.01))
        assert (before < 0.0 < after) if k % 2 == 0 else (after < 0.0 < before)
    assert (points.minimum, points.barrier) == points.roots[:2]
    assert points.log_barrier_ratio == pytest.approx(math.log(points.roots[1] / points.roots[0]))


@given(layers())
def test_every_root_is_stationary_and_there_are_pairs(layer):
    scale = layer.noise_var**0.5
    points = none_cell_stationary_points(layer.features, layer.targets, scale)
    assert len(points.roots) % 2 == 0
    assert points.exists == (points.largest_pull > layer.features.shape[1])
    for root in points.roots:
        assert abs(profile_slope(layer.features, layer.targets, root, scale)) < 1e-6 * layer.features.shape[1]


def test_joint_map_is_not_type_two_ml():
    """``α* = H/‖μ‖²`` at the root, where type-II maximum likelihood has ``γ/‖μ‖²``."""
    given_problem = problem(15, 3)
    points = none_cell_stationary_points(*given_problem[:2], 0.7)
    ridge = points.minimum * 0.49
    mean = np.linalg.solve(
        ridge * np.eye(3) + given_problem.features.T @ given_problem.features,
        given_problem.features.T @ given_problem.targets,
    )
    assert points.minimum == pytest.approx(3.0 / float(mean @ mean), rel=1e-9)


def test_empty_features_have_no_stationary_point():
    points = none_cell_stationary_points(np.zeros((4, 2)), np.ones(4), 1.0)
    assert not points.exists
    assert (points.minimum, points.barrier, points.log_barrier_ratio) == (None, None, None)
