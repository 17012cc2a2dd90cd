"""The probit likelihood: golden terms and predictives, its quadrature, its symmetry, and what it refuses."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special
from torch import Tensor

from corners.beliefs import Marginals
from corners.errors import DataError, SpecError
from corners.likelihoods.probit import Probit
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.problems import assert_close, normal, real

PROBIT = Probit()
VARIANCES = [1e-12, 1e-3, 0.5, 2.0, 5.0, 10.0, 100.0]
MEANS = [-30.0, -8.0, -2.5, -0.4, 0.0, 1.3, 4.0, 9.0, 25.0]


def losses(label: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``-log Z`` and its slopes in mean and variance."""
    mean, variance = mean.clone().requires_grad_(), variance.clone().requires_grad_()
    loss = -PROBIT.log_partition({}, label, Marginals(mean, variance))
    return (loss.detach(), *torch.autograd.grad(loss.sum(), (mean, variance)))


@pytest.mark.parametrize("case", golden_cases("head_terms", "probit"))
def test_golden_terms(case):
    inputs, expected = case["inputs"], case["expected"]
    label = real(0.5 * (inputs["y"] + 1.0))
    for name, actual in zip(
        ("nlz", "d_mean", "d_var"), losses(label, real(inputs["mean"]), real(inputs["var"])), strict=True
    ):
        assert_golden("head_terms", actual, [expected[name]], label=name)


@pytest.mark.parametrize("case", golden_cases("shared_free", "free_probit"))
def test_golden_free_terms(case):
    expected = case["expected"]
    label = torch.tensor(0.5 * (as_array(case["inputs"]["y"]) + 1.0))
    actual = losses(label, torch.tensor(expected["mean"]).double(), torch.tensor(expected["v"]).double())
    for name, values in zip(("data_terms", "plate_dm", "plate_dv"), actual, strict=True):
        assert_golden("shared_free", values, expected[name], label=name)


@pytest.mark.parametrize("case", golden_cases("head_predictives", "pred_probit"))
def test_golden_predictive(case):
    marginals = Marginals(real(case["inputs"]["mean"]), real(case["inputs"]["var"]))
    probabilities = PROBIT.predictive({}, marginals, 0.0, 1.0).probabilities[0]
    assert_golden("head_predictives", probabilities[1], case["expected"]["prob_pos"])
    assert_golden("head_predictives", probabilities[0], 1.0 - case["expected"]["prob_pos"])


def expectation(mean: float, variance: float, function) -> float:
    """``E f`` by adaptive quadrature, split where ``log Φ`` bends."""
    scale = variance**0.5
    bends = [(at - mean) / scale for at in (-6.0, -3.0, -1.0, 0.0, 1.0, 3.0, 6.0)]
    splits = sorted({*np.linspace(-12.0, 12.0, 13), *(each for each in bends if abs(each) < 12.0)})

    def integrand(z: float) -> float:
        return function(mean + scale * z) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)

    return sum(integrate.quad(integrand, a, b, epsabs=1e-14, epsrel=1e-12)[0] for a, b in itertools.pairwise(splits))


@pytest.mark.parametrize("variance", VARIANCES)
def test_the_quadrature_has_its_stated_accuracy(variance):
    """1e-12 (1 + |value|) up to v = 10, 1e-10 up to v = 100."""
    expected = np.array([expectation(mean, variance, special.log_ndtr) for mean in MEANS])
    mean = real(*MEANS)
    actual = PROBIT.expected_log_prob({}, torch.ones_like(mean), Marginals(mean, torch.full_like(mean, variance)))
    tolerance = 1e-12 if variance <= 10.0 else 1e-10
    assert (np.abs(actual.numpy() - expected) < tolerance * (1.0 + np.abs(expected))).all()


