"""Adaptive quadrature: the error table of theory 6.3, its limits, its gradients and what it says of wide marginals."""

import mpmath
import numpy as np
import pytest
import torch
from scipy import special

from corners.beliefs import Marginals
from corners.errors import SpecError
from corners.likelihoods._quadrature import QuadratureLikelihood, QuadratureWarning, find_mode
from corners.likelihoods._softplus import expected_softplus
from corners.likelihoods.logistic import Logistic
from corners.likelihoods.negative_binomial import LOG_SIZE, NegativeBinomial
from corners.likelihoods.poisson import Poisson
from tests.support.problems import assert_close, normal, real

SIZE = 3.0
VARIANCES = np.array([0.01, 0.1, 0.3, 0.5, 1.0, 2.0, 4.0, 6.0, 12.0, 25.0])
COUNTS = np.array([0.0, 1.0, 2.0, 5.0, 20.0, 100.0, 1000.0])
PARAMS = {LOG_SIZE: torch.tensor(np.log(SIZE)), "target_mean": torch.tensor(1.0)}


def log_density(name: str, y: np.ndarray, f: np.ndarray) -> np.ndarray:
    """The three densities in numpy, written from their definitions."""
    if name == "logistic":
        return -np.logaddexp(0.0, -(2.0 * y - 1.0) * f)
    if name == "poisson":
        return y * f - np.exp(f) - special.gammaln(y + 1.0)
    coefficient = special.gammaln(y + SIZE) - special.gammaln(SIZE) - special.gammaln(y + 1.0)
    return coefficient + y * f + SIZE * np.log(SIZE) - (y + SIZE) * np.logaddexp(np.log(SIZE), f)


