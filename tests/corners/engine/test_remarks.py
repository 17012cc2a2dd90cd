"""What a fit says of itself: collapsed noise, starved covariance, runaway precision, parameters at their bounds."""

import pytest
import torch

from corners.beliefs import GaussianBelief, Prior
from corners.data.batch import PartBatch
from corners.engine.remarks import data_remarks, parameters_at_bound, remarks, start_remark
from corners.likelihoods.gaussian import Gaussian
from corners.method import FitStatus
from tests.support.corner_cells import cell
from tests.support.problems import generators, normal, real

FEATURES = normal(1, 20, 3)


def said(name: str, *, noise_var: float, variance: float, precision: float = 1.0, mean: float = 0.5, **options) -> str:
    """The remarks on a cell with an isotropic belief."""
    from corners.covariances.diagonal import DiagonalCovariance

    corner = cell(name, jitter=0.0, **options)
    params = {"log_noise_var": real(noise_var).log()[0], "target_var": real(1.0)[0]}
    belief = GaussianBelief(mean * torch.ones(3).double(), DiagonalCovariance(variance * torch.ones(3).double()))
    return "; ".join(remarks(corner, params, belief, real(precision)[0], FEATURES, ()))


@pytest.mark.parametrize(("noise_var", "expected"), [(1e-6, True), (0.3, False)])
def test_noise_below_a_twentieth_of_the_predictive_variance_has_collapsed(noise_var, expected):
    assert ("noise collapsed" in said("scroll_diagonal", noise_var=noise_var, variance=0.1)) == expected


def test_the_share_that_is_said_is_the_mean_over_the_points():
    share = float((1e-3 / (1e-3 + 0.1 * FEATURES.square().sum(-1))).mean())
    assert f"it is {share:.1%} of the predictive variance" in said("scroll_diagonal", noise_var=1e-3, variance=0.1)


def test_a_free_covariance_that_vanished_is_said_and_a_bound_or_absent_one_is_not():
    assert "covariance starved" in said("scroll_diagonal", noise_var=1.0, variance=1e-6)
    assert "covariance starved" in said("mean_closed_diagonal", noise_var=1.0, variance=1e-6)
    assert "starved" not in said("sequential", noise_var=1.0, variance=1e-6)
    assert "starved" not in said("scroll_none", noise_var=1.0, variance=0.0)


def test_a_precision_a_hundred_times_what_the_belief_says_ran_away():
    """``α / α_ref`` with ``α_ref = H/(‖μ‖² + tr Σ)`` (theory 7.2, 7.3)."""
    spread = 3 * 0.5**2 + 3 * 0.1
    for precision, expected in ((99.0 * 3 / spread, False), (101.0 * 3 / spread, True)):
        assert ("ran away" in said("scroll_diagonal", noise_var=0.3, variance=0.1, precision=precision)) == expected


def test_a_fixed_precision_cannot_run_away():
    text = said("scroll_diagonal", noise_var=0.3, variance=0.1, precision=1e6, prior=Prior(learned=False))
    assert "ran away" not in text


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("log_prior_precision", 12.0, True),
        ("log_prior_precision", -10.0, True),
        ("log_prior_precision", 11.9, False),
        ("log_noise_var", -14.0, True),
        ("covariance.log_var", -18.0, True),
    ],
)
def test_a_learned_parameter_on_its_bound_is_named(name, value, expected):
    corner = cell("scroll_diagonal")
    params = corner.init(normal(2, 1, 8, 3), normal(3, 1, 8), generators(1))
    own = {key: entry[0].clone() for key, entry in params.items()}
    own[name] = own[name].fill_(value)
    assert (name in parameters_at_bound(corner, own)) == expected


def test_the_ceiling_of_the_noise_is_a_bound_and_fixed_parameters_have_none():
    corner = cell("scroll_diagonal")
    params = {key: entry[0] for key, entry in corner.init(normal(2, 1, 8, 3), normal(3, 1, 8), generators(1)).items()}
    at = params | {"log_noise_var": (4.0 * params["target_var"]).log()}
    assert "log_noise_var" in parameters_at_bound(corner, at)
    fixed = cell("scroll_diagonal", likelihood=Gaussian(noise_scale=2.0, learned=False))
    assert "log_noise_var" not in parameters_at_bound(fixed, at)


def test_a_constant_target_is_said_to_leave_the_noise_floor_alone():
    part = PartBatch(normal(4, 1, 8, 3), torch.zeros(1, 8, dtype=torch.float64))
    assert "targets are constant" in "; ".join(data_remarks(cell("sequential"), part, True))
    assert data_remarks(cell("sequential"), PartBatch(normal(4, 1, 8, 3), normal(5, 1, 8)), False) == ()


def test_rows_all_duplicated_are_said_where_leaving_one_out_sees_the_twin():
    inputs, targets = normal(4, 1, 4, 3), normal(5, 1, 4)
    twice = PartBatch(inputs.repeat(1, 2, 1), targets.repeat(1, 2))
    for name in ("leave_one_out", "mean_closed_dense"):
        assert "every training row is duplicated" in "; ".join(data_remarks(cell(name), twice, False))
    assert data_remarks(cell("sequential"), twice, False) == ()
    but_one = PartBatch(twice.inputs[:, :7], twice.targets[:, :7])
    assert data_remarks(cell("leave_one_out"), but_one, False) == ()
    other_targets = PartBatch(twice.inputs, torch.cat([targets, targets + 1.0], 1))
    assert data_remarks(cell("leave_one_out"), other_targets, False) == ()


def test_going_back_to_the_very_start_is_said():
    assert "never improved on the start" in start_remark(0, FitStatus("stopped_early"))[0]
    assert start_remark(3, FitStatus("stopped_early")) == () and start_remark(0, FitStatus("exact")) == ()
