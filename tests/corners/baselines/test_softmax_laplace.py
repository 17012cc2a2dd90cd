"""softmax_laplace: the Hessian by its definition, laplace-torch called directly, what chooses the prior precision."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import special
from torch import nn

from corners.backbones.mlp import MLP
from corners.baselines._laplace_layer import REMEDY
from corners.baselines._network_fit import derived_seed
from corners.baselines._peers import import_peer
from corners.baselines.softmax import Softmax
from corners.baselines.softmax_laplace import DRAWS, SoftmaxLaplace
from corners.data.split import Part, Split
from corners.errors import SpecError, UnavailableError
from corners.protocols import Protocol
from tests.support.problems import SHORT, assert_close
from tests.support.task_splits import tiny_classes

laplace = import_peer("laplace", REMEDY)
SPLITS, SEEDS = [tiny_classes(1), tiny_classes(2)], [5, 6]
NETWORK = Softmax(MLP(3), penalty_grid=(0.1,), schedule=SHORT)
GRID = (1e-2, 1.0, 1e2)
STRUCTURES = [("full", "full"), ("diagonal", "diag")]


def trained(replicate: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Training features and weights of the network alone."""
    network = NETWORK.fit(SPLITS, SEEDS)
    own = network.replicates[replicate]
    assert own is not None
    return network.features(SPLITS[replicate].train.inputs, replicate=replicate), own.params["weights"].numpy()


def precision(replicate: int, prior: float, structure: str) -> np.ndarray:
    """``Σ_n (diag p - p pᵀ) ⊗ ψψᵀ + λI``, point by point."""
    features, weights = trained(replicate)
    total = prior * np.eye(weights.size)
    for row in features:
        p = special.softmax(weights @ row)
        total += np.kron(np.diag(p) - np.outer(p, p), np.outer(row, row))
    return np.diag(np.diag(total)) if structure == "diagonal" else total


def theirs(replicate: int, prior: float, structure: str):
    """The library's own class on the trained last layer, its features as inputs."""
    features, weights = trained(replicate)
    last = nn.Linear(3, 3, bias=False, dtype=torch.float64)
    with torch.no_grad():
        last.weight.copy_(torch.tensor(weights))
    made = laplace.Laplace(
        nn.Sequential(nn.Identity(), last),
        "classification",
        subset_of_weights="last_layer",
        hessian_structure=structure,
        prior_precision=prior,
        backend=laplace.curvature.GGNInterface,
        last_layer_name="1",
    )
    labels = torch.tensor(SPLITS[replicate].train.targets).long()
    rows = torch.utils.data.TensorDataset(torch.tensor(features), labels)
    made.fit(torch.utils.data.DataLoader(rows, batch_size=5))
    return made


# The posterior


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_its_covariance_inverts_the_dense_hessian(structure):
    """Every class's own block, which the closed link keeps."""
    fit = SoftmaxLaplace(NETWORK, structure=structure, prior_precision=0.7, link="probit").fit(SPLITS, SEEDS)
    for k in range(2):
        expected = np.linalg.inv(precision(k, 0.7, structure)).reshape(3, 3, 3, 3)
        assert fit.heads[k] is not None
        assert_close(fit.heads[k].blocks, np.stack([expected[c, :, c, :] for c in range(3)]), rel=1e-9)


@pytest.mark.parametrize(("structure", "name"), STRUCTURES)
def test_draws_average_to_the_librarys_own_predictive(structure, name):
    """Its ``nn`` predictive from the same generator: the average of its draws' softmaxes."""
    fit = SoftmaxLaplace(NETWORK, structure=structure, prior_precision=0.7, samples=40).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        features = torch.tensor(fit.features(split.test.inputs, replicate=k))
        generator = torch.Generator().manual_seed(derived_seed(SEEDS[k], *DRAWS))
        drawn = theirs(k, 0.7, name).predictive_samples(features, pred_type="nn", n_samples=40, generator=generator)
        found = fit.predict(split.test.inputs, replicate=k)
        assert_close(found.probabilities, drawn.mean(0), rel=1e-9)