def reference(name: str, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """``log Z`` by a trapezoid rule of 6000 steps around the highest point of a coarse scan: no Newton, no Hermite."""

    def integrand(f):
        return log_density(name, y, f) - 0.5 * (f - m) ** 2 / v

    low, high = np.minimum(m, 0.0) - 14.0 * np.sqrt(v) - 2.0, np.maximum(m, np.log(y + 1.0)) + 14.0 * np.sqrt(v)
    for _ in range(2):
        grid = np.linspace(low, high, 3001)
        values = integrand(grid)
        inside = values > values.max(0) - 60.0
        first, last = inside.argmax(0), len(grid) - 1 - inside[::-1].argmax(0)
        column = np.arange(y.size)
        step = grid[1] - grid[0]
        low, high = grid[first, column] - 2.0 * step, grid[last, column] + 2.0 * step
    grid = np.linspace(low, high, 6001)
    total = special.logsumexp(integrand(grid), axis=0) + np.log(grid[1] - grid[0])
    return total - 0.5 * np.log(2.0 * np.pi * v)


def by_mpmath(y: float, m: float, v: float) -> float:
    """A Poisson's ``log Z`` to 25 digits: it judges the reference."""
    with mpmath.workdps(25):

        def integrand(f):
            return mpmath.exp(y * f - mpmath.exp(f) - mpmath.loggamma(y + 1) - (f - m) ** 2 / (2 * v))

        mode = mpmath.findroot(lambda f: y - mpmath.exp(f) - (f - m) / v, min(m, float(np.log(y + 1.0))))
        width = 1 / mpmath.sqrt(mpmath.exp(mode) + 1 / mpmath.mpf(v))
        total = mpmath.quad(integrand, [mode + width * k for k in range(-14, 13, 2)])
        return float(mpmath.log(total / mpmath.sqrt(2 * mpmath.pi * v)))


def points(name: str, largest: float, reach: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    targets = np.array([0.0, 1.0]) if name == "logistic" else COUNTS
    means = np.linspace(-reach, reach, 21)
    grid = np.meshgrid(targets, means, VARIANCES[: VARIANCES.searchsorted(largest, "right")])
    y, m, v = (each.ravel() for each in grid)
    return (y, m, v) if name == "logistic" else (y, np.log(y + 1.0) + m * np.sqrt(v), v)


def member(name: str, nodes: int) -> QuadratureLikelihood:
    return {"logistic": Logistic, "poisson": Poisson, "negative_binomial": NegativeBinomial}[name](nodes=nodes)


@pytest.mark.parametrize(("y", "m", "v"), [(0.0, 1.3, 6.0), (3.0, -2.0, 0.5), (50.0, 2.0, 1.0), (1000.0, 5.0, 0.3)])
def test_the_reference_is_right(y, m, v):
    assert_close(reference("poisson", *(np.array([each]) for each in (y, m, v))), np.array([by_mpmath(y, m, v)]))


@pytest.mark.filterwarnings("ignore::corners.likelihoods._quadrature.QuadratureWarning")
@pytest.mark.parametrize(
    ("name", "largest", "nodes", "bound"),
    [
        ("logistic", 2.0, 32, 3e-10),
        ("logistic", 2.0, 64, 3e-10),
        ("logistic", 6.0, 32, 3e-7),
        ("logistic", 6.0, 64, 5e-10),
        ("logistic", 25.0, 32, 4e-4),
        ("logistic", 25.0, 64, 2e-5),
        ("poisson", 0.5, 32, 5e-11),
        ("poisson", 0.5, 64, 5e-11),
        ("poisson", 2.0, 32, 3e-8),
        ("poisson", 2.0, 64, 5e-11),
        ("poisson", 6.0, 32, 2e-5),
        ("poisson", 6.0, 64, 7e-7),
        ("negative_binomial", 2.0, 32, 2e-10),
        ("negative_binomial", 2.0, 64, 4e-11),
        ("negative_binomial", 6.0, 32, 2e-6),
        ("negative_binomial", 6.0, 64, 5e-9),
    ],
)
def test_errors_stay_below_the_table(name, largest, nodes, bound):
    """Table of theory 6.3, to the one digit it has: ours is the maximum over a denser grid of means.

    Means lie within 3 deviations of the count; counts go to 1000, the negative binomial's (of size 3) to 20.
    """
    y, m, v = points(name, largest, 30.0 if largest > 6.0 else 6.0 if name == "logistic" else 3.0)
    if name == "negative_binomial":
        y, m, v = y[y <= 20.0], m[y <= 20.0], v[y <= 20.0]
    actual = member(name, nodes).log_partition(PARAMS, *tensors(y, m, v)).numpy()
    assert np.abs(actual - reference(name, y, m, v)).max() < 1.3 * bound


def test_a_large_negative_binomial_count_far_below_its_mean_is_beyond_the_table():
    """At y = 1000 and m 3 deviations above ``log y`` 32 nodes err by 2e-9 for v = 2, ten times the table's figure."""
    y, m, v = points("negative_binomial", 2.0, 3.0)
    actual = member("negative_binomial", 32).log_partition(PARAMS, *tensors(y, m, v)).numpy()
    assert np.abs(actual - reference("negative_binomial", y, m, v)).max() < 2e-9


def tensors(y: np.ndarray, m: np.ndarray, v: np.ndarray) -> tuple[torch.Tensor, Marginals]:
    return torch.tensor(y), Marginals(torch.tensor(m), torch.tensor(v))


@pytest.mark.parametrize("name", ["logistic", "poisson", "negative_binomial"])
def test_the_mode_is_where_the_slope_ends(name):
    y, m, v = points(name, 25.0, 6.0)
    likelihood = member(name, 32)
    targets, mean, variance = torch.tensor(y), torch.tensor(m), torch.tensor(v)
    parameters = likelihood.parameters(PARAMS)
    density = likelihood.density(targets, *parameters)
    peak = find_mode(likelihood.density, targets, mean, variance, parameters)
    _, slope, curvature = density.expansion(mean + peak.shift)
    assert float(((slope - peak.shift / variance) * peak.scale).abs().max()) < 1e-6
    assert_close(peak.scale, (curvature + 1.0 / variance).rsqrt())


@pytest.mark.parametrize("name", ["logistic", "poisson", "negative_binomial"])
def test_the_mode_of_an_element_does_not_depend_on_its_neighbours(name):
    """Another number of Newton steps would show at 1e-8; vectorised exponentials differ by a rounding alone."""
    y, m, v = points(name, 25.0, 6.0)
    likelihood = member(name, 32)
    targets, mean, variance = torch.tensor(y), torch.tensor(m), torch.tensor(v)
    parameters = likelihood.parameters(PARAMS)
    together = find_mode(likelihood.density, targets, mean, variance, parameters)
    for k in range(0, len(y), 7):
        one = slice(k, k + 1)
        alone = find_mode(likelihood.density, targets[one], mean[one], variance[one], parameters)
        assert_close(alone.shift, together.shift[one], rel=1e-12)
        assert_close(alone.scale, together.scale[one], rel=1e-12)


@pytest.mark.parametrize("name", ["logistic", "poisson", "negative_binomial"])
def test_slope_and_curvature_are_the_derivatives(name):
    likelihood, latent = member(name, 32), normal(1, 9).requires_grad_()
    density = likelihood.density(torch.arange(9.0, dtype=torch.float64) % 2, *likelihood.parameters(PARAMS))
    (slope,) = torch.autograd.grad(density.value(latent).sum(), latent, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), latent)
    assert_close(density.expansion(latent)[1], slope)
    assert_close(density.expansion(latent)[2], -second)


@pytest.mark.parametrize("name", ["logistic", "poisson", "negative_binomial"])
def test_gradients_once_and_twice(name):
    likelihood = member(name, 48)
    targets, mean = real(0.0, 1.0, 1.0, 0.0), normal(2, 4).requires_grad_()
    variance = real(0.02, 0.3, 1.1, 0.0).requires_grad_()
    log_size = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)

    def value(mean, variance, log_size):
        return likelihood.log_partition(PARAMS | {LOG_SIZE: log_size}, targets, Marginals(mean, variance))

    inside = variance.detach() + 1e-3  # central differences step below zero otherwise
    for inputs in ((mean, inside.requires_grad_(), log_size),):
        assert torch.autograd.gradcheck(value, inputs)
        assert torch.autograd.gradgradcheck(value, inputs, atol=1e-4)