@pytest.mark.parametrize("variance", [0.0, 1e-12, 0.3, 4.0])
def test_slopes_of_the_expectation_are_expectations(variance):
    """``∂_m = E ζ``, ``∂_v = -½ E ζ (ζ + f)``, also at v = 0, where a formula in ``√v`` would divide by it."""

    def ratio(f: float) -> float:
        return np.sqrt(2.0 / np.pi) / special.erfcx(-f / np.sqrt(2.0))

    def curvature(f: float) -> float:
        return -ratio(f) * (ratio(f) + f)

    for value in (-3.0, 0.2, 2.0):
        mean, own = real(value).requires_grad_(), real(variance).requires_grad_()
        total = PROBIT.expected_log_prob({}, real(1.0), Marginals(mean, own)).sum()
        slopes = [float(each) for each in torch.autograd.grad(total, (mean, own))]
        if variance == 0.0:
            expected = [ratio(value), 0.5 * curvature(value)]
        else:
            expected = [expectation(value, variance, ratio), 0.5 * expectation(value, variance, curvature)]
        np.testing.assert_allclose(slopes, expected, rtol=1e-10)


def test_a_second_derivative_of_the_quadrature_is_refused():
    mean = real(0.3).requires_grad_()
    value = PROBIT.expected_log_prob({}, real(1.0), Marginals(mean, real(0.5)))
    with pytest.raises(SpecError, match="differentiable once"):
        torch.autograd.grad(value.sum(), mean, create_graph=True)


@pytest.mark.parametrize("mean", [-1e4, 0.0, 1e4])
@pytest.mark.parametrize("variance", [0.0, 1e-12, 100.0])
def test_extremes_stay_finite(mean, variance):
    for function in (PROBIT.log_partition, PROBIT.expected_log_prob):
        at = Marginals(real(mean).requires_grad_(), real(variance).requires_grad_())
        value = function({}, real(1.0), at)
        slopes = torch.autograd.grad(value.sum(), (at.mean, at.variance))
        assert all(bool(each.isfinite().all()) for each in (value, *slopes))
    assert np.isfinite(PROBIT.predictive({}, Marginals(real(mean), real(variance)), 0.0, 1.0).log_probabilities).all()


def test_single_precision_is_accepted():
    at = Marginals(normal(1, 1, 7, dtype=torch.float32), torch.zeros(1, 7))
    label = PROBIT.example_targets((1, 7)).float()
    for function in (PROBIT.log_partition, PROBIT.expected_log_prob):
        assert_close(function({}, label, at), PROBIT.log_prob({}, label, at.mean), rel=1e-5)


@given(st.floats(-50.0, 50.0), st.floats(0.0, 50.0))
def test_the_other_label_is_the_other_sign(mean, variance):
    one = Marginals(real(mean), real(variance))
    other = Marginals(real(-mean), real(variance))
    for function in (PROBIT.log_partition, PROBIT.expected_log_prob):
        assert torch.equal(function({}, real(1.0), one), function({}, real(0.0), other))
    assert abs(sum(np.exp(float(PROBIT.log_partition({}, real(label), one))) for label in (0.0, 1.0)) - 1.0) < 1e-15


@given(st.floats(-20.0, 20.0), st.floats(0.0, 20.0), st.floats(0.01, 5.0))
def test_a_larger_mean_favours_one_and_a_larger_variance_favours_doubt(mean, variance, step):
    def probability(m: float, v: float) -> float:
        return float(PROBIT.predictive({}, Marginals(real(m), real(v)), 0.0, 1.0).probabilities[0, 1])

    assert probability(mean + step, variance) >= probability(mean, variance)
    assert abs(probability(mean, variance + step) - 0.5) <= abs(probability(mean, variance) - 0.5)


@pytest.mark.parametrize("labels", [[1.0, 2.0], [-1.0, 1.0], [0.5, 1.0], [0.0, float("nan")]])
def test_labels_that_are_not_0_or_1_are_refused(labels):
    with pytest.raises(DataError, match="class labels must be 0 to 1, one code a class; 1 of 2 are not"):
        PROBIT.init(real(*labels)[None])


def test_one_class_alone_is_accepted():
    assert PROBIT.init(torch.ones(1, 3))["target_mean"].tolist() == [1.0]


def test_labels_in_other_units_are_refused():
    with pytest.raises(SpecError, match=r"'probit' are codes.*target_mean must be 0 and target_scale 1; got 0.4 and 2"):
        PROBIT.predictive({}, Marginals(real(0.0), real(1.0)), 0.4, 2.0)
