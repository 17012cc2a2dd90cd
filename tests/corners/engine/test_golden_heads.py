"""Golden energies and gradients of the free cells with other heads, and of one-versus-all with its K beliefs."""

from typing import Any

import numpy as np
import pytest
import torch

from corners.beliefs import GammaPrior, Marginals, Prior
from corners.covariances._base import Params
from corners.engine.corner import Corner
from corners.errors import SpecError
from corners.likelihoods._base import Likelihood
from corners.likelihoods.logistic import Logistic
from corners.likelihoods.negative_binomial import NegativeBinomial
from corners.likelihoods.one_vs_all import OneVsAll
from corners.likelihoods.ordinal import FIRST_THRESHOLD, LOG_GAPS, Ordinal
from corners.likelihoods.poisson import Poisson
from corners.likelihoods.probit import Probit
from corners.likelihoods.student_t import StudentT
from corners.routings.free import MEAN
from tests.support.corner_cells import cell, energy_at
from tests.support.golden import as_array, assert_golden, golden, golden_cases
from tests.support.problems import assert_close, batch, generators, real

FAMILIES = {"none": "scroll_none", "diag": "scroll_diagonal", "full": "scroll_dense", "lowrank": "scroll_low_rank"}
ONE = [
    case
    for head in ("probit", "logistic", "ordinal", "poisson", "student", "negbin")
    for case in golden_cases("shared_free", f"free_{head}_")
]
MANY = golden_cases("shared_free", "free_ova")


def head_of(case) -> Likelihood:
    given: dict[str, Any] = case["inputs"]["head_params"]
    return {
        "probit": Probit,
        "logistic": Logistic,
        "ordinal": lambda: Ordinal(classes=len(given["tau"]) + 1),
        "poisson": Poisson,
        "student": lambda: StudentT(scale=given["s"], df=given["nu"]),
        "negbin": lambda: NegativeBinomial(size=given["r"]),
        "ova_probit": lambda: OneVsAll(classes=given["K"]),
    }[case["inputs"]["head"]]()


def targets_of(case) -> torch.Tensor:
    """The golden file labels binary heads -1 and 1."""
    y = as_array(case["inputs"]["y"])
    return batch([(y + 1) / 2 if case["inputs"]["head"] in ("probit", "logistic") else y])


def covariance_of(family: str, own: Any) -> Params:
    if family == "diag":
        return {"covariance.log_var": torch.tensor(np.log(own["s"]))}
    if family == "full":
        lower = torch.tensor(as_array(own["L"]))
        return {"covariance.log_diagonal": lower.diagonal().log(), "covariance.strict_lower": lower.tril(-1)}
    if family == "lowrank":
        return {
            "covariance.log_var": torch.tensor(np.log(own["D"])),
            "covariance.factor": torch.tensor(as_array(own["B"])),
        }
    return {}


def setting(case) -> tuple[Corner, Params, torch.Tensor, torch.Tensor]:
    """The corner, the golden belief in its parameters, features and targets."""
    given, head, targets = case["inputs"], head_of(case), targets_of(case)
    shared = bool(given["head_params"].get("shared_alpha"))
    corner = cell(FAMILIES[given["family"]], jitter=given["jitter_eps"], likelihood=head, prior=Prior(shared=shared))
    own = given["family_params"]
    each = [covariance_of(given["family"], one) for one in (own if head.latents > 1 else [own])]
    params = {name: torch.stack([one[name] for one in each]) for name in each[0]}
    params = {name: value[None] if head.latents > 1 else value for name, value in params.items()}
    params |= {MEAN: batch([as_array(given["mu"])]), Prior.parameter: real(*np.atleast_1d(given["alpha"])).log()}
    if head.latents > 1 and not shared:
        params[Prior.parameter] = params[Prior.parameter][None]
    params |= head.init(targets)
    if "tau" in given["head_params"]:
        tau = as_array(given["head_params"]["tau"])
        params |= {FIRST_THRESHOLD: real(tau[0]), LOG_GAPS: batch([np.log(np.diff(tau))])}
    return corner, params, batch([as_array(given["Psi"])]), targets


def slopes_of(case) -> tuple[Params, torch.Tensor]:
    corner, params, features, targets = setting(case)
    leaves = {name: value.clone().requires_grad_() for name, value in params.items() if name not in corner.frozen}
    features = features.requires_grad_()
    total = energy_at(corner, params | leaves, features, targets).total.sum()
    found = torch.autograd.grad(total, [*leaves.values(), features], allow_unused=True)
    return dict(zip(leaves, found[:-1], strict=True)), found[-1]


@pytest.mark.parametrize("case", ONE)
def test_terms(case):
    corner, params, features, targets = setting(case)
    expected, routed = case["expected"], corner.route(params, features, targets)
    marginals = corner.cavity.marginals(routed, features)
    assert_golden("shared_free", marginals.mean[0], expected["mean"])
    assert_golden("shared_free", marginals.variance[0], expected["v"])
    assert_golden(
        "shared_free", -corner.likelihood.log_partition(params, targets, marginals)[0], expected["data_terms"]
    )
    energy = corner.energy(params, features, targets, routed)
    assert_golden("shared_free", energy.prior[0], expected["prior_term"])
    assert_golden("shared_free", energy.total[0], expected["total"])


