"""The Poisson head: golden terms, its closed expectation, exposure, counts it refuses."""

import numpy as np
import pytest
import torch
from scipy import special, stats

from corners.beliefs import Marginals
from corners.errors import DataError, SpecError
from corners.likelihoods.poisson import Poisson, _wright_omega, with_exposure
from tests.support.golden import golden, golden_cases
from tests.support.problems import assert_close, normal, real


@pytest.mark.parametrize("case", golden_cases("head_terms", "poisson"))
def test_golden_terms(case):
    inputs, expected = case["inputs"], case["expected"]
    mean, variance = real(inputs["mean"]).requires_grad_(), real(inputs["var"]).requires_grad_()
    value = -Poisson().log_partition({}, real(inputs["y"]), Marginals(mean, variance))
    slopes = torch.autograd.grad(value.sum(), (mean, variance))
    tolerance = golden("head_terms")["tolerance"]["quadrature_heads_abs"]
    for actual, key in zip((value, *slopes), ("nlz", "d_mean", "d_var"), strict=True):
        np.testing.assert_allclose(actual.detach(), [expected[key]], rtol=1e-9, atol=tolerance)


def test_density_is_scipys():
    counts, latent = real(0.0, 1.0, 7.0, 300.0), real(-2.0, 0.3, 1.5, 5.9)
    assert_close(Poisson().log_prob({}, counts, latent), stats.poisson.logpmf(counts.numpy(), np.exp(latent.numpy())))


def test_expectation_is_the_closed_form():
    counts, mean, variance = real(0.0, 2.0, 5.0), normal(1, 3), normal(2, 3).exp()
    expected = counts * mean - (mean + 0.5 * variance).exp() - torch.lgamma(counts + 1.0)
    assert_close(Poisson().expected_log_prob({}, counts, Marginals(mean, variance)), expected)


def test_a_rate_no_float_can_hold_keeps_its_slope():
    latent = real(2000.0).requires_grad_()
    (slope,) = torch.autograd.grad(Poisson().log_prob({}, real(3.0), latent).sum(), latent)
    assert bool(slope.isfinite()) and float(slope) < -1e100


def test_exposure_multiplies_the_mean_count():
    """A datum seen for twice the time has the likelihood of twice the rate."""
    counts, exposure = real(0.0, 4.0, 9.0), real(2.0, 0.5, 10.0)
    marginals = Marginals(normal(1, 3), torch.zeros(3, dtype=torch.float64))
    actual = Poisson().log_partition({}, counts, with_exposure(marginals, exposure))
    assert_close(actual, stats.poisson.logpmf(counts.numpy(), (exposure * marginals.mean.exp()).numpy()))


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("inf"), float("nan")])
def test_an_exposure_of_nothing_is_refused(wrong):
    marginals = Marginals(normal(1, 2), torch.ones(2, dtype=torch.float64))
    with pytest.raises(DataError, match=r"exposures must be positive and finite; 1 of 2 are not \(first in row 1"):
        with_exposure(marginals, real(1.0, wrong))


@pytest.mark.parametrize("wrong", [-1.0, 0.5, float("inf"), float("nan")])
def test_targets_that_are_no_counts_are_refused(wrong):
    with pytest.raises(DataError, match=r"counts must be whole numbers 0, 1, 2, ...; 1 of 3 are not \(first in row 2"):
        Poisson().init(real(0.0, 4.0, wrong)[None])


def test_scaled_counts_are_refused():
    at = Marginals(normal(1, 2), torch.ones(2, dtype=torch.float64))
    with pytest.raises(SpecError, match="target_mean must be 0"):
        Poisson().predictive({}, at, 1.0, 1.0)


def test_newton_starts_at_the_mode():
    """Against scipy's Wright omega, over a range that training may meet: rates from e^-800 to e^2000."""
    z = torch.cat([torch.linspace(-800.0, 2000.0, 20001), torch.linspace(-40.0, 40.0, 20001)]).double()
    expected = special.wrightomega(z.numpy())
    np.testing.assert_allclose(_wright_omega(z).numpy(), expected, rtol=1e-7, atol=1e-300)
