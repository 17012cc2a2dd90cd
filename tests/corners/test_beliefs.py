"""Prior, hyperpriors and the Gaussian belief against scipy's densities and dense linear algebra."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from corners.beliefs import GammaPrior, GaussianBelief, HalfCauchyPrior, InverseGammaPrior, Prior
from corners.covariances.dense import LOG_DIAGONAL, STRICT_LOWER, Dense
from corners.errors import SpecError
from tests.support import dense_cells as dense
from tests.support.problems import assert_close, normal, real

ALPHAS = np.array([0.03, 0.7, 4.0, 90.0])


def differences(values: np.ndarray) -> np.ndarray:
    """Against the first value, for constants are dropped."""
    return values[1:] - values[0]


@pytest.mark.parametrize("prior", [GammaPrior(2.0, rate=1.0), GammaPrior(3.5, rate=0.2), GammaPrior(2.0, cap=50.0)])
def test_gamma_is_scipys_density_of_the_precision(prior):
    penalty = prior.penalty(torch.tensor(ALPHAS).log(), 7).numpy()
    expected = -stats.gamma.logpdf(ALPHAS, prior.shape, scale=1.0 / prior.rate_for(7))
    assert_close(differences(penalty), differences(expected))


def test_the_default_rate_puts_the_runaway_minimum_at_the_cap():
    """``-(H/2) log α - (a - 1) log α + bα`` is least at ``(H/2 + a - 1)/b = cap`` (theory 7.4)."""
    prior, size = GammaPrior(shape=2.5, cap=80.0), 12
    grid = np.linspace(1.0, 200.0, 20_000)
    total = prior.penalty(torch.tensor(grid).log(), size).numpy() - 0.5 * size * np.log(grid)
    assert grid[total.argmin()] == pytest.approx(80.0, abs=0.02)


@pytest.mark.parametrize("scale", [None, 0.4])
def test_inverse_gamma_is_scipys_density_of_the_variance(scale):
    prior = InverseGammaPrior(shape=1.7, relative_scale=0.05, scale=scale)
    penalty = prior.penalty(torch.tensor(ALPHAS).log(), real(3.0).expand(4)).numpy()
    expected = -stats.invgamma.logpdf(ALPHAS, 1.7, scale=0.15 if scale is None else scale)
    assert_close(differences(penalty), differences(expected))


def test_half_cauchy_is_scipys_density_of_the_scale():
    penalty = HalfCauchyPrior(0.6).penalty(torch.tensor(ALPHAS).log(), real(3.0).expand(4)).numpy()
    assert_close(differences(penalty), differences(-stats.halfcauchy.logpdf(np.sqrt(ALPHAS), scale=0.6)))


def test_only_the_inverse_gamma_stops_the_noise_from_collapsing():
    """At ``σ² → 0`` the inverse gamma is a barrier, the half-Cauchy stays finite (theory 7.4)."""
    log_var = real(-30.0)
    assert float(InverseGammaPrior().penalty(log_var, real(1.0))) > 1e8
    assert float(HalfCauchyPrior().penalty(log_var, real(1.0))) < 1e-8


@pytest.mark.parametrize(
    "make",
    [
        lambda: GammaPrior(shape=0.0),
        lambda: GammaPrior(rate=-1.0),
        lambda: GammaPrior(cap=0.0),
        lambda: InverseGammaPrior(shape=0.0),
        lambda: InverseGammaPrior(relative_scale=0.0),
        lambda: InverseGammaPrior(scale=0.0),
        lambda: HalfCauchyPrior(0.0),
    ],
)
def test_hyperpriors_that_are_no_densities_are_refused(make):
    with pytest.raises(SpecError, match="must be positive"):
        make()


@pytest.mark.parametrize("precision", [0.0, -1.0, math.inf, math.nan])
def test_a_precision_that_is_none_is_refused(precision):
    with pytest.raises(SpecError, match="prior precision must be positive and finite; got"):
        Prior(precision=precision)


def test_tying_and_fixing_the_precision_contradict_each_other():
    with pytest.raises(SpecError, match="choose one of the two"):
        Prior(learned=False, evidence_tied=10)
    with pytest.raises(SpecError, match="cannot be negative; got -1"):
        Prior(evidence_tied=-1)


def test_what_no_gradient_moves():
    name = Prior.parameter
    assert Prior().frozen == frozenset()
    assert Prior(learned=False).frozen == Prior(evidence_tied=10).frozen == {name}


def test_bounds_are_the_stated_ones_and_widen_to_the_start():
    assert Prior().bounds() == {Prior.parameter: (-10.0, 12.0)}
    assert Prior(precision=1e9).bounds()[Prior.parameter] == (-10.0, math.log(1e9))
    assert Prior(precision=1e-9).bounds()[Prior.parameter] == (math.log(1e-9), 12.0)


@pytest.fixture
def belief() -> GaussianBelief:
    mean = normal(1, 3, 4)
    params = {LOG_DIAGONAL: 0.5 * normal(2, 3, 4), STRICT_LOWER: normal(3, 3, 4, 4)}
    return GaussianBelief(mean, Dense().build(params, mean, 0.02))


def test_prior_overlap_is_the_density_of_the_mean_under_both_spreads(belief):
    """``-log ∫ q(w) p(w) dw = -log N(μ; 0, Σ + I/α)``."""
    precision = real(0.3, 1.7, 40.0)
    overlap = belief.prior_overlap(precision)
    for k in range(3):
        expected = dense.prior_term(belief.mean[k].numpy(), belief.covariance.matrix()[k].numpy(), float(precision[k]))
        assert_close(overlap[k], expected)


def test_prior_overlap_is_the_integral_of_both_densities():
    """One dimension, by quadrature of the product itself."""
    mean = real(0.8)[:, None]
    covariance = Dense().build(
        {LOG_DIAGONAL: real(-0.4)[:, None], STRICT_LOWER: torch.zeros(1, 1, 1).double()}, mean, 0.0
    )
    grid = np.linspace(-12.0, 12.0, 40_001)
    product = stats.norm.pdf(grid, 0.8, np.exp(-0.4)) * stats.norm.pdf(grid, 0.0, 1.7**-0.5)
    expected = -np.log(np.trapezoid(product, grid))
    assert_close(GaussianBelief(mean, covariance).prior_overlap(real(1.7))[0], expected, rel=1e-9)


def test_marginals_are_forward_messages(belief):
    features = normal(4, 3, 6, 4)
    marginals = belief.marginals(features)
    for k in range(3):
        mean, variance = dense.forward(
            features[k].numpy(), belief.mean[k].numpy(), belief.covariance.matrix()[k].numpy()
        )
        assert_close(marginals.mean[k], mean)
        assert_close(marginals.variance[k], variance)


def test_select_and_detach_keep_the_value(belief):
    chosen = belief.select(torch.tensor([2, 0]))
    assert torch.equal(chosen.mean, belief.mean[[2, 0]])
    assert_close(chosen.covariance.matrix(), belief.covariance.matrix()[[2, 0]])
    leaf = normal(5, 3, 4).requires_grad_()
    detached = GaussianBelief(leaf, belief.covariance).detach()
    assert not detached.mean.requires_grad and torch.equal(detached.mean, leaf)
