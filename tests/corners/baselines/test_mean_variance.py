"""Mean-variance networks: objective and gradients by definition, a variance function found again, limits of ``map``."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.baselines.map import Map, MapProblem
from corners.baselines.mean_variance import MeanVariance, MeanVarianceProblem
from corners.data.batch import stack_splits
from corners.data.split import Part, Split
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.optimise import Schedule
from corners.protocols import Protocol
from tests.support.problems import SHORT, assert_close, generators, normal, real, tiny_split

SPLITS = [tiny_split(1), tiny_split(2)]
PENALTIES = (0.3, 4.0)


def problem_and_params(backbone, size, beta):
    data, _ = stack_splits(SPLITS, scale_targets=True)
    params = Gaussian().init(data.train.targets) | backbone.init(2, generators(1, 2), torch.float64)
    params |= {"weights": normal(3, 2, size), "log_var_weights": normal(4, 2, size)}
    return MeanVarianceProblem(backbone, Gaussian(), data, real(*PENALTIES), 0.07, beta=beta), params


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_the_objective_is_the_weighted_likelihood_and_the_score_is_not_weighted(beta):
    backbone = MLP(3)
    problem, params = problem_and_params(backbone, 3, beta)
    found, _ = problem.objective(params, 0)
    validation = problem.validation(params, None)
    for k, penalty in enumerate(PENALTIES):
        mean_head, var_head = params["weights"][k].numpy(), params["log_var_weights"][k].numpy()

        def nll(part, k=k, mean_head=mean_head, var_head=var_head):
            hidden = backbone.features(params, part.inputs)[k].numpy()
            var = np.exp(hidden @ var_head + float(params["log_noise_var"][k]))
            return -stats.norm.logpdf(part.targets[k].numpy(), hidden @ mean_head, np.sqrt(var)), var

        losses, var = nll(problem.data.train)
        heads = mean_head @ mean_head + var_head @ var_head
        hidden_norm = float((params["backbone.weight_0"][k] ** 2).sum())
        assert_close(found[k], (var**beta * losses).sum() + 0.5 * penalty * heads + 0.07 * hidden_norm)
        assert_close(validation[k], nll(problem.data.validation)[0].mean() + float(problem.data.log_scale[k]))


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_gradients_hold_the_weights_constant(beta):
    """``-Σ σ^{2β-2} r ψ + λw`` and ``½ Σ σ^{2β} (1 - r²/σ²) ψ + λv``: at β = 1 the first is squared error's."""
    problem, params = problem_and_params(Identity(), 2, beta)
    heads = [params[name].requires_grad_() for name in ("weights", "log_var_weights")]
    found = torch.autograd.grad(problem.objective(params, 0)[0].sum(), heads)
    for k, penalty in enumerate(PENALTIES):
        psi, y = problem.data.train.inputs[k].numpy(), problem.data.train.targets[k].numpy()
        w, v = (head[k].detach().numpy() for head in heads)
        var = np.exp(psi @ v + float(params["log_noise_var"][k]))
        residual = y - psi @ w
        assert_close(found[0][k], -psi.T @ (var ** (beta - 1.0) * residual) + penalty * w)
        assert_close(found[1][k], 0.5 * psi.T @ (var**beta * (1.0 - residual**2 / var)) + penalty * v)


def test_without_a_variance_head_it_is_map():
    problem, params = problem_and_params(MLP(3), 3, 0.0)
    params["log_var_weights"].zero_()
    plain = MapProblem(problem.backbone, Gaussian(), problem.data, problem.penalties, problem.backbone_penalty)
    assert_close(problem.objective(params, 0)[0], plain.objective(params, 0)[0])
    assert_close(problem.validation(params, None), plain.validation(params, None))
    assert_close(problem.watched(params, None)["noise_scale"], plain.watched(params, None)["noise_scale"])


def test_it_starts_where_map_starts():
    still = replace(SHORT, max_steps=0)
    one, other = (kind(MLP(3), penalty_grid=(1.0,), schedule=still).fit(SPLITS, [5, 6]) for kind in (MeanVariance, Map))
    for k, split in enumerate(SPLITS):
        found, expected = (fit.predict(split.test.inputs, replicate=k) for fit in (one, other))
        assert_close(found.mean, expected.mean)
        assert_close(found.variance, expected.variance)
        assert one.learned(k)["noise_scale"] == pytest.approx(other.learned(k)["noise_scale"])


def wide_split(seed, log_var_slope):
    generator = np.random.default_rng(seed)

    def part(count):
        x = generator.normal(size=(count, 1))
        return Part(x, 10.0 + 2.0 * x[:, 0] + np.exp(0.5 * log_var_slope * x[:, 0]) * generator.normal(size=count))

    return Split(part(3000), part(1000), part(10), "wide", seed=seed)


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_it_finds_the_variance_function(beta):
    """log σ² = x on 3000 points: level and slope have standard error √(2/N) = 0.026 at β = 0, the mean at most 0.03."""
    schedule = Schedule(0.03, 600, 100, 1e-7)
    method = MeanVariance(Identity(), penalty_grid=(1e-6,), backbone_penalty=0.0, schedule=schedule, beta=beta)
    splits = [wide_split(11, 1.0), wide_split(12, -1.0)]
    fit = method.fit(splits, [1, 2])
    for k, slope in enumerate((1.0, -1.0)):
        x = np.array([[-1.0], [0.0], [1.0]])
        predictive = fit.predict(x, replicate=k)
        np.testing.assert_allclose(np.log(predictive.variance), slope * x[:, 0], atol=0.2)
        np.testing.assert_allclose(predictive.mean, 10.0 + 2.0 * x[:, 0], atol=0.15)


