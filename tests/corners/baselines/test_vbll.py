"""VBLL: the package's bound by the definition, its optimum in closed form, and its two starts kept apart."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
import vbll
from scipy import stats

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.baselines._vbll_problem import NOISE
from corners.baselines.vbll import Vbll, _head
from corners.data.batch import stack_splits
from corners.errors import SpecError
from corners.method import FitStatus
from corners.protocols import Protocol
from tests.support.problems import SHORT, assert_close, tiny_split

SPLITS, SEEDS = [tiny_split(1), tiny_split(2)], [5, 6]
FEW = replace(SHORT, max_steps=6)
TINY = Vbll(MLP(3), schedule=FEW)
PUBLISHED = replace(TINY, start="as_published")
ROWS = 12


def set_up(method: Vbll, weight: float = 0.1, seed: int = 5):
    data, (standardiser,) = stack_splits(SPLITS[:1], scale_targets=method.scale_targets, dtype=method.dtype)
    problem, params = method.set_up(vbll, data, [seed], (weight,))
    return problem, params, standardiser


def belief(params, parameterisation: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean, covariance and noise scale from the package's parameters, by its documentation."""
    mean, deviations = params["layer.W_mean"][0, 0].numpy(), params["layer.W_logdiag"][0, 0].exp().numpy()
    root = np.diag(deviations)
    if parameterisation == "dense":
        root = root + np.tril(params["layer.W_offdiag"][0, 0].numpy(), -1)
    return mean, root @ root.T, float(params[NOISE][0, 0].exp())


def nll(fit, k: int) -> float:
    part = SPLITS[k].validation
    return float(-fit.predict(part.inputs, replicate=k).log_prob(part.targets).mean())


# The objective


@pytest.mark.parametrize("parameterisation", ["dense", "diagonal"])
def test_the_objective_is_the_bound_by_its_definition(parameterisation):
    """Expected log likelihood, KL to ``N(0, I/H)`` without its constant, Wishart term of scale 0.01 and dof 1."""
    method, weight = replace(TINY, parameterisation=parameterisation, backbone_penalty=0.07), 0.3
    problem, params, _ = set_up(method, weight)
    mean, covariance, scale = belief(params, parameterisation)
    features = method.backbone.features(params, problem.data.train.inputs)[0].numpy()
    targets = problem.data.train.targets[0].numpy()
    expected = -stats.norm.logpdf(targets, features @ mean, scale).sum()
    expected += 0.5 * np.einsum("nh,hk,nk->", features, covariance, features) / scale**2
    kl = 0.5 * (3 * mean @ mean + 3 * np.trace(covariance) - 3 * np.log(3) - np.linalg.slogdet(covariance)[1])
    noise = -3.0 * np.log(scale) - 0.005 / scale**2
    expected += ROWS * weight * (kl - noise)
    expected += 0.07 * float(params["backbone.weight_0"].square().sum())
    found, _ = problem.objective(params, 0)
    assert_close(found, np.array([expected]))


@pytest.mark.parametrize("weight", [1 / ROWS, 0.1])
def test_its_optimum_is_the_posterior_tempered_by_n_times_the_weight(weight):
    """``Σ = (ΨᵀΨ/(σ² N weight) + H I)⁻¹``: the conjugate posterior at 1/N, a warmer one at 0.1."""
    problem, params, _ = set_up(Vbll(Identity()), weight)
    features, targets = problem.data.train.inputs[0].numpy(), problem.data.train.targets[0].numpy()
    noise_var = float(params[NOISE].exp().square()) * ROWS * weight
    covariance = np.linalg.inv(features.T @ features / noise_var + 2 * np.eye(2))
    root = torch.tensor(np.linalg.cholesky(covariance))
    at = {
        "layer.W_mean": torch.tensor(covariance @ features.T @ targets / noise_var)[None, None],
        "layer.W_logdiag": root.diagonal().log()[None, None],
        "layer.W_offdiag": root.tril(-1)[None, None],
    }
    leaves = {name: value.clone().requires_grad_() for name, value in at.items()}
    problem.objective(params | leaves, 0)[0].sum().backward()
    for leaf in leaves.values():
        assert leaf.grad is not None
        assert_close(leaf.grad, np.zeros(leaf.shape), abs_=1e-9)


@pytest.mark.parametrize("parameterisation", ["dense", "diagonal"])
def test_predictions_are_the_packages_own(parameterisation):
    problem, params, standardiser = set_up(replace(TINY, parameterisation=parameterisation))
    head = _head(problem, {name: value[0] for name, value in params.items()}, standardiser, {})
    features = problem.backbone.features(params, problem.data.test.inputs)[0]
    expected, (mean, variance) = problem.loss.layer.predictive(features), head.moments(features)
    assert_close(mean, expected.mean[:, 0])
    assert_close(variance, expected.scale[:, 0].square())
    value = -stats.norm.logpdf(problem.data.test.targets[0].numpy(), mean.numpy(), variance.sqrt().numpy()).mean()
    assert_close(problem.watched(params, None)["test_nll"], np.array([value + standardiser.log_scale]))


# The two starts


def test_the_fair_start_is_the_scale_of_the_targets_and_the_weight_is_one_over_n():
    for scale_targets in (True, False):
        fit = replace(TINY, scale_targets=scale_targets).fit(SPLITS, SEEDS)
        for k, split in enumerate(SPLITS):
            assert fit.learned(k)["noise_start"] == pytest.approx(np.std(split.train.targets), rel=1e-12)
            assert fit.learned(k)["regularisation_weight"] == 1 / ROWS


