"""MC dropout: the objective by its masks and in expectation, the moments of its passes, rate 0 as ``map``."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.baselines._dropout import PREDICTION, TRAINING, DropoutProblem, uniforms
from corners.baselines.map import Map
from corners.baselines.mc_dropout import McDropout
from corners.data.batch import stack_splits
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.protocols import Protocol
from tests.support.problems import SHORT, assert_close, generators, normal, real, tiny_split

SPLITS, SEEDS = [tiny_split(1), tiny_split(2)], [5, 6]
RATES = (0.3, 0.6)


def problem_and_params(backbone, size, seeds=(5, 6), passes=7):
    data, _ = stack_splits(SPLITS, scale_targets=True)
    params = Gaussian().init(data.train.targets) | backbone.init(2, generators(1, 2), torch.float64)
    draws = torch.stack([uniforms(passes, size, seed, PREDICTION) for seed in seeds])
    problem = DropoutProblem(
        backbone, Gaussian(), data, real(0.5, 2.0), 0.07, rates=real(*RATES), seeds=seeds, pass_draws=draws
    )
    return problem, params | {"weights": normal(3, 2, size)}


def test_the_objective_is_the_likelihood_of_what_the_masks_leave():
    backbone = MLP(3)
    problem, params = problem_and_params(backbone, 3)
    found, _ = problem.objective(params, 4)
    for k, (rate, penalty) in enumerate(zip(RATES, (0.5, 2.0), strict=True)):
        hidden = backbone.features(params, problem.data.train.inputs)[k].numpy()
        weights, scale = params["weights"][k].numpy(), float(params["log_noise_var"][k].exp()) ** 0.5
        draws = uniforms(len(hidden), 3, SEEDS[k], TRAINING, 4).numpy()
        expected = 0.5 * penalty * weights @ weights + 0.07 * float((params["backbone.weight_0"][k] ** 2).sum())
        for n, target in enumerate(problem.data.train.targets[k].numpy()):
            latent = sum(hidden[n, h] * weights[h] / (1 - rate) for h in range(3) if draws[n, h] >= rate)
            expected -= stats.norm.logpdf(target, latent, scale)
        assert_close(found[k], expected)


def test_in_expectation_dropout_is_a_ridge_penalty_scaled_by_the_features():
    """``E Σ r²/2σ² = Σ (r² + rate/(1 - rate) Σ_h w_h² ψ_nh²)/2σ²`` (Wager et al. 2013), within five standard errors."""
    problem, params = problem_and_params(Identity(), 2)
    found = torch.stack([problem.losses(params, step).sum(-1) for step in range(1500)])
    for k, rate in enumerate(RATES):
        psi, y = problem.data.train.inputs[k].numpy(), problem.data.train.targets[k].numpy()
        weights, noise_var = params["weights"][k].numpy(), float(params["log_noise_var"][k].exp())
        squares = ((y - psi @ weights) ** 2).sum() + rate / (1 - rate) * (psi**2 @ weights**2).sum()
        expected = 0.5 * (squares / noise_var + len(y) * np.log(2 * np.pi * noise_var))
        values = found[:, k].numpy()
        assert abs(values.mean() - expected) < 5.0 * values.std() / np.sqrt(len(values))


def test_the_score_is_of_the_mixture_over_passes():
    backbone = MLP(3)
    problem, params = problem_and_params(backbone, 3)
    found = problem.validation(params, None)
    for k, rate in enumerate(RATES):
        hidden = backbone.features(params, problem.data.validation.inputs)[k].numpy()
        scale = float(params["log_noise_var"][k].exp()) ** 0.5
        masks = problem.pass_draws[k].numpy() >= rate
        latents = hidden @ (masks * params["weights"][k].numpy()).T / (1 - rate)
        densities = stats.norm.pdf(problem.data.validation.targets[k].numpy()[:, None], latents, scale)
        expected = -np.log(np.mean(densities, axis=1)).mean() + float(problem.data.log_scale[k])
        assert_close(found[k], expected)


def test_masks_differ_between_steps_and_seeds_but_not_between_candidates():
    problem, _ = problem_and_params(Identity(), 2, seeds=(5, 5))
    one, two = problem._step_draws(12, 2, 0), problem._step_draws(12, 2, 1)
    assert torch.equal(one[0], one[1]) and not torch.equal(one[0], two[0])
    assert not torch.equal(uniforms(12, 2, 5, TRAINING, 0), uniforms(12, 2, 6, TRAINING, 0))
    assert not torch.equal(uniforms(12, 2, 5, TRAINING), uniforms(12, 2, 5, PREDICTION))


def test_a_replicate_keeps_its_masks_when_others_are_dropped():
    problem, params = problem_and_params(MLP(3), 3)
    index = torch.tensor([1])
    alone, own = problem.select(index), {name: value[index] for name, value in params.items()}
    assert_close(alone.objective(own, 3)[0], problem.objective(params, 3)[0][index])
    assert_close(alone.validation(own, None), problem.validation(params, None)[index])


def test_rate_zero_is_map():
    grid = (1e-3, 1.0, 1e3)
    fit = McDropout(MLP(3), penalty_grid=grid, schedule=SHORT, rate_grid=(0.0,)).fit(SPLITS, SEEDS)
    plain = Map(MLP(3), penalty_grid=grid, schedule=SHORT).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        found, expected = (each.predict(split.test.inputs, replicate=k) for each in (fit, plain))
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-7)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-7)
        np.testing.assert_allclose(found.log_prob(split.test.targets), expected.log_prob(split.test.targets), rtol=1e-6)
        assert fit.learned(k)["penalty"] == plain.learned(k)["penalty"]


def test_noise_from_validation_is_of_the_mean_over_the_passes():
    method = McDropout(MLP(3), penalty_grid=(1e-3, 1.0), schedule=SHORT, rate_grid=(0.3,), passes=9, noise="validation")
    fit = method.fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        part = split.validation
        mixture = fit.predict(part.inputs, replicate=k)
        expected = np.mean((part.targets - mixture.means.mean(0)) ** 2)
        np.testing.assert_allclose(mixture.variances, expected, rtol=1e-10)
        assert fit.learned(k)["noise_scale"] == pytest.approx(np.sqrt(expected), rel=1e-10)
        each = stats.norm.pdf(part.targets, mixture.means, np.sqrt(expected))
        traced = np.nanmin(fit.trace.values["validation_nll"][k])
        assert traced == pytest.approx(-np.log(each.mean(0)).mean(), rel=1e-9)


def test_rate_zero_with_noise_from_validation_is_map_with_it():
    options = {"penalty_grid": (0.1,), "schedule": SHORT, "noise": "validation", "reduction": "mean"}
    fit = McDropout(MLP(3), rate_grid=(0.0,), **options).fit(SPLITS, SEEDS)
    plain = Map(MLP(3), **options).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        found, expected = (each.predict(split.test.inputs, replicate=k) for each in (fit, plain))
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-7)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-7)


def test_one_pass_has_one_nll():
    fit = McDropout(MLP(3), penalty_grid=(0.1,), schedule=SHORT, passes=1).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        mixture, targets = fit.predict(split.test.inputs, replicate=k), split.test.targets
        np.testing.assert_allclose(mixture.log_prob(targets), mixture.moment_matched.log_prob(targets), rtol=1e-14)


def test_the_moments_of_many_passes():
    """Mean ``wᵀψ``, variance ``σ² + rate/(1 - rate) Σ_h w_h² ψ_h²``, five standard errors of 20000 passes."""
    rate, passes = 0.3, 20_000
    method = McDropout(MLP(3), penalty_grid=(0.1,), schedule=SHORT, rate_grid=(rate,), passes=50)
    fit = method.fit(SPLITS, SEEDS)
    many = replace(fit, passes=passes)
    for k, split in enumerate(SPLITS):
        inputs, scale = split.test.inputs, split.train.targets.std()
        weights = fit.replicates[k].params["weights"].numpy()
        parts = scale * weights * fit.features(inputs, replicate=k)
        spread = rate / (1 - rate) * (parts**2).sum(1)
        predictive = many.predict(inputs, replicate=k)
        mean = split.train.targets.mean() + parts.sum(1)
        assert (np.abs(predictive.mean - mean) < 5.0 * np.sqrt(spread / passes)).all()
        deviations = (predictive.means - mean) ** 2
        error = deviations.std(0) / np.sqrt(passes)
        noise_var = fit.learned(k)["noise_scale"] ** 2
        assert (np.abs(predictive.variance - noise_var - spread) < 5.0 * error + 1e-12).all()
        assert (spread > 20.0 * error).all()


def test_a_points_predictive_does_not_depend_on_the_points_beside_it():
    fit = McDropout(MLP(3), penalty_grid=(0.1,), schedule=SHORT, rate_grid=(0.4,)).fit(SPLITS, SEEDS)
    inputs = SPLITS[0].test.inputs
    whole, part = fit.predict(inputs), fit.predict(inputs[2:])
    assert_close(part.means, whole.means[:, 2:])
    assert len(np.unique(whole.means[:, 0].round(9))) > 4


def test_penalty_and_rate_are_chosen_together_by_validation():
    penalties, rates = (1e-3, 10.0), (0.0, 0.2, 0.5)
    settings = {"schedule": SHORT, "passes": 9}
    together = McDropout(MLP(3), penalty_grid=penalties, rate_grid=rates, **settings).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        alone = {
            (penalty, rate): McDropout(MLP(3), penalty_grid=(penalty,), rate_grid=(rate,), **settings).fit(
                [split], [SEEDS[k]]
            )
            for penalty in penalties
            for rate in rates
        }
        part = split.validation
        nll = {pair: -fit.predict(part.inputs).log_prob(part.targets).mean() for pair, fit in alone.items()}
        best = min(nll, key=nll.__getitem__)
        learned = together.learned(k)
        assert (learned["penalty"], learned["rate"]) == best
        assert learned["validation_nll"] == pytest.approx(nll[best], rel=1e-7)
        moments = together.moments(part.inputs, replicate=k)
        expected = -stats.norm.logpdf(part.targets, moments.mean, np.sqrt(moments.variance)).mean()
        assert learned["moment_matched_validation_nll"] == pytest.approx(expected)
        said = together.statuses[k].sentence
        assert ("rate" in said) == (best[1] != 0.2) and "penalty" in said


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_score_of_training_is_that_of_the_fit(dtype):
    """The best validation NLL on the trace is what the predictions give, to the precision trained in."""
    method = McDropout(MLP(3), penalty_grid=(0.1,), schedule=SHORT, dtype=dtype, rate_grid=(0.3,))
    fit = method.fit(SPLITS, SEEDS)
    for k in range(2):
        traced = np.nanmin(fit.trace.values["validation_nll"][k])
        assert fit.learned(k)["validation_nll"] == pytest.approx(traced, rel=1e-9 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("settings", [{"rate_grid": ()}, {"rate_grid": (1.0,)}, {"rate_grid": (-0.1,)}, {"passes": 0}])
def test_what_is_no_dropout_is_refused(settings):
    with pytest.raises(SpecError, match=r"rate_grid must hold|at least 1 pass"):
        McDropout(**settings)


def test_the_protocol_sets_it_up():
    made = McDropout.from_protocol(Protocol("mine", penalty_grid=(0.5, 2.0), max_steps=9, dtype="float32"), MLP(3))
    assert (made.penalty_grid, made.schedule.max_steps, made.dtype) == ((0.5, 2.0), 9, "float32")
    assert (made.rate_grid, made.passes) == ((0.1,), 50)
