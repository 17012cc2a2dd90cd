"""vbll_discriminative: the package's own layer called directly, the bound by its definition, what repeats."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
import vbll
from scipy import special

from corners.backbones.mlp import MLP
from corners.baselines._vbll_problem import NOISE, OneProduct, quasi_normals
from corners.baselines.vbll_discriminative import VbllDiscriminative
from corners.data.batch import stack_splits
from corners.errors import SpecError
from corners.protocols import Protocol
from tests.support.problems import SHORT, assert_close, normal
from tests.support.task_splits import tiny_classes

SPLITS, SEEDS = [tiny_classes(1), tiny_classes(2)], [5, 6]
TINY = VbllDiscriminative(MLP(3), schedule=replace(SHORT, max_steps=6))
ROWS, WEIGHTS = 12, (0.03, 0.3)


def both(method: VbllDiscriminative):
    """Two replicates under two weights: four rows, weights first."""
    data, _ = stack_splits(SPLITS, scale_targets=False, dtype=method.dtype, codes=True)
    return method.set_up(vbll, data, SEEDS, WEIGHTS, 3)


@pytest.mark.parametrize("parameterisation", ["dense", "diagonal"])
def test_every_row_is_the_packages_own_loss(parameterisation):
    """Its layer, one at a time, without mapping and without another product: values and gradients to 1e-10."""
    problem, params = both(replace(TINY, parameterisation=parameterisation, backbone_penalty=0.0))
    leaves = {name: value.clone().requires_grad_("noise_mean" not in name) for name, value in params.items()}
    found = problem.objective(leaves, 0)[0]
    found.sum().backward()
    for row, weight in enumerate((0.03, 0.03, 0.3, 0.3)):
        layer = vbll.DiscClassification(3, 3, weight, parameterization=parameterisation).double()
        layer.load_state_dict(
            {name.removeprefix("layer."): each[row] for name, each in params.items() if "layer." in name}
        )
        own = {name: each[row : row + 1].clone().requires_grad_() for name, each in params.items()}
        part = problem.data.train
        features = problem.backbone.features(own, part.inputs[row : row + 1])[0]
        expected = ROWS * layer(features).train_loss_fn(part.targets[row].long())
        expected.backward()
        assert_close(found[row].detach(), expected.detach(), rel=1e-10)
        for name, parameter in layer.named_parameters():
            if parameter.grad is not None:
                assert_close(leaves[f"layer.{name}"].grad[row], parameter.grad, rel=1e-9)
        assert_close(leaves["backbone.weight_0"].grad[row], own["backbone.weight_0"].grad[0], rel=1e-9)


def test_the_objective_is_the_bound_by_its_definition():
    """Jensen's bound ``m_y - log Σ exp(m + v/2)``, KL to ``N(0, 2I/H)``, Wishart of scale 1 and dof 1, no constants."""
    problem, params = both(replace(TINY, backbone_penalty=0.07))
    for row, weight in enumerate((0.03, 0.03, 0.3, 0.3)):
        mean = params["layer.W_mean"][row].numpy()
        roots = np.tril(params["layer.W_offdiag"][row].numpy(), -1)
        roots[:, range(3), range(3)] = params["layer.W_logdiag"][row].exp().numpy()
        covariance = roots @ roots.transpose(0, 2, 1)
        features = problem.backbone.features(params, problem.data.train.inputs)[row].numpy()
        noise = params[NOISE][row].exp().numpy()
        variance = np.einsum("nh,khl,nl->nk", features, covariance, features) + noise**2
        latent = features @ mean.T
        labels = problem.data.train.targets[row].numpy().astype(int)
        bound = (latent[np.arange(ROWS), labels] - special.logsumexp(latent + 0.5 * variance, 1)).mean()
        scale = 2.0 / 3.0
        kl = 0.5 * (
            (mean**2).sum() / scale
            + sum(np.trace(c) / scale + 3 * np.log(scale) - np.linalg.slogdet(c)[1] for c in covariance)
        )
        dof = (1.0 + 3.0 + 1.0) / 2.0
        wishart = -2.0 * dof * np.log(noise).sum() - 0.5 * (1.0 / noise**2).sum()
        expected = -ROWS * (bound + weight * (wishart - kl))
        expected += 0.07 * float(params["backbone.weight_0"][row].square().sum())
        assert_close(problem.objective(params, 0)[0][row], expected, rel=1e-10)