def test_the_published_start_is_random_over_six_orders_of_magnitude():
    method = Vbll(Identity(), start="as_published")
    starts = [float(set_up(method, seed=seed)[1][NOISE]) / np.log(0.01) for seed in range(200)]
    assert stats.kstest(starts, "norm").pvalue > 0.01
    assert np.ptp(starts) * abs(np.log(0.01)) > np.log(1e6)


def test_the_starts_differ_in_the_noise_alone():
    (_, fair, _), (_, published, _) = set_up(TINY), set_up(PUBLISHED)
    assert {name for name in fair if not torch.equal(fair[name], published[name])} == {NOISE}


def test_version_start_and_weight_are_said():
    """Acceptance case 24."""
    for method, words in (
        (TINY, "vbll 0.4.9 from the fair start with regularisation weight 1/N"),
        (PUBLISHED, "vbll 0.4.9 as published with regularisation weight 0.1"),
        (replace(PUBLISHED, regularisation_weight=0.01), "vbll 0.4.9 as published with regularisation weight 0.01"),
    ):
        assert all(words in status.sentence for status in method.fit(SPLITS, SEEDS).statuses)


def test_the_two_are_never_mixed():
    with pytest.raises(SpecError, match="the fair start means a regularisation weight of 1/N"):
        replace(TINY, regularisation_weight=0.1)


# The rest of what is promised


def test_validation_chooses_the_weight():
    grid = (0.001, 0.1, 10.0)
    chosen = replace(PUBLISHED, regularisation_weight=grid).fit(SPLITS, SEEDS)
    alone = [replace(PUBLISHED, regularisation_weight=each).fit(SPLITS, SEEDS) for each in grid]
    for k in range(2):
        best = int(np.argmin([nll(fit, k) for fit in alone]))
        assert chosen.learned(k)["regularisation_weight"] == grid[best]
        assert ("edge of its grid" in chosen.statuses[k].sentence) == (best != 1)
        inputs = SPLITS[k].test.inputs
        assert_close(chosen.predict(inputs, replicate=k).mean, alone[best].predict(inputs, replicate=k).mean)


def test_a_scale_that_is_no_number_stops_its_replicate():
    """The package's distributions would raise, which would stop the siblings too."""
    problem, params, _ = set_up(TINY)
    for value in (1e4, float("nan")):
        assert not problem.objective(params | {NOISE: torch.full((1, 1), value).double()}, 0)[0].isfinite().any()
    fit = replace(TINY, schedule=replace(FEW, learning_rate=1e5)).fit(SPLITS, SEEDS)
    assert [status.code for status in fit.statuses] == ["not_finite"] * 2
    assert np.isfinite(fit.predict(SPLITS[1].test.inputs, replicate=1).mean).all()


def test_an_interrupt_keeps_what_is_there():
    def interrupt(step: int, running: int, best: float) -> None:
        raise KeyboardInterrupt

    fit = TINY.fit([*SPLITS, tiny_split(3, rows=(9, 4, 3))], [*SEEDS, 7], progress=interrupt)
    assert [status.code for status in fit.statuses] == ["interrupted", "interrupted", "not_started"]
    assert fit.statuses[2] == FitStatus("not_started") and fit.learned(2) == {}
    assert np.isfinite(fit.predict(SPLITS[0].test.inputs).mean).all()


def test_the_users_random_stream_is_left_alone():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)  # another state than an earlier fit of the same seed would leave
        before = torch.get_rng_state()
        TINY.fit(SPLITS[:1], SEEDS[:1])
        assert torch.equal(torch.get_rng_state(), before)


def test_a_pickled_fit_predicts_the_same_bits():
    fit = TINY.fit(SPLITS[:1], SEEDS[:1])
    one, other = (each.predict(SPLITS[0].test.inputs) for each in (fit, pickle.loads(pickle.dumps(fit))))
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.variance, other.variance)


def test_the_protocol_sets_it_up():
    protocol = Protocol("mine", backbone_penalty=0.2, max_steps=9, dtype="float32", scale_targets=False)
    made = Vbll.from_protocol(protocol, MLP(3))
    assert (made.backbone_penalty, made.dtype, made.scale_targets, made.start) == (0.2, "float32", False, "fair")
    assert made.schedule.max_steps == 9 and made.backbone == MLP(3)
    assert (made.regularisation_weight, made.reduction) == (None, "sum")
    protocol = Protocol("mine", vbll_start="as_published", vbll_weights=(0.1, 1.0), reduction="mean")
    made = Vbll.from_protocol(protocol, MLP(3))
    assert (made.start, made.regularisation_weight, made.reduction) == ("as_published", (0.1, 1.0), "mean")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"reduction": "median"}, "sum, mean; got 'median'"),
        ({"start": "random"}, "as_published, fair; got 'random'"),
        ({"parameterisation": "lowrank"}, "dense, diagonal; got 'lowrank'"),
        ({"start": "as_published", "regularisation_weight": ()}, "positive and finite"),
        ({"start": "as_published", "regularisation_weight": (0.1, -1.0)}, "positive and finite"),
    ],
)
def test_impossible_options_are_refused(options, match):
    with pytest.raises(SpecError, match=match):
        Vbll(**options)