@pytest.mark.parametrize("case", ONE)
def test_slopes(case):
    expected, (slopes, of_features) = case["expected"], slopes_of(case)
    assert_golden("shared_free", of_features[0], expected["grad_Psi"])
    assert_golden("shared_free", slopes[MEAN][0], expected["grad_mu"])
    assert_golden("shared_free", slopes[Prior.parameter][0], expected["grad_log_alpha"])
    if "grad_log_s" in expected:
        assert_golden("shared_free", slopes["covariance.log_var"][0], expected["grad_log_s"])
    if "grad_tau" in expected:  # chained through tau_1 and the logarithms of the gaps
        tau, raw = as_array(case["inputs"]["head_params"]["tau"]), as_array(expected["grad_tau"])
        assert_golden("shared_free", slopes[FIRST_THRESHOLD][0], raw.sum())
        tails = raw[::-1].cumsum()[::-1][1:]
        assert_golden("shared_free", slopes[LOG_GAPS][0], tails * np.diff(tau))


@pytest.mark.parametrize("case", ONE)
def test_plate_slopes(case):
    corner, params, _, targets = setting(case)
    mean, variance = (batch([as_array(case["expected"][name])]).requires_grad_() for name in ("mean", "v"))
    loss = -corner.likelihood.log_partition(params, targets, Marginals(mean, variance)).sum()
    slopes = torch.autograd.grad(loss, (mean, variance))
    assert_golden("shared_free", slopes[0][0], case["expected"]["plate_dm"])
    assert_golden("shared_free", slopes[1][0], case["expected"]["plate_dv"])


@pytest.mark.parametrize("case", MANY)
def test_one_versus_all(case):
    corner, params, features, targets = setting(case)
    expected, routed = case["expected"], corner.route(params, features, targets)
    energy = corner.energy(params, features, targets, routed)
    assert_golden("shared_free", energy.prior[0], np.sum(as_array(expected["prior_terms"])))
    assert_golden("shared_free", energy.data[0], np.sum(as_array(expected["data_terms"])))
    assert_golden("shared_free", energy.total[0], expected["total"])
    marginals = routed.belief.marginals(corner.latent_features(features))
    one = Marginals(marginals.mean[0], marginals.variance[0])
    predictive = corner.likelihood.predictive({}, one, 0.0, 1.0)
    assert_golden("shared_free", predictive.probabilities, expected["pred_prob"])
    nll = -corner.likelihood.log_predictive(params, targets, marginals).mean(-1)
    assert_golden("shared_free", nll[0], expected["eval_nll_normalised"])
    slopes, _ = slopes_of(case)
    assert_golden("shared_free", slopes[MEAN][0], expected["grad_mu"])
    assert_golden("shared_free", slopes[Prior.parameter].reshape(-1), np.atleast_1d(expected["grad_log_alpha"]))


def test_one_versus_all_is_k_binary_cells():
    """Belief by belief: the free energy adds up over the classes, prior and hyperprior too."""
    (case,) = (case for case in golden("shared_free")["cases"] if case["id"] == "free_ova_perclass_full")
    corner, params, features, targets = setting(case)
    prior = Prior(hyperprior=GammaPrior())
    many = cell("scroll_dense", jitter=corner.jitter, likelihood=OneVsAll(3), prior=prior)
    whole = energy_at(many, params, features, targets)
    binary = cell("scroll_dense", jitter=corner.jitter, likelihood=Probit(), prior=prior)
    names = [name for name in params if name.startswith("covariance") or name in (MEAN, Prior.parameter)]
    parts = []
    for k in range(3):
        labels = (targets == k).double()
        own = {name: params[name][:, k] for name in names} | binary.likelihood.init(labels)
        parts.append(energy_at(binary, own, features, labels))
    for term in ("data", "prior", "hyperprior"):
        assert_close(getattr(whole, term), sum(getattr(part, term) for part in parts))


def test_a_shared_precision_is_one_parameter():
    corner = cell("scroll_diagonal", likelihood=OneVsAll(3), prior=Prior(shared=True, hyperprior=GammaPrior()))
    features, targets = torch.ones(2, 4, 3).double(), torch.tensor([[0.0, 1, 2, 0]] * 2).double()
    params = corner.init(features, targets, generators(0, 1))
    assert params[Prior.parameter].shape == (2,) and params[MEAN].shape == (2, 3, 3)
    apart = cell("scroll_diagonal", likelihood=OneVsAll(3), prior=Prior())
    each = params | {Prior.parameter: params[Prior.parameter][:, None].repeat(1, 3)}
    one, other = energy_at(corner, params, features, targets), energy_at(apart, each, features, targets)
    assert_close(one.prior, other.prior)
    precision = params[Prior.parameter]
    assert_close(one.hyperprior, GammaPrior().penalty(precision, 3))
    with pytest.raises(SpecError, match="shares one precision among several latent functions; there is one here"):
        cell("scroll_diagonal", likelihood=Probit(), prior=Prior(shared=True))
