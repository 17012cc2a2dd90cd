"""What a protocol may choose for a cell: mean for sum, fixed precisions, fixed noise, the starts, combined stopping."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from corners.backbones.mlp import MLP
from corners.beliefs import Prior
from corners.comparison.scores import evaluate
from corners.covariances._base import Params
from corners.data.batch import stack_splits
from corners.engine.corner import Corner
from corners.engine.named import named_cell
from corners.engine.problem import CornerProblem
from corners.engine.training import CornerMethod
from corners.errors import SpecError
from corners.predictive.gaussian import GaussianPredictive
from corners.protocols import Protocol, get_protocol
from tests.support.corner_cells import cell, energy_at
from tests.support.problems import SHORT, assert_close, generators, tiny_split

SPLITS = [tiny_split(seed) for seed in (1, 2)]
SEEDS = [5, 6]


def method(name: str = "scroll_dense", prior: Prior | None = None, **options) -> CornerMethod:
    return CornerMethod(name, cell(name, backbone=MLP(3), prior=prior or Prior()), SHORT, **options)


def noise_of(corner: Corner, params: Params) -> torch.Tensor:
    noise_var = corner.likelihood.noise_var(params)
    assert noise_var is not None
    return noise_var


def validation_error(fit: Any, k: int) -> float:
    part = SPLITS[k].validation
    return float(np.mean((part.targets - fit.predict(part.inputs, replicate=k).mean) ** 2))


def same_belief(one: Any, k: int, other: Any, j: int) -> None:
    for name, value in one.replicates[k].params.items():
        assert torch.equal(value, other.replicates[j].params[name]), name


def test_a_mean_is_the_free_energy_a_point_beside_the_whole_penalty():
    data, _ = stack_splits(SPLITS, scale_targets=True)
    corner = cell("scroll_dense", backbone=MLP(3))
    params = corner.init(data.train.inputs, data.train.targets, generators(*SEEDS))
    energy = energy_at(corner, params, corner.backbone.features(params, data.train.inputs), data.train.targets)
    mean = CornerProblem(corner, data, generators(*SEEDS), reduction="mean").objective(params, 0)[0]
    rows = SPLITS[0].train.n
    assert_close(rows * mean, energy.data + energy.prior + energy.hyperprior + rows * energy.penalty)


@pytest.mark.parametrize("name", ["scroll_none", "scroll_dense", "sequential", "shared_closed"])
def test_the_precision_chosen_from_a_grid_is_the_best_of_those_trained_alone(name):
    grid = (0.01, 1.0, 50.0)
    chosen: Any = method(name, precision_grid=grid).fit(SPLITS, SEEDS)
    alone: list[Any] = [method(name, Prior(precision=each, learned=False)).fit(SPLITS, SEEDS) for each in grid]
    for k, split in enumerate(SPLITS):
        validation = [
            -fit.predict(split.validation.inputs, replicate=k).log_prob(split.validation.targets).mean()
            for fit in alone
        ]
        best = int(np.argmin(validation))
        assert chosen.learned(k)["prior_precision"] == pytest.approx(grid[best], rel=1e-12)
        assert f"prior precision {grid[best]:g} chosen from 3 by validation NLL" in chosen.statuses[k].remarks
        at_edge = f"prior precision {grid[best]:g} is at the edge of its grid" in chosen.statuses[k].remarks
        assert at_edge == (best != 1)
        for parameter, value in chosen.replicates[k].params.items():
            assert_close(value, alone[best].replicates[k].params[parameter], rel=1e-9)


def test_noise_fixed_afterwards_leaves_the_belief_and_takes_the_validation_error():
    free, fixed = method().fit(SPLITS, SEEDS), method(fixed_noise="posthoc").fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        one, other = (fit.predict(split.test.inputs, replicate=k) for fit in (free, fixed))
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-14)
        assert free.learned(k)["prior_precision"] == fixed.learned(k)["prior_precision"]
        assert fixed.learned(k)["noise_scale"] ** 2 == pytest.approx(validation_error(free, k), rel=1e-12)
        assert any(said.startswith("noise scale fixed at") for said in fixed.statuses[k].remarks)


def test_noise_refitted_is_held_at_the_hosts_validation_error():
    host = method("scroll_none").fit(SPLITS, SEEDS)
    refit = method(fixed_noise="refit")
    assert refit.host == "map" and method().host is None
    fitted = refit.fit(SPLITS, SEEDS, host=host)
    for k in range(len(SPLITS)):
        assert fitted.learned(k)["noise_scale"] ** 2 == pytest.approx(validation_error(host, k), rel=1e-12)
        scale = fitted.trace.values["noise_scale"][k]
        np.testing.assert_allclose(scale[np.isfinite(scale)], fitted.learned(k)["noise_scale"], rtol=1e-12)
    alone = refit.fit(SPLITS[1:], SEEDS[1:], host=replace(host, seeds=host.seeds[1:], **_only(host, 1)))
    same_belief(fitted, 1, alone, 0)
    twice = refit.fit(SPLITS, [5, 5], host=replace(host, seeds=(5, 5)))
    for k in range(len(SPLITS)):
        assert twice.learned(k)["noise_scale"] ** 2 == pytest.approx(validation_error(host, k), rel=1e-12)
    with pytest.raises(SpecError, match="needs the fit of map"):
        refit.fit(SPLITS, SEEDS)


def _only(fit, k: int) -> dict:
    return {"statuses": fit.statuses[k : k + 1], "replicates": fit.replicates[k : k + 1]}


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("scroll_dense", {"reduction": "average"}, "reduction must be 'sum' or 'mean'"),
        ("scroll_dense", {"fixed_noise": "always"}, "fixed_noise must be one of none, posthoc, refit"),
        ("scroll_dense", {"precision_grid": (1.0, 0.0)}, "precision_grid .* above 0"),
        ("mean_closed_dense", {"precision_grid": (1.0, 2.0)}, "takes no precision_grid; use a cell"),
    ],
)
def test_what_makes_no_sense_is_refused(name, options, said):
    with pytest.raises(SpecError, match=said):
        method(name, **options)


def test_the_calibration_error_of_stopping_is_that_of_the_score():
    data, _ = stack_splits(SPLITS, scale_targets=True)
    corner = cell("scroll_dense", backbone=MLP(3))
    problem = CornerProblem(corner, data, generators(*SEEDS))
    params = corner.init(data.train.inputs, data.train.targets, generators(*SEEDS))
    routed = problem.objective(params, 0)[1]
    features = corner.backbone.features(params, data.validation.inputs)
    marginals = routed.belief.marginals(features)
    total = marginals.variance + noise_of(corner, params)[:, None]
    wanted = [
        evaluate(GaussianPredictive(mean, var), targets, ["calibration_error"])["calibration_error"].mean
        for mean, var, targets in zip(
            *(each.detach().numpy() for each in (marginals.mean, total, data.validation.targets)), strict=True
        )
    ]
    np.testing.assert_allclose(problem.calibration_error(params, routed).numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", ["scroll_none", "scroll_diagonal", "scroll_dense", "scroll_low_rank", "shared_closed"])
def test_a_cell_starts_where_the_protocol_says(name):
    own = Protocol("own", noise_start=0.7, covariance_start=0.3, mean_start_var=2.0, precision_start=5.0)
    corner = named_cell(name, own, MLP(4)).corner
    inputs, targets = torch.zeros(1, 3, 2).double(), torch.arange(3.0).double()[None]
    params = corner.init(inputs, targets, generators(0))
    routed = corner.route(params, corner.backbone.features(params, inputs), targets)
    assert float(noise_of(corner, params)) == pytest.approx(0.49)
    assert float(routed.prior_precision) == pytest.approx(5.0)
    if name in ("scroll_diagonal", "scroll_dense"):
        expected = (0.09 + corner.jitter) * torch.eye(4).double()[None]
        assert_close(routed.belief.covariance.matrix(), expected)
    if name.startswith("scroll"):
        draw = named_cell(name, replace(own, mean_start_var=8.0), MLP(4)).corner.init(inputs, targets, generators(0))
        assert_close(draw["mean"], 2.0 * params["mean"])


def test_under_paper_v1_a_cell_has_neither_bounds_nor_hyperpriors_on_its_precision():
    chosen = named_cell("scroll_dense", get_protocol("paper_v1"), MLP(50, bias=False))
    corner = chosen.corner
    assert corner.prior.hyperprior is None and corner.likelihood.penalty({"log_noise_var": torch.zeros(1)}) == 0.0
    low, high = corner.prior.bounds()["log_prior_precision"]
    assert low < np.log(1e-15) and high > np.log(1.9e7)
    assert (chosen.dtype, chosen.scale_targets, chosen.schedule.learning_rate) == ("float32", False, 0.03)
