"""The Student-t head: golden terms, the accuracy of its mixture, extremes, starts and bounds."""

import itertools

import numpy as np
import pytest
import torch
from scipy import integrate, special, stats

from corners.beliefs import Marginals
from corners.errors import SpecError
from corners.likelihoods._scale_mixture import expected_log1p_square, log_scale_mixture
from corners.likelihoods.student_t import EXCESS_DF, LOG_SCALE, TARGET_VAR, StudentT
from tests.support.golden import assert_golden, golden_cases
from tests.support.problems import assert_close, normal, real


def params(df: float, scale: float) -> dict[str, torch.Tensor]:
    return {name: value[0] for name, value in StudentT(scale=scale, df=df).init(normal(1, 1, 3)).items()}


@pytest.mark.parametrize("case", golden_cases("head_terms", "student"))
def test_golden_terms(case):
    inputs, expected = case["inputs"], case["expected"]
    df, scale = inputs["head_params"]["nu"], inputs["head_params"]["s"]
    mean, variance = real(inputs["mean"]).requires_grad_(), real(inputs["var"]).requires_grad_()
    value = -StudentT(df=df).log_partition(params(df, scale), real(inputs["y"]), Marginals(mean, variance))
    slopes = torch.autograd.grad(value.sum(), (mean, variance))
    for actual, key in zip((value, *slopes), ("nlz", "d_mean", "d_var"), strict=True):
        assert_golden("head_terms", actual.detach(), [expected[key]], label=key)


def reference(residual: np.ndarray, variance: np.ndarray, df: float) -> np.ndarray:
    """``log ∫ t_ν(r - √v z) φ(z) dz`` by a fine trapezoid rule over f that spans both of its peaks."""
    steps = 60_000
    low, high = np.minimum(0.0, residual) - 40.0, np.maximum(0.0, residual) + 40.0
    f = low + (high - low) * np.arange(steps + 1)[:, None] / steps
    terms = stats.t.logpdf(residual - f, df) + stats.norm.logpdf(f, 0.0, np.sqrt(variance))
    return special.logsumexp(terms, axis=0) + np.log((high - low) / steps)


@pytest.mark.parametrize(
    ("df", "nodes", "bound"), [(2.1, 128, 3e-7), (3.0, 96, 1e-9), (5.0, 96, 2e-12), (12.0, 96, 2e-12)]
)
def test_errors_stay_below_the_stated_ones(df, nodes, bound):
    grid = np.meshgrid([0.0, 0.3, 1.0, 4.0, 12.0], [0.01, 0.3, 1.0, 4.0, 9.0])
    residual, variance = (each.ravel() for each in grid)
    one = torch.ones(1, dtype=torch.float64)
    actual = log_scale_mixture(torch.tensor(residual), torch.tensor(variance), one, df * one, nodes)
    assert np.abs(actual.numpy() - reference(residual, variance, df)).max() < bound


def test_at_a_point_it_is_scipys_t():
    likelihood, own = StudentT(df=5.0), params(5.0, 0.7)
    targets, latent = real(0.0, 2.0, -50.0, 12.0), real(0.1, 2.0, 1.0, 0.0)
    expected = stats.t.logpdf(targets.numpy(), 5.0, latent.numpy(), 0.7)
    assert_close(likelihood.log_prob(own, targets, latent), expected)
    assert_close(likelihood.log_partition(own, targets, Marginals(latent, torch.zeros_like(latent))), expected)


def test_an_outlier_widens_the_grid_and_costs_digits():
    """The grid reaches down to the precisions an outlier asks for: 4e4 scales away its step is wider."""
    likelihood, own, point = StudentT(df=5.0), params(5.0, 0.7), real(0.0)
    expected = stats.t.logpdf(3e4, 5.0, 0.0, 0.7)
    actual = float(likelihood.log_partition(own, real(3e4), Marginals(point, point)))
    assert abs(actual - expected) < 1e-7


def test_gradients_once_and_twice():
    likelihood = StudentT(df=3.7, learned_df=True)
    own, targets = params(3.7, 0.6), real(0.3, -2.0, 9.0)

    def value(mean, variance, log_scale, excess):
        at = own | {LOG_SCALE: log_scale, EXCESS_DF: excess}
        marginals = Marginals(mean, variance)
        return (
            likelihood.log_partition(at, targets, marginals),
            likelihood.expected_log_prob(at, targets, marginals),
        )

    inputs = [normal(1, 3), real(0.1, 1.0, 6.0), own[LOG_SCALE], own[EXCESS_DF]]
    inputs = [each.detach().clone().requires_grad_() for each in inputs]
    assert torch.autograd.gradcheck(value, inputs)
    assert torch.autograd.gradgradcheck(value, inputs)


@pytest.mark.parametrize("df", [2.1, 4.0, 200.0])
@pytest.mark.parametrize("variance", [0.0, 1e-12, 1.0, 100.0])
def test_nothing_overflows_far_out(df, variance):
    own, likelihood = params(df, 0.01), StudentT(df=df, learned_df=True)
    own = {name: value.clone().requires_grad_() for name, value in own.items()}
    mean = real(1e4, -1e4, 0.0).requires_grad_()
    at = torch.full((3,), variance, dtype=torch.float64, requires_grad=True)
    for functional in (likelihood.log_partition, likelihood.expected_log_prob):
        value = functional(own, real(0.0, 5.0, 0.0), Marginals(mean, at))
        gradients = torch.autograd.grad(value.sum(), (mean, at, own[LOG_SCALE], own[EXCESS_DF]))
        assert all(bool(each.isfinite().all()) for each in (value, *gradients))


@pytest.mark.parametrize(("square", "variance"), [(0.0, 1e-9), (4.0, 0.3), (1e8, 2.0), (0.5, 1e6), (3.0, 40.0)])
def test_the_expectation_is_its_integral(square, variance):
    def integrand(z):
        return np.log1p((np.sqrt(square) + np.sqrt(variance) * z) ** 2) * stats.norm.pdf(z)

    peak = -np.sqrt(square / variance)
    ends = sorted({-12.0, 12.0, *(e for e in (peak - 0.01, peak, peak + 0.01, -3.0, 0.0, 3.0) if abs(e) < 12.0)})
    expected = sum(
        integrate.quad(integrand, a, b, epsabs=0.0, epsrel=1e-12, limit=400)[0] for a, b in itertools.pairwise(ends)
    )
    assert_close(expected_log1p_square(real(square), real(variance)), np.array([expected]))


def test_the_noise_starts_with_half_the_variance_of_the_targets():
    targets = normal(1, 2, 40)
    own = StudentT(df=6.0).init(targets)
    noise_var = (2.0 * own[LOG_SCALE]).exp() * 6.0 / 4.0
    assert_close(noise_var, 0.5 * targets.numpy().var(axis=1))
    assert_close(2.0 + torch.nn.functional.softplus(own[EXCESS_DF]), np.full(2, 6.0))


def test_what_is_fixed_is_frozen():
    assert StudentT().frozen == {EXCESS_DF, TARGET_VAR}
    assert StudentT(scale=1.0, learned=False, learned_df=True).frozen == {LOG_SCALE, TARGET_VAR}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scale": 0.0}, "scale must be positive"),
        ({"df": 2.0}, "df must lie above 2"),
        ({"df": 1e3}, "take 'gaussian'"),
        ({"learned": False}, "give scale"),
    ],
)
def test_impossible_specifications_are_refused(given, words):
    with pytest.raises(SpecError, match=words):
        StudentT(**given)