@pytest.mark.parametrize(("structure", "name"), STRUCTURES)
def test_the_closed_link_is_the_librarys(structure, name):
    fit = SoftmaxLaplace(NETWORK, structure=structure, prior_precision=0.7, link="probit").fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        features = torch.tensor(fit.features(split.test.inputs, replicate=k))
        expected = theirs(k, 0.7, name)(features, pred_type="glm", link_approx="probit")
        assert_close(fit.predict(split.test.inputs, replicate=k).probabilities, expected, rel=1e-9)


def test_many_draws_agree_with_the_gaussian_integral():
    """Two classes: only ``f₁ - f₀`` matters, a Gaussian, and its logistic is integrated; four standard errors."""
    splits = [tiny_classes(1, classes=2)]
    fit = SoftmaxLaplace(NETWORK, prior_precision=0.7, samples=4000).fit(splits, [5])
    head, features = fit.heads[0], fit.features(splits[0].test.inputs)
    assert head is not None
    network = NETWORK.fit(splits, [5])
    psi, weights = network.features(splits[0].train.inputs), network.replicates[0].params["weights"].numpy()
    total = 0.7 * np.eye(6)
    for row in psi:
        p = special.softmax(weights @ row)
        total += np.kron(np.diag(p) - np.outer(p, p), np.outer(row, row))
    contrast = np.kron(np.array([-1.0, 1.0]), features)
    mean, spread = (
        features @ (weights[1] - weights[0]),
        np.einsum("np,pq,nq->n", contrast, np.linalg.inv(total), contrast),
    )
    nodes, heights = np.polynomial.hermite_e.hermegauss(80)
    values = special.expit(mean[:, None] + np.sqrt(spread)[:, None] * nodes)
    expected = values @ heights / heights.sum()
    errors = np.sqrt((values**2 @ heights / heights.sum() - expected**2) / 4000.0)
    found = fit.predict(splits[0].test.inputs).probabilities[:, 1]
    assert (np.abs(found - expected) < 4.0 * errors).all()


def test_a_certain_prior_gives_back_softmax():
    point = NETWORK.fit(SPLITS, SEEDS)
    for link in ("samples", "probit"):
        fit = SoftmaxLaplace(NETWORK, prior_precision=1e14, link=link).fit(SPLITS, SEEDS)
        for k, split in enumerate(SPLITS):
            found, expected = (each.predict(split.test.inputs, replicate=k) for each in (fit, point))
            assert_close(found.probabilities, expected.probabilities, rel=1e-5)
            assert fit.statuses[k].code == point.statuses[k].code


# The prior precision


@pytest.mark.parametrize("link", ["samples", "probit"])
def test_validation_chooses_from_the_grid(link):
    chosen = SoftmaxLaplace(NETWORK, precision_grid=GRID, link=link).fit(SPLITS, SEEDS)
    alone = [SoftmaxLaplace(NETWORK, prior_precision=each, link=link).fit(SPLITS, SEEDS) for each in GRID]
    for k, split in enumerate(SPLITS):
        part = split.validation
        nll = [-fit.predict(part.inputs, replicate=k).log_prob(part.targets).mean() for fit in alone]
        best = int(np.argmin(nll))
        learned = chosen.learned(k)
        assert learned["prior_precision"] == GRID[best] and learned["validation_nll"] == pytest.approx(nll[best])
        assert ("prior precision" in " ".join(chosen.statuses[k].remarks)) == (best != 1)


