"""The negative binomial head: golden terms, its two limits, sizes it refuses."""

import numpy as np
import pytest
import torch
from scipy import stats

from corners.beliefs import Marginals
from corners.errors import DataError, SpecError
from corners.likelihoods.negative_binomial import LOG_SIZE, NegativeBinomial
from corners.likelihoods.poisson import Poisson
from tests.support.golden import golden, golden_cases
from tests.support.problems import assert_close, normal, real


def params(size: float) -> dict[str, torch.Tensor]:
    return {LOG_SIZE: real(size)[0].log()}


@pytest.mark.parametrize("case", golden_cases("head_terms", "negbin"))
def test_golden_terms(case):
    inputs, expected = case["inputs"], case["expected"]
    mean, variance = real(inputs["mean"]).requires_grad_(), real(inputs["var"]).requires_grad_()
    own = params(inputs["head_params"]["r"])
    value = -NegativeBinomial().log_partition(own, real(inputs["y"]), Marginals(mean, variance))
    slopes = torch.autograd.grad(value.sum(), (mean, variance))
    tolerance = golden("head_terms")["tolerance"]["quadrature_heads_abs"]
    for actual, key in zip((value, *slopes), ("nlz", "d_mean", "d_var"), strict=True):
        np.testing.assert_allclose(actual.detach(), [expected[key]], rtol=1e-9, atol=tolerance)


@pytest.mark.parametrize("size", [0.02, 1.0, 31.9, 32.1, 900.0, 1e5])
def test_density_is_scipys(size):
    counts, latent = real(0.0, 1.0, 7.0, 300.0), real(-2.0, 0.3, 1.5, 5.9)
    expected = stats.nbinom.logpmf(counts.numpy(), size, size / (size + np.exp(latent.numpy())))
    assert_close(NegativeBinomial().log_prob(params(size), counts, latent), expected, rel=1e-9)


def test_the_coefficient_joins_where_stirling_takes_over():
    """Value and slope in log r either side of r = 32."""
    out = []
    for size in (32.0 * (1.0 - 1e-9), 32.0 * (1.0 + 1e-9)):
        log_size = real(size)[0].log().requires_grad_()
        value = NegativeBinomial().log_prob({LOG_SIZE: log_size}, real(0.0, 3.0, 400.0), real(0.2, 1.0, 5.0))
        out.append((value.detach(), torch.autograd.grad(value.sum(), log_size)[0]))
    for one, other in zip(*out, strict=True):
        assert_close(one, other, rel=1e-8)


def test_a_size_without_bound_is_the_poisson():
    counts, at = real(0.0, 3.0, 40.0), Marginals(normal(1, 3) + 1.0, normal(2, 3).exp())
    for functional in ("log_partition", "expected_log_prob"):
        actual = getattr(NegativeBinomial(nodes=64), functional)(params(1e13), counts, at)
        assert_close(actual, getattr(Poisson(nodes=64), functional)({}, counts, at), rel=1e-8)


def test_size_is_learned_or_fixed_and_its_bounds_hold_the_start():
    assert LOG_SIZE not in NegativeBinomial().frozen
    assert LOG_SIZE in NegativeBinomial(learned=False).frozen
    low, high = NegativeBinomial(size=1e7).bounds()[LOG_SIZE]
    assert low < np.log(1e7) <= high


@pytest.mark.parametrize("size", [0.0, -1.0, float("inf"), float("nan")])
def test_a_size_that_is_none_is_refused(size):
    with pytest.raises(SpecError, match=r"size is the number r .* positive and finite; got"):
        NegativeBinomial(size=size)


def test_targets_that_are_no_counts_are_refused():
    with pytest.raises(DataError, match="counts must be whole numbers"):
        NegativeBinomial().init(real(0.0, 0.5)[None])


def test_the_slope_in_the_size_is_stated_and_is_the_derivative():
    """Stated, so that a learned size needs no autograd through the nodes; the normaliser has its own."""
    targets, latent = torch.arange(6.0).double() * 3.0, normal(4, 5, 6)
    log_size = torch.tensor([0.7]).double().requires_grad_()
    density = NegativeBinomial().density(targets, log_size)
    each = [value for row in latent for value in density.kernel(row)]
    slopes = torch.stack([torch.autograd.grad(value, log_size, retain_graph=True)[0][0] for value in each])
    assert_close(density.kernel_by_parameters(latent)[1][0].flatten(), slopes)
    assert_close(density.value(latent) - density.kernel(latent), density.normaliser().expand(5, -1))
