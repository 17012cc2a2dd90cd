"""Laplace: the closed form it must be, what chooses its hyperparameters, and what is said of the choice."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.baselines._laplace_layer import REMEDY, maximise_evidence
from corners.baselines._peers import import_peer
from corners.baselines.laplace import Laplace, TrainedLayer
from corners.baselines.map import Map
from corners.data.split import Part, Split
from corners.data.standardiser import Standardiser
from corners.errors import SpecError
from corners.protocols import Protocol
from tests.support.problems import SHORT, assert_close, normal, tiny_split

laplace = import_peer("laplace", REMEDY)
SPLITS, SEEDS = [tiny_split(1), tiny_split(2)], [5, 6]
NETWORK = Map(MLP(3), schedule=SHORT)
GRID = (1e-2, 1.0, 1e2)


def belief(fit, split: Split, precision: float, structure: str) -> np.ndarray:
    """``(ΨᵀΨ/σ² + λI)⁻¹`` by the definition, in the units trained in."""
    features = fit.features(split.train.inputs)
    noise_scale = fit.learned(0)["noise_scale"] / np.std(split.train.targets)
    inverse = features.T @ features / noise_scale**2 + precision * np.eye(features.shape[1])
    return np.linalg.inv(np.diag(np.diag(inverse)) if structure == "diagonal" else inverse)


def layer(weights, noise_var: float = 0.3, rows: int = 9) -> TrainedLayer:
    """Inputs as features, without a network."""
    inputs, targets = normal(1, rows, 2), normal(2, rows)
    scale = Standardiser(np.zeros(2), np.ones(2), 0.0, 1.0)
    part = (inputs, targets)
    return TrainedLayer(Identity(), {}, torch.as_tensor(weights), scale, part, part, noise_var)


def nll(fit, split: Split, replicate: int = 0) -> float:
    part = split.validation
    return float(-fit.predict(part.inputs, replicate=replicate).log_prob(part.targets).mean())


# The posterior


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_it_is_the_closed_form_in_double_precision(structure, dtype):
    network = replace(NETWORK, dtype=dtype)
    fit = Laplace(network, structure=structure, prior_precision=0.7).fit(SPLITS[:1], SEEDS[:1])
    expected = belief(fit, SPLITS[0], 0.7, structure)
    assert fit.heads[0] is not None
    assert_close(fit.heads[0].covariance, expected, rel=1e-9)
    features, predictive = fit.features(SPLITS[0].test.inputs), fit.predict(SPLITS[0].test.inputs)
    spread = np.std(SPLITS[0].train.targets) ** 2 * np.einsum("nh,hk,nk->n", features, expected, features)
    assert_close(predictive.variance, fit.learned(0)["noise_scale"] ** 2 + spread, rel=1e-9)


@pytest.mark.parametrize(("structure", "theirs"), [("full", "full"), ("diagonal", "diag")])
def test_predictions_are_the_librarys_own(structure, theirs):
    fit = Laplace(NETWORK, structure=structure, prior_precision=0.7).fit(SPLITS[:1], SEEDS[:1])
    trained = TrainedLayer.of(NETWORK.fit(SPLITS[:1], SEEDS[:1]), 0, SPLITS[0], "learned")
    posterior, scale = trained.posterior(laplace, theirs), trained.standardiser
    posterior.prior_precision = 0.7
    mean, variance = posterior(torch.tensor(scale.inputs(SPLITS[0].test.inputs)))
    found = fit.predict(SPLITS[0].test.inputs)
    assert_close(found.mean, scale.original_mean(mean[:, 0].numpy()))
    assert_close(found.variance, scale.original_var(variance[:, 0, 0].numpy() + trained.noise_var))


def test_the_network_is_that_of_map_and_a_certain_prior_gives_back_map():
    point = NETWORK.fit(SPLITS, SEEDS)
    fit, certain = (Laplace(NETWORK, prior_precision=value).fit(SPLITS, SEEDS) for value in (0.5, 1e14))
    for k, split in enumerate(SPLITS):
        expected, inputs = point.predict(split.test.inputs, replicate=k), split.test.inputs
        assert_close(fit.predict(inputs, replicate=k).mean, expected.mean)
        assert (fit.predict(inputs, replicate=k).variance > expected.variance).all()
        assert_close(certain.predict(inputs, replicate=k).variance, expected.variance)
        assert fit.learned(k).items() >= point.learned(k).items()
        assert fit.statuses[k].code == point.statuses[k].code


# The prior precision


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_validation_chooses_from_the_grid(structure):
    chosen = Laplace(NETWORK, structure=structure, precision_grid=GRID).fit(SPLITS, SEEDS)
    alone = [Laplace(NETWORK, structure=structure, prior_precision=each).fit(SPLITS, SEEDS) for each in GRID]
    for k, split in enumerate(SPLITS):
        best = int(np.argmin([nll(fit, split, k) for fit in alone]))
        assert chosen.learned(k)["prior_precision"] == GRID[best]
        assert ("edge of its grid" in " ".join(chosen.statuses[k].remarks[1:])) == (best != 1)


def test_a_flat_grid_is_said():
    """One row repeated: every feature is zero, and the precision plays no part."""
    part = Part(np.ones((6, 2)), np.full(6, 3.0))
    status = Laplace(NETWORK).fit([Split(part, part, part, "flat")], [5]).statuses[0]
    assert "validation NLL hardly depends on prior precision" in status.sentence


def test_a_grid_without_a_proper_posterior_is_a_failure_that_names_the_remedy():
    part = Part(np.ones((6, 2)), np.full(6, 3.0))
    fit = Laplace(NETWORK, precision_grid=(0.0,)).fit([Split(part, part, part, "flat"), SPLITS[0]], [5, 6])
    assert "proper at no prior precision of the grid; give larger ones" in fit.statuses[0].sentence
    with pytest.raises(SpecError, match="laplace, seed 5: failed"):
        fit.predict(part.inputs)
    assert fit.learned(0) == {} and fit.statuses[1].usable


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_the_marginal_likelihood_is_at_mackays_fixed_point(structure):
    """``λ‖w‖² = H - λ tr Σ`` (w fixed), where the slope of the evidence in log λ is zero."""
    method = Laplace(NETWORK, structure=structure, prior_precision="marginal_likelihood")
    fit = method.fit(SPLITS[:1], SEEDS[:1])
    head, precision = fit.heads[0], fit.learned(0)["prior_precision"]
    assert head is not None
    trace = np.trace(belief(fit, SPLITS[0], precision, structure))
    assert precision * float(head.mean.square().sum()) == pytest.approx(3 - precision * trace, abs=1e-3)
    assert "ran away" not in fit.statuses[0].sentence


def test_the_librarys_evidence_is_the_dense_density_at_the_optimum_and_lower_elsewhere():
    """Acceptance case 2: it keeps the trained weights, so that an unconverged head makes it too low."""
    features, targets = layer(np.zeros(2)).train
    psi, y, precision, noise_var = features.numpy(), targets.numpy(), 0.7, 0.3
    ridge = np.linalg.solve(psi.T @ psi / noise_var + precision * np.eye(2), psi.T @ y / noise_var)
    exact = stats.multivariate_normal.logpdf(y, cov=psi @ psi.T / precision + noise_var * np.eye(9))
    values = []
    for weights in (ridge, ridge + 0.5):
        posterior = layer(weights).posterior(laplace, "full")
        values.append(float(posterior.log_marginal_likelihood(torch.tensor(precision, dtype=torch.float64))))
    assert values[0] == pytest.approx(exact, rel=1e-10)
    assert values[1] < exact - 0.1


def test_a_precision_that_runs_away_is_said():
    """Zero weights: the evidence grows with the precision for ever."""
    for structure in ("diag", "full"):
        assert "ran away" in " ".join(maximise_evidence(layer(np.zeros(2)).posterior(laplace, structure)))
    assert maximise_evidence(layer(np.array([1.0, -1.0])).posterior(laplace, "full")) == ()


def test_an_evidence_that_is_not_maximal_yet_is_said(monkeypatch):
    monkeypatch.setattr("corners.baselines._laplace_layer.EVIDENCE_STEPS", 5)
    remarks = maximise_evidence(layer(np.array([0.05, -0.05])).posterior(laplace, "full"))
    assert remarks == ("evidence is not maximal yet: 5 steps in the log precision were not enough",)


# The noise


def test_noise_from_the_validation_residuals():
    point, fit = NETWORK.fit(SPLITS, SEEDS), Laplace(NETWORK, noise="validation").fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        residuals = split.validation.targets - point.predict(split.validation.inputs, replicate=k).mean
        assert fit.learned(k)["noise_scale"] == pytest.approx(math.sqrt(np.mean(residuals**2)), rel=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_network_with_noise_from_validation_hands_it_over(dtype):
    """The mean is ``map``'s, the posterior is made with the noise that ``map`` predicts with."""
    network = replace(NETWORK, penalty_grid=(0.1,), noise="validation", dtype=dtype)
    point = network.fit(SPLITS, SEEDS)
    fit = Laplace(network, noise="validation", precision_grid=(0.1,)).fit(SPLITS, SEEDS)
    rel = 1e-10 if dtype == "float64" else 1e-5
    for k, split in enumerate(SPLITS):
        assert fit.learned(k)["noise_scale"] == pytest.approx(point.learned(k)["noise_scale"], rel=rel)
        assert fit.learned(k)["prior_precision"] == 0.1
        found, expected = (each.predict(split.test.inputs, replicate=k).mean for each in (fit, point))
        assert_close(found, expected, rel=rel)
    head = fit.heads[0]
    assert head is not None
    assert_close(head.covariance, belief(fit, SPLITS[0], 0.1, "full"), rel=1e-9)