@pytest.mark.parametrize("name", ["logistic", "poisson", "negative_binomial"])
def test_the_point_limit_joins_the_rule(name):
    """Slopes change by rounding over v (1e-16/1e-8 of 1) and no more where the limit takes over at v = 1e-8."""
    likelihood = member(name, 32)
    out = []
    for variance in (0.999e-8, 1.001e-8):
        mean, at = real(-1.0, 0.3, 2.0).requires_grad_(), real(variance, variance, variance).requires_grad_()
        value = likelihood.log_partition(PARAMS, real(1.0, 0.0, 1.0), Marginals(mean, at))
        out.append((value.detach(), *torch.autograd.grad(value.sum(), (mean, at))))
    for one, other in zip(*out, strict=True):
        assert_close(one, other, rel=2e-6)


def test_a_tiny_variance_that_is_not_tiny_for_the_likelihood_is_integrated():
    """At m = 12, y = 0 the slope is e¹²: the limit's first step would be 13 nats, and it errs by 2e-3."""
    y, m, v = np.array([0.0]), np.array([12.0]), np.array([1e-9])
    actual = Poisson().log_partition(PARAMS, *tensors(y, m, v)).numpy()
    np.testing.assert_allclose(actual, by_mpmath(0.0, 12.0, 1e-9), rtol=1e-13)


@pytest.mark.filterwarnings("ignore::corners.likelihoods._quadrature.QuadratureWarning")
@pytest.mark.parametrize("name", ["logistic", "poisson", "negative_binomial"])
@pytest.mark.parametrize("variance", [0.0, 1e-12, 1.0, 100.0])
def test_nothing_overflows_far_out(name, variance):
    likelihood = member(name, 32)
    targets = real(0.0, 1.0, 0.0, 1.0) * (1.0 if name == "logistic" else 1000.0)
    mean = real(1e4, 1e4, -1e4, -1e4).requires_grad_()
    at = torch.full((4,), variance, dtype=torch.float64, requires_grad=True)
    for functional in (likelihood.log_partition, likelihood.expected_log_prob):
        value = functional(PARAMS, targets, Marginals(mean, at))
        gradients = torch.autograd.grad(value.sum(), (mean, at))
        assert all(bool(each.isfinite().all()) for each in (value, *gradients))


def test_float32_comes_back_as_float32_with_the_digits_of_float64():
    y, m, v = points("poisson", 2.0, 2.0)
    single = Marginals(torch.tensor(m, dtype=torch.float32), torch.tensor(v, dtype=torch.float32))
    actual = Poisson().log_partition(PARAMS, torch.tensor(y, dtype=torch.float32), single)
    double = Poisson().log_partition(PARAMS, torch.tensor(y), Marginals(single.mean.double(), single.variance.double()))
    assert actual.dtype == torch.float32
    assert torch.equal(actual, double.float())


def test_wide_marginals_are_warned_of():
    with pytest.warns(QuadratureWarning, match=r"variance of 11 exceeds 10: 32 adaptive .* lose digits"):
        Poisson().log_partition(PARAMS, real(1.0), Marginals(real(0.0), real(11.0)))


@pytest.mark.parametrize("nodes", [0, 7, 257])
def test_a_number_of_nodes_out_of_range_is_refused(nodes):
    with pytest.raises(SpecError, match=rf"nodes must lie between 8 and 256; got {nodes}"):
        Poisson(nodes=nodes)


@pytest.mark.parametrize(("variance", "bound"), [(1e-3, 1e-13), (8.0, 1e-13), (25.0, 1e-9), (100.0, 3e-5)])
def test_expected_softplus_is_as_accurate_as_stated(variance, bound):
    means = np.linspace(-12.0, 12.0, 9)
    grid = np.linspace(-14.0, 14.0, 40001)[:, None]
    weights = np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum()
    expected = (weights * np.logaddexp(0.0, means + np.sqrt(variance) * grid)).sum(0)
    actual = expected_softplus(torch.tensor(means), torch.full((9,), variance, dtype=torch.float64)).numpy()
    assert np.abs(actual - expected).max() < bound * max(1.0, np.abs(expected).max())


def test_expected_softplus_has_gradients_to_second_order_even_at_a_point():
    mean, variance = normal(1, 5).requires_grad_(), real(0.1, 0.5, 1.0, 3.0, 8.0).requires_grad_()
    assert torch.autograd.gradcheck(expected_softplus, (mean, variance))
    assert torch.autograd.gradgradcheck(expected_softplus, (mean, variance))
    zero = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    slopes = torch.autograd.grad(expected_softplus(mean, zero).sum(), (mean, zero))
    share = torch.sigmoid(mean.detach())
    assert_close(slopes[0], share)
    assert_close(slopes[1], 0.5 * share * (1.0 - share))
