"""MAP: its objective by the definition, the penalty that validation chooses, and what is said of the choice."""

import numpy as np
import pytest
import torch
from scipy import stats

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.backbones.module import Module
from corners.baselines.map import Map, MapProblem
from corners.data.batch import stack_splits
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.protocols import Protocol
from tests.support.problems import SHORT, assert_close, generators, normal, real, tiny_split

SPLITS = [tiny_split(1), tiny_split(2)]


def test_the_objective_is_the_penalised_likelihood():
    data, _ = stack_splits(SPLITS, scale_targets=True)
    backbone, likelihood = MLP(3), Gaussian()
    params = (
        likelihood.init(data.train.targets)
        | backbone.init(2, generators(1, 2), torch.float64)
        | {"weights": normal(3, 2, 3)}
    )
    problem = MapProblem(backbone, likelihood, data, real(0.3, 4.0), 0.07)
    found, _ = problem.objective(params, 0)
    for k, penalty in enumerate((0.3, 4.0)):
        weights = params["weights"][k].numpy()
        hidden = backbone.features(params, data.train.inputs)[k].numpy()
        scale = float(params["log_noise_var"][k].exp()) ** 0.5
        expected = -stats.norm.logpdf(data.train.targets[k].numpy(), hidden @ weights, scale).sum()
        expected += 0.5 * penalty * weights @ weights + 0.07 * float((params["backbone.weight_0"][k] ** 2).sum())
        assert_close(found[k], expected)


def test_on_fixed_features_it_is_ridge_regression():
    """Identity backbone: the objective is stationary at ``(λσ² I + ΨᵀΨ)⁻¹Ψᵀy``, and above it everywhere else."""
    data, _ = stack_splits(SPLITS, scale_targets=True)
    problem = MapProblem(Identity(), Gaussian(), data, real(2.0, 0.1), 0.0)
    params = Gaussian().init(data.train.targets)
    solutions = []
    for k, penalty in enumerate((2.0, 0.1)):
        features, strength = data.train.inputs[k].numpy(), penalty * float(params["log_noise_var"][k].exp())
        solutions.append(
            np.linalg.solve(strength * np.eye(2) + features.T @ features, features.T @ data.train.targets[k].numpy())
        )
    weights = torch.tensor(np.stack(solutions)).requires_grad_()
    value = problem.objective(params | {"weights": weights}, 0)[0]
    (slope,) = torch.autograd.grad(value.sum(), weights)
    assert_close(slope, np.zeros((2, 2)), abs_=1e-10)
    elsewhere = problem.objective(params | {"weights": weights.detach() + 0.1 * normal(8, 2, 2)}, 0)[0]
    assert bool((elsewhere > value).all())


def test_every_penalty_is_trained_and_validation_chooses():
    grid = (1e-3, 1.0, 1e3)
    together = Map(MLP(3), penalty_grid=grid, schedule=SHORT).fit(SPLITS, [5, 6])
    for k, split in enumerate(SPLITS):
        alone = [Map(MLP(3), penalty_grid=(penalty,), schedule=SHORT).fit([split], [5 + k]) for penalty in grid]
        nll = [-fit.predict(split.validation.inputs).log_prob(split.validation.targets).mean() for fit in alone]
        best = int(np.argmin(nll))
        assert together.learned(k)["penalty"] == grid[best]
        expected = alone[best].predict(split.test.inputs)
        np.testing.assert_allclose(together.predict(split.test.inputs, replicate=k).mean, expected.mean, rtol=1e-7)


def test_a_penalty_at_the_edge_of_its_grid_is_said():
    for grid, at_edge in (((1e-3, 1e3), True), ((0.5,), False)):
        fit = Map(MLP(3), penalty_grid=grid, schedule=SHORT).fit(SPLITS, [5, 6])
        assert all(("at the edge of its grid" in status.sentence) == at_edge for status in fit.statuses)


def test_the_penalties_of_one_seed_start_from_one_network():
    """Otherwise the grid would compare starts, not penalties."""
    data, _ = stack_splits(SPLITS, scale_targets=True)
    tiled = data.select(torch.arange(2).repeat(3))
    params = Map(MLP(3))._init(tiled, [g for _ in range(3) for g in generators(5, 6)])
    for value in params.values():
        assert torch.equal(value[:2], value[2:4]) and torch.equal(value[:2], value[4:])


def test_it_has_no_belief_to_judge():
    fit = Map(MLP(3), schedule=SHORT).fit(SPLITS, [5, 6])
    assert fit.last_layer(0, SPLITS[0]) is None
    assert set(fit.learned(0)) == {"noise_scale", "penalty", "steps"}


def test_a_users_module_is_a_backbone_too():
    net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.LayerNorm(4), torch.nn.Tanh())
    fit = Map(Module(net), penalty_grid=(1.0,), schedule=SHORT).fit(SPLITS, [5, 6])
    assert np.isfinite(fit.predict(SPLITS[0].test.inputs).mean).all()


def test_the_protocol_sets_it_up():
    protocol = Protocol(
        "mine", penalty_grid=(0.5, 2.0), backbone_penalty=0.2, max_steps=9, dtype="float32", scale_targets=False
    )
    made = Map.from_protocol(protocol, MLP(3))
    assert (made.penalty_grid, made.backbone_penalty, made.dtype, made.scale_targets) == (
        (0.5, 2.0),
        0.2,
        "float32",
        False,
    )
    assert made.schedule.max_steps == 9 and made.backbone == MLP(3)


@pytest.mark.parametrize("grid", [(), (-1.0,), (float("nan"), 1.0)])
def test_a_grid_that_is_none_is_refused(grid):
    """Empty, or with penalties that reward large weights (acceptance case 25)."""
    with pytest.raises(SpecError, match="penalty"):
        Map(penalty_grid=grid)
