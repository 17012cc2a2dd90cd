"""Many replicates of the package's loss at once: each as the package computes it alone, none in the way of another."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import vbll

from corners.backbones.mlp import MLP
from corners.baselines._vbll_problem import NOISE, OneProduct, unchecked
from corners.baselines.vbll import Vbll
from corners.data.batch import stack_splits
from tests.support.problems import SHORT, assert_close, normal, tiny_split

SPLITS, SEEDS = [tiny_split(1), tiny_split(2)], [5, 6]
TINY = Vbll(MLP(3), schedule=replace(SHORT, max_steps=6))
ROWS = 12


def both(method: Vbll, weights: tuple[float, ...] = (0.03, 0.3)):
    """Two replicates under two weights: four rows, weights first."""
    data, _ = stack_splits(SPLITS, scale_targets=method.scale_targets, dtype=method.dtype)
    return method.set_up(vbll, data, SEEDS, weights)


@pytest.mark.parametrize("parameterisation", ["dense", "diagonal"])
def test_every_row_is_the_packages_own_loss(parameterisation):
    """Its layer, one at a time, without mapping and without another product: values and gradients to rounding."""
    problem, params = both(replace(TINY, parameterisation=parameterisation, backbone_penalty=0.0))
    leaves = {name: value.clone().requires_grad_("noise_mean" not in name) for name, value in params.items()}
    found, validation = problem.objective(leaves, 0)[0], problem.validation(leaves, None)
    found.sum().backward()
    slopes = {name: leaf.grad for name, leaf in leaves.items()}
    for row, weight in enumerate((0.03, 0.03, 0.3, 0.3)):
        layer = vbll.Regression(3, 1, weight, parameterization=parameterisation).double()
        layer.load_state_dict(
            {name.removeprefix("layer."): each[row] for name, each in params.items() if "layer." in name}
        )
        own = {name: each[row : row + 1].clone().requires_grad_() for name, each in params.items()}
        part = problem.data.train
        features = problem.backbone.features(own, part.inputs[row : row + 1])[0]
        expected = ROWS * layer(features).train_loss_fn(part.targets[row][:, None])
        expected.backward()
        assert_close(found[row], expected.detach(), rel=1e-12)
        for name, parameter in layer.named_parameters():
            if parameter.grad is not None:
                assert_close(slopes[f"layer.{name}"][row], parameter.grad, rel=1e-9)
        assert_close(slopes["backbone.weight_0"][row], own["backbone.weight_0"].grad[0], rel=1e-9)
        part = problem.data.validation
        features = problem.backbone.features(own, part.inputs[row : row + 1])[0]
        nll = layer(features).val_loss_fn(part.targets[row][:, None]) + problem.data.log_scale[row]
        assert_close(validation[row], nll.detach(), rel=1e-12)


def test_it_is_the_packages_code_that_computes(monkeypatch):
    """A change of its divergence is a change of our objective: ``N weight`` nats a nat, row by row."""
    problem, params = both(TINY)
    before, _ = problem.objective(params, 0)
    theirs = vbll.layers.regression.gaussian_kl
    monkeypatch.setattr(vbll.layers.regression, "gaussian_kl", lambda belief, scale: theirs(belief, scale) + 1.0)
    after, _ = problem.objective(params, 0)
    assert_close(after - before, ROWS * np.array([0.03, 0.03, 0.3, 0.3]), rel=1e-9)


@pytest.mark.parametrize(
    ("one", "other"),
    [((3, 3), (5, 3, 1)), ((1, 3, 3), (5, 1, 3, 1)), ((2, 3), (4, 5, 3, 1)), ((5, 2, 3), (5, 3, 1)), ((2, 3), (3, 4))],
)
def test_one_product_is_the_product(one, other):
    matrix, vectors = normal(1, *one), normal(2, *other)
    for multiply in (torch.matmul, torch.Tensor.matmul, lambda a, b: a @ b):
        expected = multiply(matrix, vectors)
        with OneProduct():
            assert_close(multiply(matrix, vectors), expected)


def test_checks_of_distributions_are_on_again_whatever_happens():
    def refused() -> bool:
        with pytest.raises(ValueError, match="scale"):
            torch.distributions.Normal(torch.zeros(1), -torch.ones(1))
        return True

    assert refused()
    with pytest.raises(KeyError), unchecked():
        torch.distributions.Normal(torch.zeros(1), -torch.ones(1))
        raise KeyError
    assert refused()


def test_a_row_that_is_no_number_leaves_the_others_alone():
    problem, params = both(TINY)
    expected = problem.objective(params, 0)[0]
    broken = params | {NOISE: params[NOISE].clone()}
    broken[NOISE][1] = torch.nan
    leaves = {name: value.clone().requires_grad_("noise_mean" not in name) for name, value in broken.items()}
    found = problem.objective(leaves, 0)[0]
    found.sum().backward()
    assert found[1].isnan() and torch.equal(found[[0, 2, 3]], expected[[0, 2, 3]])
    weights = leaves["layer.W_mean"].grad
    assert weights is not None and bool(weights[[0, 2, 3]].isfinite().all())


def test_a_row_keeps_its_weight_and_its_data_when_others_are_dropped():
    problem, params = both(TINY)
    index = torch.tensor([1, 2])
    alone, own = problem.select(index), {name: value[index] for name, value in params.items()}
    assert alone.count == 2
    assert_close(alone.objective(own, 0)[0], problem.objective(params, 0)[0][index])
    assert_close(alone.validation(own, None), problem.validation(params, None)[index])


def test_a_mean_is_the_packages_loss_itself():
    sums, means = (both(replace(TINY, reduction=each, backbone_penalty=0.0)) for each in ("sum", "mean"))
    assert_close(sums[0].objective(sums[1], 0)[0], ROWS * means[0].objective(means[1], 0)[0])
    sums, means = (both(replace(TINY, reduction=each, backbone_penalty=0.07)) for each in ("sum", "mean"))
    hidden = 0.07 * sums[1]["backbone.weight_0"].square().sum((-2, -1))
    found = [problem.objective(params, 0)[0] - hidden for problem, params in (sums, means)]
    assert_close(found[0], ROWS * found[1])