def test_learned_noise_is_that_of_the_training_points():
    splits = [wide_split(11, 1.0), wide_split(12, -1.0)]
    fit = MeanVariance(MLP(3), schedule=SHORT).fit(splits, [5, 6])
    for k, split in enumerate(splits):
        own = fit.replicates[k]
        hidden = fit.features(split.train.inputs, replicate=k)
        params = {name: value.numpy() for name, value in own.params.items()}
        var = split.train.targets.var() * np.exp(hidden @ params["log_var_weights"] + params["log_noise_var"])
        learned = fit.learned(k)
        assert learned["noise_scale"] == pytest.approx(np.sqrt(var.mean()))
        assert learned["smallest_noise_scale"] == pytest.approx(np.sqrt(var.min()))
        assert learned["largest_noise_scale"] == pytest.approx(np.sqrt(var.max()))
        assert var.max() > 1.001 * var.min()


def test_predictions_follow_the_unit_of_the_targets():
    """Four times the targets: the same network, four times the mean, sixteen times the variance."""
    method = MeanVariance(MLP(3), schedule=SHORT)

    def scaled(part):
        return Part(part.inputs, 4.0 * part.targets)

    split = SPLITS[0]
    larger = Split(scaled(split.train), scaled(split.validation), scaled(split.test), "larger", seed=1)
    one, four = (method.fit([each], [5]).predict(split.test.inputs) for each in (split, larger))
    assert_close(four.mean, 4.0 * one.mean)
    assert_close(four.variance, 16.0 * one.variance)


def test_collapsed_noise_is_said():
    """A line without noise: every variance goes to the floor, and no lower."""
    x = np.linspace(-1.0, 1.0, 12)[:, None]
    part = Part(x, 3.0 * x[:, 0])
    likelihood = Gaussian(log_noise_var_floor=-2.0)
    schedule = Schedule(0.05, 400, 100, 1e-9)
    options = {"penalty_grid": (1e-6,), "backbone_penalty": 0.0, "schedule": schedule}
    fit = MeanVariance(Identity(), likelihood=likelihood, **options).fit([Split(part, part, part, "line")], [5])
    assert "noise collapsed: the variance is at its floor at 12 of 12 training points" in fit.statuses[0].sentence
    assert_close(fit.predict(x).variance, np.full(12, np.exp(-2.0) * part.targets.var()))
    noisy = MeanVariance(MLP(3), schedule=SHORT).fit(SPLITS, [5, 6])
    assert all("collapsed" not in status.sentence for status in noisy.statuses)


def test_every_penalty_is_trained_and_validation_chooses():
    grid = (1e-3, 1.0, 1e3)
    together = MeanVariance(MLP(3), penalty_grid=grid, schedule=SHORT, beta=0.5).fit(SPLITS, [5, 6])
    for k, split in enumerate(SPLITS):
        alone = [replace_grid(penalty).fit([split], [5 + k]) for penalty in grid]
        nll = [-fit.predict(split.validation.inputs).log_prob(split.validation.targets).mean() for fit in alone]
        best = int(np.argmin(nll))
        assert together.learned(k)["penalty"] == grid[best]
        found, expected = together.predict(split.test.inputs, replicate=k), alone[best].predict(split.test.inputs)
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-7)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-7)


def replace_grid(penalty):
    return MeanVariance(MLP(3), penalty_grid=(penalty,), schedule=SHORT, beta=0.5)


@pytest.mark.parametrize("beta", [-0.1, 1.5, float("nan")])
def test_a_beta_that_is_none_is_refused(beta):
    with pytest.raises(SpecError, match="beta must lie in"):
        MeanVariance(beta=beta)


def test_the_protocol_sets_it_up():
    made = MeanVariance.from_protocol(Protocol("mine", penalty_grid=(0.5, 2.0), max_steps=9, dtype="float32"), MLP(3))
    assert (made.penalty_grid, made.schedule.max_steps, made.dtype, made.beta) == ((0.5, 2.0), 9, "float32", 0.0)
    assert np.isfinite(made.fit(SPLITS, [5, 6]).predict(SPLITS[0].test.inputs).variance).all()


def test_it_learns_its_noise_whatever_the_protocol_takes_for_others():
    made = MeanVariance.from_protocol(Protocol("mine", noise="validation", reduction="mean"), MLP(3))
    assert (made.noise, made.reduction) == ("learned", "mean")
    with pytest.raises(SpecError, match="noise must be 'learned'; got 'validation'"):
        MeanVariance(noise="validation")
