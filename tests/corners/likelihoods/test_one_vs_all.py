"""One-versus-all probit: golden terms and predictives, the sum of binary heads, and what its loss is not."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from corners.beliefs import Marginals
from corners.errors import DataError, SpecError
from corners.likelihoods.one_vs_all import OneVsAll
from corners.likelihoods.probit import Probit
from tests.support.golden import as_array, assert_golden, golden_cases
from tests.support.problems import assert_close, normal, real

HEAD = OneVsAll(classes=3)


def golden_marginals(inputs: dict) -> Marginals:
    """``m_kn = μ_kᵀψ_n`` and ``v_kn = ψ_nᵀ Σ_k ψ_n`` from the definition, classes first."""
    features, mean = as_array(inputs["Psi"]), as_array(inputs["mu"])
    variances = []
    for own in inputs["family_params"]:
        covariance = np.zeros((3, 3))
        if "s" in own:
            covariance = np.diag(as_array(own["s"]))
        elif "L" in own:
            covariance = as_array(own["L"]) @ as_array(own["L"]).T
        covariance = covariance + inputs["jitter_eps"] * np.eye(3)
        variances.append(np.einsum("nh,hj,nj->n", features, covariance, features))
    return Marginals(torch.tensor(mean @ features.T), torch.tensor(np.array(variances)))


@pytest.mark.parametrize("case", golden_cases("shared_free", "free_ova"))
def test_golden_terms_and_predictive(case):
    inputs, expected = case["inputs"], case["expected"]
    marginals, labels = golden_marginals(inputs), torch.tensor(as_array(inputs["y"]))
    loss = -HEAD.log_partition({}, labels, marginals)
    assert_golden("shared_free", loss, as_array(expected["data_terms"]).sum(0))
    predictive = HEAD.predictive({}, marginals, 0.0, 1.0)
    assert_golden("shared_free", predictive.probabilities, expected["pred_prob"])
    score = -predictive.log_prob(labels.numpy()).mean()
    assert_golden("shared_free", score, expected["eval_nll_normalised"])


@pytest.mark.parametrize("case", golden_cases("shared_free", "free_ova"))
def test_golden_gradient_of_the_data_term_in_the_means(case):
    """The golden one holds the prior's too: ``M⁻¹ μ`` with ``M = Σ + α⁻¹ I``."""
    inputs = case["inputs"]
    features, means = as_array(inputs["Psi"]), torch.tensor(as_array(inputs["mu"])).requires_grad_()
    fixed = golden_marginals(inputs)
    loss = -HEAD.log_partition(
        {}, torch.tensor(as_array(inputs["y"])), Marginals(means @ torch.tensor(features).T, fixed.variance)
    ).sum()
    (slope,) = torch.autograd.grad(loss, means)
    precisions = np.broadcast_to(as_array(inputs["alpha"]), (3,))
    prior = []
    for own, precision, mean in zip(inputs["family_params"], precisions, as_array(inputs["mu"]), strict=True):
        covariance = np.zeros((3, 3))
        if "s" in own:
            covariance = np.diag(as_array(own["s"]))
        elif "L" in own:
            covariance = as_array(own["L"]) @ as_array(own["L"]).T
        matrix = covariance + (inputs["jitter_eps"] + 1.0 / precision) * np.eye(3)
        prior.append(np.linalg.solve(matrix, mean))
    assert_golden("shared_free", slope.numpy() + np.array(prior), case["expected"]["grad_mu"])


def test_every_functional_is_the_sum_of_binary_heads():
    labels = OneVsAll.example_targets((2, 6))
    marginals = Marginals(2.0 * normal(1, 2, 3, 6), normal(2, 2, 3, 6).exp())
    for name in ("log_partition", "expected_log_prob"):
        expected = sum(
            getattr(Probit(), name)(
                {}, (labels == k).double(), Marginals(marginals.mean[:, k], marginals.variance[:, k])
            )
            for k in range(3)
        )
        assert_close(getattr(HEAD, name)({}, labels, marginals), expected)


