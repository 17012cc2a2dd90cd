"""No covariance: a point belief, with jitter or without."""

import torch

from corners.covariances.none import NoCovariance
from tests.support.problems import assert_close, normal


def test_everything_is_zero_and_jitter_does_not_touch_it():
    covariance = NoCovariance().build({}, normal(1, 2, 3), 0.5)
    assert not covariance.matrix().any() and covariance.matrix().shape == (2, 3, 3)
    assert torch.equal(covariance.quadratic(normal(2, 2, 7, 3)), torch.zeros(2, 7, dtype=torch.float64))


def test_overlap_is_the_prior_density_at_the_mean():
    mean, shift = normal(1, 2, 3), torch.tensor([0.25, 4.0]).double()
    log_det, form = NoCovariance().build({}, mean, 0.5).overlap_terms(mean, shift)
    assert_close(log_det, 3.0 * shift.log())
    assert_close(form, (mean.numpy() ** 2).sum(-1) / shift.numpy())
