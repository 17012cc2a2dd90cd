"""MAP: its objective by the definition, the penalty that validation chooses, and what is said of the choice."""

import numpy as np
import pytest
import torch
from scipy import stats

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.backbones.module import Module
from corners.baselines.map import Map, MapProblem
from corners.data.batch import PartBatch, SplitBatch, stack_splits
from corners.data.split import Part, Split
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.optimise import Schedule
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


def test_a_mean_divides_the_data_term_and_leaves_the_penalties():
    data, _ = stack_splits(SPLITS, scale_targets=True)
    params = Gaussian().init(data.train.targets) | MLP(3).init(2, generators(1, 2), torch.float64)
    params |= {"weights": normal(3, 2, 3)}
    args = (MLP(3), Gaussian(), data)
    penalised, bare = (
        [MapProblem(*args, penalties, own, reduction=each).objective(params, 0)[0] for each in ("sum", "mean")]
        for penalties, own in ((real(0.3, 4.0), 0.07), (real(0.0, 0.0), 0.0))
    )
    assert_close(bare[1], bare[0] / data.train.targets.shape[-1])
    assert_close(penalised[1] - bare[1], penalised[0] - bare[0])


# Noise from validation


def test_with_noise_from_validation_it_minimises_half_the_squared_residuals():
    """Value up to a constant and gradients are those of ``½ Σ r² + ½ λ ‖w‖² + λ_bb ‖W‖²``."""
    data, _ = stack_splits(SPLITS, scale_targets=False)
    backbone = MLP(3)
    method = Map(backbone, noise="validation", scale_targets=False)
    params = method._init(Gaussian(), data, generators(1, 2))
    problem = MapProblem(backbone, Gaussian(), data, real(0.3, 4.0), 0.07, noise="validation")
    leaves = {name: value.clone().requires_grad_() for name, value in params.items() if name != "log_noise_var"}
    own = params | leaves
    value, _ = problem.objective(own, 0)
    residuals = data.train.targets - (backbone.features(own, data.train.inputs) @ own["weights"][..., None])[..., 0]
    expected = 0.5 * residuals.square().sum(-1) + 0.5 * real(0.3, 4.0) * own["weights"].square().sum(-1)
    expected = expected + 0.07 * own["backbone.weight_0"].square().sum((-2, -1))
    assert_close(value - expected, np.full(2, 12 * 0.5 * np.log(2.0 * np.pi)))
    names = ["weights", "backbone.weight_0", "backbone.bias_0"]
    found, slopes = (torch.autograd.grad(each.sum(), [leaves[n] for n in names]) for each in (value, expected))
    for one, other in zip(found, slopes, strict=True):
        assert_close(one, other)


@pytest.mark.parametrize(("dtype", "scale_targets"), [("float64", True), ("float64", False), ("float32", False)])
def test_the_noise_is_the_validation_error(dtype, scale_targets):
    """By hand through ``predict``; and the score that chose the best step is that of these predictions."""
    method = Map(
        MLP(3), penalty_grid=(1e-3, 0.1), schedule=SHORT, noise="validation", dtype=dtype, scale_targets=scale_targets
    )
    fit = method.fit(SPLITS, [5, 6])
    rel = 1e-10 if dtype == "float64" else 1e-5
    for k, split in enumerate(SPLITS):
        part = split.validation
        predictive = fit.predict(part.inputs, replicate=k)
        mean_square = np.mean((part.targets - predictive.mean) ** 2)
        assert fit.learned(k)["noise_scale"] == pytest.approx(np.sqrt(mean_square), rel=rel)
        np.testing.assert_allclose(predictive.variance, mean_square, rtol=rel)
        nll = 0.5 * (np.log(2.0 * np.pi * mean_square) + 1.0)
        assert -predictive.log_prob(part.targets).mean() == pytest.approx(nll, rel=rel)
        traced = np.nanmin(fit.trace.values["validation_nll"][k])
        assert traced == pytest.approx(nll, rel=rel)
        at = np.nanargmin(fit.trace.values["validation_nll"][k])
        assert fit.trace.values["noise_scale"][k, at] == pytest.approx(np.sqrt(mean_square), rel=rel)