def test_the_loss_is_not_a_log_probability_of_the_label_and_the_predictive_is():
    """``exp(log_partition)`` summed over the labels is 3/8 at zero means, where the predictive is 1/3 each."""
    marginals = Marginals(torch.zeros(3, 1).double(), torch.ones(3, 1).double())
    total = sum(float(HEAD.log_partition({}, real(label), marginals).exp()) for label in (0.0, 1.0, 2.0))
    assert abs(total - 3.0 / 8.0) < 1e-15
    assert_close(HEAD.predictive({}, marginals, 0.0, 1.0).probabilities, np.full((1, 3), 1.0 / 3.0))


def test_two_classes_are_not_the_binary_probit():
    """Two heads, normalised: ``Φ(1)/(Φ(1) + Φ(-1/2))`` beside ``Φ(1)``."""
    marginals = Marginals(real(-0.5, 1.0)[:, None], torch.zeros(2, 1).double())
    actual = OneVsAll(classes=2).predictive({}, marginals, 0.0, 1.0).probabilities[0, 1]
    expected = special.ndtr(1.0) / (special.ndtr(1.0) + special.ndtr(-0.5))
    assert abs(actual - expected) < 1e-15 and abs(actual - special.ndtr(1.0)) > 0.1


@given(st.permutations([0, 1, 2]), st.lists(st.floats(-40.0, 40.0), min_size=3, max_size=3), st.floats(0.0, 30.0))
def test_renaming_the_classes_renames_the_probabilities(order, means, variance):
    def probabilities(values: torch.Tensor) -> np.ndarray:
        marginals = Marginals(values[:, None], torch.full((3, 1), variance).double())
        return HEAD.predictive({}, marginals, 0.0, 1.0).probabilities[0]

    assert_close(probabilities(real(*means)[order]), probabilities(real(*means))[order])


@given(st.floats(-30.0, 30.0), st.floats(0.0, 30.0), st.floats(0.01, 4.0))
def test_raising_the_mean_of_a_class_raises_its_probability(mean, variance, step):
    def probability(own: float) -> float:
        marginals = Marginals(real(own, 0.3, -1.0)[:, None], torch.full((3, 1), variance).double())
        return float(HEAD.predictive({}, marginals, 0.0, 1.0).log_probabilities[0, 0])

    assert probability(mean + step) >= probability(mean)


@pytest.mark.parametrize("mean", [-1e4, 0.0, 1e4])
@pytest.mark.parametrize("variance", [0.0, 1e-12, 100.0])
def test_extremes_stay_finite(mean, variance):
    for function in (HEAD.log_partition, HEAD.expected_log_prob):
        at = Marginals(
            torch.full((3, 1), mean).double().requires_grad_(), torch.full((3, 1), variance).double().requires_grad_()
        )
        value = function({}, real(1.0), at)
        slopes = torch.autograd.grad(value.sum(), (at.mean, at.variance))
        assert all(bool(each.isfinite().all()) for each in (value, *slopes))
    predictive = HEAD.predictive({}, Marginals(at.mean.detach(), at.variance.detach()), 0.0, 1.0)
    assert_close(predictive.probabilities, np.full((1, 3), 1.0 / 3.0))


def test_it_has_one_latent_function_a_class():
    assert HEAD.latents == 3 and OneVsAll(classes=7).latents == 7 and Probit().latents == 1


def test_wrong_labels_are_refused_and_a_missing_class_is_not():
    assert HEAD.init(real(0.0, 2.0, 2.0)[None])["label_count"].tolist() == [3.0]
    with pytest.raises(DataError, match=r"must be 0 to 2, one code a class; 1 of 2 are not \(such as 3\)"):
        HEAD.init(real(0.0, 3.0)[None])


def test_fewer_than_two_classes_are_refused():
    with pytest.raises(SpecError, match="at least 2; got 1"):
        OneVsAll(classes=1)


def test_labels_in_other_units_are_refused():
    with pytest.raises(SpecError, match="'one_vs_all' are codes"):
        HEAD.predictive({}, Marginals(torch.zeros(3, 1), torch.ones(3, 1)), 1.0, 1.0)