def test_a_noise_that_nobody_learned_is_refused():
    with pytest.raises(SpecError, match="learns none; give noise='validation'"):
        Laplace(replace(NETWORK, noise="validation"))


def test_the_protocols_noise_is_that_of_network_and_posterior():
    made = Laplace.from_protocol(Protocol("mine", noise="validation", penalty_grid=(0.1,)), MLP(3))
    assert (made.noise, made.network.noise, made.precision_grid) == ("validation", "validation", (0.1,))
    assert made.network.penalty_grid == (0.1,)


# What else is promised


def test_version_and_structure_are_said():
    fit = Laplace(NETWORK, structure="diagonal").fit(SPLITS[:1], SEEDS[:1])
    assert "laplace-torch 0.3 with diagonal structure" in fit.statuses[0].sentence
    assert fit.last_layer(0, SPLITS[0]) is None


def test_what_was_not_started_stays_so():
    def interrupt(step: int, running: int, best: float) -> None:
        raise KeyboardInterrupt

    fit = Laplace(NETWORK).fit([SPLITS[0], tiny_split(3, rows=(9, 4, 3))], [5, 6], progress=interrupt)
    assert [status.code for status in fit.statuses] == ["interrupted", "not_started"]
    assert np.isfinite(fit.predict(SPLITS[0].test.inputs).mean).all() and fit.heads[1] is None


def test_a_pickled_fit_predicts_the_same_bits():
    fit = Laplace(NETWORK).fit(SPLITS[:1], SEEDS[:1])
    one, other = (each.predict(SPLITS[0].test.inputs) for each in (fit, pickle.loads(pickle.dumps(fit))))
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.variance, other.variance)


def test_the_protocol_sets_it_up():
    protocol = Protocol("mine", penalty_grid=(0.5, 2.0), max_steps=9, dtype="float32")
    made = Laplace.from_protocol(protocol, MLP(3))
    assert made.network == Map.from_protocol(protocol, MLP(3))
    assert made.precision_grid == (0.5, 2.0) and made.schedule.max_steps == 9


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"structure": "kron"}, "full, diagonal; got 'kron'"),
        ({"noise": "fixed"}, "learned, validation; got 'fixed'"),
        ({"prior_precision": 0.0}, "positive and finite.*got 0.0"),
        ({"prior_precision": "evidence"}, "marginal_likelihood; got 'evidence'"),
        ({"precision_grid": ()}, "penalty_grid"),
    ],
)
def test_impossible_options_are_refused(options, match):
    with pytest.raises(SpecError, match=match):
        Laplace(NETWORK, **options)
