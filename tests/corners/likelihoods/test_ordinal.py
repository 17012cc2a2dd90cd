"""The ordinal likelihood: golden terms and predictives, its thresholds, two classes against the binary probit."""

import itertools

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from corners.beliefs import Marginals
from corners.errors import DataError, SpecError
from corners.likelihoods.ordinal import FIRST_THRESHOLD, LOG_GAP_BOUNDS, LOG_GAPS, Ordinal
from corners.likelihoods.probit import Probit
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.problems import assert_close, normal, real

ORDINAL = Ordinal()


def parameters(*thresholds: float) -> dict[str, Tensor]:
    """Parameters of one replicate with these thresholds."""
    values = real(*thresholds)
    return {FIRST_THRESHOLD: values[0], LOG_GAPS: values.diff().log()}


def losses(params: dict[str, Tensor], labels: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``-log Z`` and its slopes in mean and variance."""
    mean, variance = mean.clone().requires_grad_(), variance.clone().requires_grad_()
    loss = -ORDINAL.log_partition(params, labels, Marginals(mean, variance))
    return (loss.detach(), *torch.autograd.grad(loss.sum(), (mean, variance)))


@pytest.mark.parametrize("case", golden_cases("head_terms", "ordinal"))
def test_golden_terms(case):
    inputs, expected = case["inputs"], case["expected"]
    params = parameters(*inputs["head_params"]["tau"])
    actual = losses(params, real(inputs["y"]), real(inputs["mean"]), real(inputs["var"]))
    for name, value in zip(("nlz", "d_mean", "d_var"), actual, strict=True):
        assert_golden("head_terms", value, [expected[name]], label=name)


@pytest.mark.parametrize("case", golden_cases("shared_free", "free_ordinal"))
def test_golden_free_terms(case):
    expected = case["expected"]
    params = parameters(*case["inputs"]["head_params"]["tau"])
    labels = torch.tensor(as_array(case["inputs"]["y"]))
    at = torch.tensor(expected["mean"]).double(), torch.tensor(expected["v"]).double()
    for name, values in zip(("data_terms", "plate_dm", "plate_dv"), losses(params, labels, *at), strict=True):
        assert_golden("shared_free", values, expected[name], label=name)
    leaves = {name: value.clone().requires_grad_() for name, value in params.items()}
    thresholds = ORDINAL.thresholds(leaves)
    loss = -ORDINAL.log_partition(leaves, labels, Marginals(*at)).sum()
    first, gaps = torch.autograd.grad(loss, (leaves[FIRST_THRESHOLD], leaves[LOG_GAPS]))
    by_threshold = torch.tensor(as_array(expected["grad_tau"]))
    chained = torch.autograd.grad(thresholds, tuple(leaves.values()), by_threshold)
    assert_golden("shared_free", first, chained[0].numpy(), label="first threshold")
    assert_golden("shared_free", gaps, chained[1].numpy(), label="log gaps")


@pytest.mark.parametrize("case", golden_cases("head_predictives", "pred_ordinal"))
def test_golden_predictive(case):
    inputs, expected = case["inputs"], case["expected"]
    marginals = Marginals(real(inputs["mean"]), real(inputs["var"]))
    params = parameters(*inputs["head_params"]["tau"])
    probabilities = ORDINAL.predictive(params, marginals, 0.0, 1.0).probabilities[0]
    codes = np.arange(3.0)
    mean = probabilities @ codes
    assert_golden("head_predictives", probabilities, expected["probs"])
    assert_golden("head_predictives", mean, expected["pred_mean"])
    assert_golden("head_predictives", probabilities @ codes**2 - mean**2, expected["pred_var"])


def test_thresholds_start_at_the_probit_quantiles_of_the_frequencies():
    labels = real(0, 0, 0, 1, 2, 2, 2, 2, 3, 3)[None]
    expected = stats.norm.ppf([0.3, 0.4, 0.8])[None]
    assert_close(ORDINAL.thresholds(ORDINAL.init(labels)), expected)
    predictive = ORDINAL.predictive(parameters(*expected[0]), Marginals(real(0.0), real(0.0)), 0.0, 1.0)
    assert_close(predictive.probabilities, np.array([[0.3, 0.1, 0.4, 0.2]]))


def test_a_fixed_first_threshold_is_zero_and_frozen_and_keeps_the_gaps():
    labels = real(0, 0, 0, 1, 2, 2, 2, 2, 3, 3)[None]
    head = Ordinal(fix_first_threshold=True)
    fixed, free = head.thresholds(head.init(labels)), ORDINAL.thresholds(ORDINAL.init(labels))
    assert float(fixed[0, 0]) == 0.0 and head.frozen == {FIRST_THRESHOLD} and not ORDINAL.frozen
    assert_close(fixed.diff(), free.diff())


def test_a_missing_class_counts_half_a_datum():
    params = Ordinal(classes=3).init(real(0, 0, 0, 2)[None])
    expected = stats.norm.ppf(np.array([3.0, 3.5]) / 4.5)[None]
    assert_close(Ordinal(classes=3).thresholds(params), expected)


def test_the_bounds_hold_a_start_with_tiny_classes():
    labels = torch.cat((torch.zeros(1, 4000), torch.ones(1, 1), torch.full((1, 4000), 2.0)), -1).double()
    gaps = ORDINAL.init(labels)[LOG_GAPS]
    assert bool(((gaps >= LOG_GAP_BOUNDS[0]) & (gaps <= LOG_GAP_BOUNDS[1])).all())


@given(st.floats(-40.0, 40.0), st.floats(0.0, 40.0), st.floats(-3.0, 3.0), st.sampled_from([0.0, 1.0]))
def test_two_classes_are_the_binary_probit_with_a_shifted_margin(mean, variance, threshold, label):
    params = parameters(threshold)
    own = Marginals(real(mean), real(variance))
    margin = Marginals(real(mean - threshold), real(variance))
    for function in ("log_partition", "expected_log_prob"):
        assert_close(
            getattr(ORDINAL, function)(params, real(label), own), getattr(Probit(), function)({}, real(label), margin)
        )
    assert_close(
        ORDINAL.predictive(params, own, 0.0, 1.0).probabilities, Probit().predictive({}, margin, 0.0, 1.0).probabilities
    )


def test_two_classes_have_no_gap_to_learn():
    params = ORDINAL.init(real(0, 1, 1)[None])
    assert params[LOG_GAPS].shape == (1, 0)
    assert_close(params[FIRST_THRESHOLD], stats.norm.ppf([1.0 / 3.0]))


@given(st.floats(-30.0, 30.0), st.floats(0.0, 20.0), st.floats(0.05, 5.0))
def test_a_larger_mean_makes_higher_classes_likelier(mean, variance, step):
    """``P(Y ≥ k)`` grows with the mean for every k, and the classes sum to 1."""
    params = parameters(-0.7, 0.1, 1.4)

    def survival(at: float) -> np.ndarray:
        probabilities = ORDINAL.predictive(params, Marginals(real(at), real(variance)), 0.0, 1.0).probabilities[0]
        assert abs(probabilities.sum() - 1.0) < 1e-14
        return probabilities[::-1].cumsum()

    assert (survival(mean + step) >= survival(mean) - 1e-15).all()


@settings(max_examples=30)
@given(st.floats(-30.0, 30.0), st.floats(0.0, 20.0))
def test_turning_the_scale_round_turns_the_classes_round(mean, variance):
    one, other = parameters(-0.7, 0.1, 1.4), parameters(-1.4, -0.1, 0.7)
    labels, means = torch.arange(4.0).double(), torch.full((4,), mean).double()
    at, turned = (Marginals(each, torch.full_like(means, variance)) for each in (means, -means))
    for function in (ORDINAL.log_partition, ORDINAL.expected_log_prob):
        assert_close(function(one, labels, at), function(other, 3.0 - labels, turned), rel=1e-9)


@pytest.mark.parametrize("variance", [1e-3, 2.0, 10.0, 100.0])
@pytest.mark.parametrize("mean", [-12.0, 0.4, 9.0])
def test_the_quadrature_has_its_stated_accuracy(mean, variance):
    """Narrow, usual and wide classes, by adaptive quadrature of ``log_prob`` split at the thresholds."""
    thresholds = (-5.0, -4.9, -4.0, 6.0)
    params, tolerance, scale = parameters(*thresholds), 1e-12 if variance <= 10.0 else 1e-10, variance**0.5
    bends = [(t + by - mean) / scale for t in thresholds for by in (-4.0, -1.5, 0.0, 1.5, 4.0)]
    splits = sorted({*np.linspace(-12.0, 12.0, 13), *(each for each in bends if abs(each) < 12.0)})
    nodes, weights = (torch.tensor(each) for each in np.polynomial.legendre.leggauss(40))
    for label in range(5):
        total = 0.0
        for low, high in itertools.pairwise(splits):
            z = low + 0.5 * (high - low) * (1.0 + nodes)
            values = ORDINAL.log_prob(params, torch.full_like(z, label), mean + scale * z)
            total += float((0.5 * (high - low) * weights * values * torch.exp(-0.5 * z**2)).sum()) / np.sqrt(2 * np.pi)
        actual = ORDINAL.expected_log_prob(params, real(label), Marginals(real(mean), real(variance)))
        assert abs(float(actual) - total) < tolerance * (1.0 + abs(total))


def test_log_prob_is_a_difference_of_normal_probabilities():
    params, latent = parameters(-0.7, 0.1, 1.4), 2.0 * normal(3, 1, 12)
    labels = (torch.arange(12) % 4).double()[None]
    ends = np.array([-np.inf, -0.7, 0.1, 1.4, np.inf])
    code = labels.long().numpy()
    expected = stats.norm.cdf(ends[code + 1] - latent.numpy()) - stats.norm.cdf(ends[code] - latent.numpy())
    assert_close(ORDINAL.log_prob(params, labels, latent).exp(), expected)


def test_a_narrow_class_far_from_the_mean_keeps_its_digits():
    gap, mean, variance = 1e-7, 4321.0, 3.0
    params = {FIRST_THRESHOLD: real(0.3)[0], LOG_GAPS: real(gap).log()}
    with mpmath.workdps(60):
        scale = mpmath.sqrt(4)
        low = (mpmath.mpf(0.3) - mpmath.mpf(mean)) / scale
        width = mpmath.mpf(float(real(gap).log().exp())) / scale
        expected = mpmath.log(mpmath.npdf(low)) - low * width / 2 + mpmath.log(width)
    actual = ORDINAL.log_partition(params, real(1.0), Marginals(real(mean), real(variance)))
    assert abs(float(actual) / float(expected) - 1.0) < 1e-13


@pytest.mark.parametrize("mean", [-1e4, 0.0, 1e4])
@pytest.mark.parametrize("variance", [0.0, 1e-12, 100.0])
def test_extremes_stay_finite(mean, variance):
    labels = real(0.0, 1.0, 2.0, 3.0)
    for function in (ORDINAL.log_partition, ORDINAL.expected_log_prob):
        params = {name: value.requires_grad_() for name, value in parameters(-0.7, -0.6999, 1.4).items()}
        at = Marginals(
            torch.full_like(labels, mean).requires_grad_(), torch.full_like(labels, variance).requires_grad_()
        )
        value = function(params, labels, at)
        slopes = torch.autograd.grad(value.sum(), (at.mean, at.variance, *params.values()))
        assert all(bool(each.isfinite().all()) for each in (value, *slopes))


def test_the_integral_over_labels_is_one_where_a_gap_is_wide():
    params = parameters(-40.0, 40.0)
    at = Marginals(real(-38.0, 0.0, 41.0), real(0.5, 2.0, 9.0))
    total = sum(ORDINAL.log_partition(params, torch.full((3,), float(k)).double(), at).exp() for k in range(3))
    assert_close(total, np.ones(3))


def test_marginal_probability_is_the_average_of_the_conditional_one():
    """By the trapezoid rule over the latent value, exact for an analytic integrand that decays like a Gaussian."""
    params, mean, variance = parameters(-0.7, 0.1, 1.4), 0.6, 1.7
    latent = torch.linspace(-12.0, 13.0, 400, dtype=torch.float64)
    weights = stats.norm.pdf(latent.numpy(), mean, variance**0.5) * 25.0 / 399.0
    for label in range(4):
        expected = weights @ ORDINAL.log_prob(params, torch.full_like(latent, label), latent).exp().numpy()
        at = Marginals(real(mean), real(variance))
        assert_close(ORDINAL.log_partition(params, real(label), at).exp(), np.array([expected]), rel=1e-11)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0.0, 0.5], "whole numbers 0, 1, 2, ...; 1 of 2 are not"),
        ([1.0, 2.0], "run from 1 to 2.*must start at 0.*or give classes"),
        ([0.0, 0.0], "run from 0 to 0.*hold another class.*or give classes"),
        ([-1.0, 0.0], "whole numbers"),
    ],
)
def test_labels_that_do_not_count_from_zero_are_refused(labels, words):
    with pytest.raises(DataError, match=words):
        ORDINAL.init(real(*labels)[None])


def test_a_label_beyond_the_classes_is_refused():
    with pytest.raises(DataError, match="must be 0 to 2, one code a class; 1 of 2 are not"):
        Ordinal(classes=3).init(real(0.0, 3.0)[None])


def test_fewer_than_two_classes_are_refused():
    with pytest.raises(SpecError, match="at least 2, or None; got 1"):
        Ordinal(classes=1)


def test_labels_in_other_units_are_refused():
    with pytest.raises(SpecError, match="'ordinal' are codes"):
        ORDINAL.predictive(parameters(0.0), Marginals(real(0.0), real(1.0)), 0.0, 2.0)
