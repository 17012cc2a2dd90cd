"""The logistic head: golden terms and predictives, labels it refuses."""

import numpy as np
import pytest
import torch

from corners.beliefs import Marginals
from corners.errors import DataError
from corners.likelihoods.logistic import Logistic
from tests.support.golden import assert_golden, golden, golden_cases
from tests.support.problems import assert_close, normal, real


@pytest.mark.parametrize("case", golden_cases("head_terms", "logistic"))
def test_golden_terms(case):
    inputs, expected = case["inputs"], case["expected"]
    mean, variance = real(inputs["mean"]).requires_grad_(), real(inputs["var"]).requires_grad_()
    value = -Logistic().log_partition({}, real(0.5 * (1.0 + inputs["y"])), Marginals(mean, variance))
    slopes = torch.autograd.grad(value.sum(), (mean, variance))
    tolerance = golden("head_terms")["tolerance"]["quadrature_heads_abs"]
    for actual, key in zip((value, *slopes), ("nlz", "d_mean", "d_var"), strict=True):
        np.testing.assert_allclose(actual.detach(), [expected[key]], rtol=1e-9, atol=tolerance)


@pytest.mark.parametrize("case", golden_cases("head_predictives", "pred_logistic"))
def test_golden_predictives(case):
    at = Marginals(real(case["inputs"]["mean"]), real(case["inputs"]["var"]))
    predictive = Logistic().predictive({}, at, 0.0, 1.0)
    assert_golden("head_predictives", predictive.probabilities[0, 1], case["expected"]["prob_pos"])


def test_probabilities_sum_to_one_and_mirror():
    mean, variance = normal(1, 7) * 3.0, (2.0 * normal(2, 7)).exp().clamp(max=9.0)
    one = Logistic().predictive({}, Marginals(mean, variance), 0.0, 1.0).probabilities
    other = Logistic().predictive({}, Marginals(-mean, variance), 0.0, 1.0).probabilities
    np.testing.assert_allclose(one.sum(1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(one, other[:, ::-1], rtol=1e-13)


def test_the_expectation_beats_no_partition():
    labels = Logistic.example_targets((2, 5))
    assert set(labels.unique().tolist()) == {0.0, 1.0}
    assert_close(Logistic().init(labels)["target_mean"], labels.numpy().mean(1))


@pytest.mark.parametrize("wrong", [-1.0, 2.0, 0.5, float("nan")])
def test_wrong_labels_are_refused(wrong):
    with pytest.raises(DataError, match=r"labels must be"):
        Logistic().init(real(0.0, 1.0, wrong)[None])