def test_validation_is_the_predictives_own_score():
    fit = replace(TINY, start="as_published", regularisation_weight=WEIGHTS).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        part = split.validation
        nll = -fit.predict(part.inputs, replicate=k).log_prob(part.targets).mean()
        assert np.nanmin(fit.trace.values["validation_nll"][k]) == pytest.approx(nll, rel=1e-9)


def test_many_quasi_random_draws_agree_with_the_packages_predictive():
    """Its own average of 20 000 random draws, to four standard errors."""
    method = replace(TINY, samples=4096)
    data, standardisers = stack_splits(SPLITS, scale_targets=False, codes=True)
    problem, params = method.set_up(vbll, data, SEEDS, (0.1,), 3)
    head = method._head(problem, {name: value[0] for name, value in params.items()}, standardisers[0], {})
    features = method.backbone.features(params, data.test.inputs)[0]
    found = torch.tensor(special.logsumexp(head.log_draws(features).numpy(), axis=0)).exp() / 4096
    torch.manual_seed(3)
    layer = problem.loss.layer
    drawn = layer.logit_predictive(features).rsample(torch.Size([20_000])).softmax(-1)
    assert bool(((found - drawn.mean(0)).abs() < 4.0 * drawn.std(0) / 20_000**0.5 + 1e-5).all())


def test_quasi_normals_are_standard_normal_and_always_the_same():
    points = quasi_normals(1024, 3)
    assert torch.equal(points, quasi_normals(1024, 3)) and points.shape == (1024, 3)
    assert float(points.mean(0).abs().max()) < 0.01 and float((points.T.cov() - torch.eye(3)).abs().max()) < 0.02


def test_a_few_matrices_times_many_vectors_is_the_product():
    matrices, vectors = normal(1, 3, 4, 5), normal(2, 7, 1, 5, 1)
    expected = matrices @ vectors
    with OneProduct():
        assert_close(matrices @ vectors, expected)


def test_the_starts_are_kept_apart():
    data, _ = stack_splits(SPLITS, scale_targets=False, codes=True)
    fair, published = (
        replace(TINY, start=start).set_up(vbll, data, SEEDS, (0.1,), 3)[1][NOISE] for start in ("fair", "as_published")
    )
    assert bool((fair == -1.0).all()) and not bool((published == -1.0).any())
    fit = replace(TINY, start="as_published", regularisation_weight=(0.01, 0.1, 1.0)).fit(SPLITS, SEEDS)
    assert "as published with regularisation weight" in fit.statuses[0].sentence
    assert "from the fair start with regularisation weight 1/N" in TINY.fit(SPLITS, SEEDS).statuses[0].sentence


def test_the_global_generator_is_left_alone():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    TINY.fit(SPLITS, SEEDS)
    assert torch.equal(before, torch.get_rng_state())


def test_a_pickled_fit_predicts_the_same_bits():
    fit = TINY.fit(SPLITS[:1], SEEDS[:1])
    one, other = (each.predict(SPLITS[0].test.inputs) for each in (fit, pickle.loads(pickle.dumps(fit))))
    np.testing.assert_array_equal(one.probabilities, other.probabilities)
    assert fit.last_layer(0, SPLITS[0]) is None
    assert set(fit.learned(0)) == {"logit_noise_scale", "regularisation_weight", "steps"}


def test_the_protocol_sets_it_up():
    protocol = Protocol("mine", vbll_start="as_published", vbll_weights=(0.01, 1.0), reduction="mean", max_steps=9)
    made = VbllDiscriminative.from_protocol(protocol, MLP(3))
    assert (made.start, made.weights(12), made.reduction) == ("as_published", (0.01, 1.0), "mean")
    assert made.schedule.max_steps == 9 and made.tasks == ("classification",)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"start": "mine"}, "as_published, fair"),
        ({"regularisation_weight": 0.1}, "1/N"),
        ({"samples": 0}, "at least 1"),
    ],
)
def test_impossible_options_are_refused(options, match):
    with pytest.raises(SpecError, match=match):
        VbllDiscriminative(**options)