def test_nothing_of_training_depends_on_the_validation_noise():
    """Targets of the validation part twice as far: another noise, the same network at the same step."""
    few = Schedule(0.02, 5, 10, 1e-6)
    method = Map(MLP(3), penalty_grid=(0.1,), schedule=few, noise="validation")
    problem_params = []
    for factor in (1.0, 2.0):
        data, _ = stack_splits(SPLITS, scale_targets=True)
        part = PartBatch(data.validation.inputs, factor * data.validation.targets)
        moved = SplitBatch(data.train, part, data.test, data.log_scale)
        problem = method._problem(Gaussian(), moved, [5, 6], 3)
        params = method._init(Gaussian(), moved, generators(5, 6))
        problem_params.append((problem.objective(params, 0)[0], problem.scored(params)["log_noise_var"]))
    (one, noise), (other, larger) = problem_params
    assert torch.equal(one, other) and bool((larger > noise + 0.5).all())


def test_unit_noise_is_not_clamped_by_the_scale_of_small_targets():
    """Targets of variance near 1e-5: the bounds of a learned noise would move the 1 that training holds."""
    small = [
        Split(*(Part(p.inputs, 1e-3 * p.targets) for p in (s.train, s.validation, s.test)), "small") for s in SPLITS
    ]
    fit = Map(MLP(3), penalty_grid=(0.1,), schedule=SHORT, noise="validation", scale_targets=False).fit(small, [5, 6])
    for k, split in enumerate(small):
        least = 12 * 0.5 * np.log(2.0 * np.pi)  # no residual, no penalty, noise 1
        assert np.nanmin(fit.trace.values["objective"][k]) > least
        residuals = split.validation.targets - fit.predict(split.validation.inputs, replicate=k).mean
        assert fit.learned(k)["noise_scale"] == pytest.approx(np.sqrt(np.mean(residuals**2)), rel=1e-10)


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
    params = Map(MLP(3))._init(Gaussian(), tiled, [g for _ in range(3) for g in generators(5, 6)])
    for value in params.values():
        assert torch.equal(value[:2], value[2:4]) and torch.equal(value[:2], value[4:])


def test_it_has_no_belief_to_judge():
    fit = Map(MLP(3), schedule=SHORT).fit(SPLITS, [5, 6])
    assert fit.last_layer(0, SPLITS[0]) is None
    assert set(fit.learned(0)) == {"noise_scale", "penalty", "steps"}


def test_a_grid_that_cannot_be_told_apart_is_said():
    """Acceptance case 25: penalties too small to matter give one NLL."""
    fit = Map(MLP(3), penalty_grid=(1e-9, 1e-8, 1e-7), schedule=SHORT).fit(SPLITS, [5, 6])
    assert all("validation NLL hardly depends on penalty" in status.sentence for status in fit.statuses)
    told = Map(MLP(3), penalty_grid=(1e-3, 1e3), schedule=SHORT).fit(SPLITS, [5, 6])
    assert not any("hardly depends" in status.sentence for status in told.statuses)


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
    assert (made.noise, made.reduction) == ("learned", "sum")
    paper = Map.from_protocol(Protocol("mine", noise="validation", reduction="mean"), MLP(3))
    assert (paper.noise, paper.reduction) == ("validation", "mean")


@pytest.mark.parametrize("grid", [(), (-1.0,), (float("nan"), 1.0)])
def test_a_grid_that_is_none_is_refused(grid):
    """Empty, or with penalties that reward large weights (acceptance case 25)."""
    with pytest.raises(SpecError, match="penalty"):
        Map(penalty_grid=grid)