def test_the_evidence_is_the_laplace_formula_and_is_maximal():
    """``log p(y, Ŵ) + ½ P log 2π - ½ log|A|`` by hand: no higher at a precision nearby."""
    fit = SoftmaxLaplace(NETWORK, prior_precision="marginal_likelihood").fit(SPLITS[:1], SEEDS[:1])
    features, weights = trained()
    labels = SPLITS[0].train.targets.astype(int)
    misfit = -special.log_softmax(features @ weights.T, 1)[np.arange(12), labels].sum()

    def evidence(prior: float) -> float:
        fitted = precision(0, prior, "full")
        return -misfit + 0.5 * (9 * np.log(prior) - prior * (weights**2).sum() - np.linalg.slogdet(fitted)[1])

    best = fit.learned(0)["prior_precision"]
    value = theirs(0, best, "full").log_marginal_likelihood()
    assert float(value) == pytest.approx(evidence(best), rel=1e-10)
    assert evidence(best) >= max(evidence(0.9 * best), evidence(1.1 * best))


def test_a_grid_without_a_proper_posterior_is_a_failure_that_names_the_remedy():
    part = Part(np.ones((6, 2)), np.array([0.0, 1.0] * 3))
    flat = Split(part, part, part, "flat", task="classification")
    fit = SoftmaxLaplace(NETWORK, precision_grid=(0.0,)).fit([flat], [5])
    assert "proper at no prior precision of the grid; give larger ones" in fit.statuses[0].sentence
    with pytest.raises(SpecError, match="softmax_laplace, seed 5: failed"):
        fit.predict(part.inputs)
    assert fit.learned(0) == {}


# What else is promised


def test_version_structure_and_missing_classes_are_said_once():
    fit = SoftmaxLaplace(NETWORK, structure="diagonal").fit(SPLITS[:1], SEEDS[:1])
    assert "laplace-torch 0.3 with diagonal structure" in fit.statuses[0].sentence
    assert fit.last_layer(0, SPLITS[0]) is None
    split = SPLITS[0]
    some = Part(split.train.inputs, np.minimum(split.train.targets, 1.0))
    without = Split(some, split.validation, split.test, "two", task="classification", labels=split.labels)
    sentence = SoftmaxLaplace(NETWORK, temperature=True).fit([without], [5]).statuses[0].sentence
    assert sentence.count("no training row has class blue") == 1


def test_a_pickled_fit_predicts_the_same_bits():
    fit = SoftmaxLaplace(NETWORK).fit(SPLITS[:1], SEEDS[:1])
    one, other = (each.predict(SPLITS[0].test.inputs) for each in (fit, pickle.loads(pickle.dumps(fit))))
    np.testing.assert_array_equal(one.probabilities, other.probabilities)


def test_a_missing_library_is_named_with_the_remedy_before_anything_is_trained(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "laplace", None)
    with pytest.raises(UnavailableError, match=r"laplace.*pip install --no-deps laplace-torch"):
        SoftmaxLaplace(NETWORK).fit(SPLITS, SEEDS)


def test_the_protocol_sets_it_up():
    protocol = Protocol("mine", penalty_grid=(0.5, 2.0), max_steps=9, dtype="float32")
    made = SoftmaxLaplace.from_protocol(protocol, MLP(3))
    assert made.network == Softmax.from_protocol(protocol, MLP(3))
    assert made.precision_grid == (0.5, 2.0) and made.schedule.max_steps == 9


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"structure": "kron"}, "full, diagonal; got 'kron'"),
        ({"link": "bridge"}, "samples, probit; got 'bridge'"),
        ({"samples": 0}, "at least 1 draw"),
        ({"prior_precision": "evidence"}, "marginal_likelihood; got 'evidence'"),
    ],
)
def test_impossible_options_are_refused(options, match):
    with pytest.raises(SpecError, match=match):
        SoftmaxLaplace(NETWORK, **options)


def test_the_network_is_not_tempered_by_itself():
    """Its temperature would not reach the draws; the method's own is laid on their average."""
    tempered = SoftmaxLaplace(replace(NETWORK, temperature=True)).fit(SPLITS, SEEDS)
    plain = SoftmaxLaplace(NETWORK).fit(SPLITS, SEEDS)
    assert tempered.learned(0) == plain.learned(0)
