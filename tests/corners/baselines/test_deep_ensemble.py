"""Deep ensembles: networks of ``map`` mixed, one penalty for all by the mixture's NLL, a member's failure said."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy import special, stats

from corners.backbones.mlp import MLP
from corners.baselines._network_fit import derived_seed
from corners.baselines._networks import BEST_TO_WORST
from corners.baselines.deep_ensemble import DeepEnsemble
from corners.baselines.map import Map
from corners.data.batch import stack_splits
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.method import FitStatus, Trace
from corners.optimise import Outcome
from corners.protocols import Protocol
from tests.support.problems import SHORT, assert_close, generators, normal, tiny_split

SPLITS, SEEDS = [tiny_split(1), tiny_split(2)], [5, 6]
GRID = (1e-3, 1.0, 1e3)


def ensemble(members=3, grid=GRID):
    return DeepEnsemble(MLP(3), penalty_grid=grid, schedule=SHORT, members=members)


@pytest.fixture(scope="module")
def fit():
    return ensemble().fit(SPLITS, SEEDS)


def separate(split, seed, penalty, members=3):
    """The members as ``map`` trains them one at a time."""
    seeds = [seed, *(derived_seed(seed, member) for member in range(1, members))]
    return [Map(MLP(3), penalty_grid=(penalty,), schedule=SHORT).fit([split], [each]) for each in seeds]


def mixture_log_prob(fits, part):
    predictives = [each.predict(part.inputs) for each in fits]
    terms = [stats.norm.logpdf(part.targets, each.mean, np.sqrt(each.variance)) for each in predictives]
    return special.logsumexp(terms, axis=0) - np.log(len(fits))


def test_one_member_is_map():
    one, plain = ensemble(1).fit(SPLITS, SEEDS), Map(MLP(3), penalty_grid=GRID, schedule=SHORT).fit(SPLITS, SEEDS)
    assert one.statuses == plain.statuses
    for k, split in enumerate(SPLITS):
        found, expected = (each.predict(split.test.inputs, replicate=k) for each in (one, plain))
        assert_close(found.mean, expected.mean)
        assert_close(found.variance, expected.variance)
        assert_close(found.log_prob(split.test.targets), expected.log_prob(split.test.targets))
        assert plain.learned(k) == pytest.approx({name: one.learned(k)[name] for name in plain.learned(k)})
    for name, rows in plain.trace.values.items():
        np.testing.assert_array_equal(one.trace.values[name], rows)


def test_it_is_the_mixture_of_networks_trained_apart_under_the_best_penalty(fit):
    for k, (split, seed) in enumerate(zip(SPLITS, SEEDS, strict=True)):
        apart = [separate(split, seed, penalty) for penalty in GRID]
        nll = [-mixture_log_prob(fits, split.validation).mean() for fits in apart]
        best = int(np.argmin(nll))
        assert fit.learned(k)["penalty"] == GRID[best]
        assert fit.learned(k)["validation_nll"] == pytest.approx(nll[best], rel=1e-7)
        predictive = fit.predict(split.test.inputs, replicate=k)
        expected = [each.predict(split.test.inputs) for each in apart[best]]
        np.testing.assert_allclose(predictive.means, [each.mean for each in expected], rtol=1e-7)
        np.testing.assert_allclose(predictive.variances, [each.variance for each in expected], rtol=1e-7)
        log_prob = mixture_log_prob(apart[best], split.test)
        np.testing.assert_allclose(predictive.log_prob(split.test.targets), log_prob, rtol=1e-6)


def test_the_penalty_is_scored_by_the_mixture_not_by_its_members():
    """Log of the mean density, members far apart; rows run over penalties, members, replicates."""
    method, penalties, members = ensemble(2, (0.5, 2.0)), 2, 2
    data, _ = stack_splits(SPLITS, scale_targets=True)
    tiled = data.select(torch.arange(2).repeat(4))
    params = method._init(Gaussian(), tiled, generators(*range(8))) | {"weights": 2.0 * normal(3, 8, 3)}
    outcome = Outcome(params, [0] * 8, [0.0] * 8, [FitStatus("converged")] * 8, Trace(np.zeros(0)), False)
    found = method._scores(method._problem(Gaussian(), tiled, SEEDS * 4, 3), outcome, 2)
    hidden, targets = MLP(3).features(params, tiled.validation.inputs).numpy(), tiled.validation.targets.numpy()
    scale = np.exp(0.5 * params["log_noise_var"].numpy())
    for c in range(penalties):
        for k in range(2):
            rows = [(c * members + m) * 2 + k for m in range(members)]
            latents = [hidden[row] @ params["weights"][row].numpy() for row in rows]
            density = np.mean(
                [stats.norm.pdf(targets[k], f, scale[row]) for f, row in zip(latents, rows, strict=True)], 0
            )
            assert found[c, k] == pytest.approx(-np.log(density).mean())


def test_members_differ(fit):
    means = fit.predict(SPLITS[0].test.inputs).means
    assert np.abs(np.diff(means, axis=0)).max(axis=1).min() > 1e-3


def test_moments_and_both_nlls(fit):
    """The moment-matched Gaussian by the law of total variance; both NLLs are of the validation part."""
    for k, split in enumerate(SPLITS):
        part = split.validation
        mixture, moments = (each(part.inputs, replicate=k) for each in (fit.predict, fit.moments))
        variance = (mixture.variances + mixture.means**2).mean(0) - mixture.means.mean(0) ** 2
        assert_close(moments.mean, mixture.means.mean(0))
        assert_close(moments.variance, variance, rel=1e-8)
        expected = -stats.norm.logpdf(part.targets, moments.mean, np.sqrt(variance)).mean()
        assert fit.learned(k)["moment_matched_validation_nll"] == pytest.approx(expected, rel=1e-8)


def test_learned_noise_is_the_mean_variance_of_the_members(fit):
    for k, split in enumerate(SPLITS):
        noise_var = fit.predict(split.test.inputs, replicate=k).variances[:, 0]
        assert fit.learned(k)["noise_scale"] == pytest.approx(np.sqrt(noise_var.mean()))


def test_statuses_say_that_the_worst_member_counts(fit):
    for k, (split, seed) in enumerate(zip(SPLITS, SEEDS, strict=True)):
        apart = [each.statuses[0] for each in separate(split, seed, fit.learned(k)["penalty"])]
        worst = max((status.code for status in apart), key=BEST_TO_WORST.index)
        details = {f"the worst of 3 members: {status.detail}" for status in apart if status.code == worst}
        assert fit.statuses[k].code == worst and fit.statuses[k].detail in details


def test_the_trace_is_a_mean_of_members_until_the_first_stops():
    penalty = 1.0
    found = ensemble(2, (penalty,)).fit(SPLITS[:1], SEEDS[:1]).trace
    apart = [each.trace.values["objective"][0] for each in separate(SPLITS[0], SEEDS[0], penalty, 2)]
    shortest = min(map(len, apart))
    expected = np.mean([each[:shortest] for each in apart], axis=0)
    np.testing.assert_allclose(found.values["objective"][0, :shortest], expected, rtol=1e-7)
    assert np.isnan(found.values["objective"][0, shortest:]).all()


@dataclass(frozen=True)
class WithABrokenStart(DeepEnsemble):
    """Some rows of the tensor program start from NaN."""

    broken: tuple[int, ...] = ()

    def _init(self, head, data, generators):
        params = super()._init(head, data, generators)
        params["weights"][list(self.broken)] = np.nan
        return params


def test_a_member_that_fails_fails_its_replicate_alone():
    """Row 2 is the second member of the first replicate."""
    whole = ensemble(2, (1.0,)).fit(SPLITS, SEEDS)
    fit = WithABrokenStart(MLP(3), penalty_grid=(1.0,), schedule=SHORT, members=2, broken=(2,)).fit(SPLITS, SEEDS)
    assert [status.usable for status in fit.statuses] == [False, True]
    assert "the worst of 2 members: at step 0" in fit.statuses[0].sentence
    with pytest.raises(SpecError, match="deep_ensemble, seed 5: failed"):
        fit.moments(SPLITS[0].test.inputs)
    found, expected = (each.predict(SPLITS[1].test.inputs, replicate=1) for each in (fit, whole))
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-7)


def test_a_penalty_under_which_a_member_failed_is_not_chosen():
    for first in (0, 4):  # rows of the first replicate: 0 and 2 under the first penalty, 4 and 6 under the second
        method = WithABrokenStart(MLP(3), penalty_grid=(0.5, 2.0), schedule=SHORT, members=2, broken=(first,))
        fit = method.fit(SPLITS, SEEDS)
        assert fit.statuses[0].usable and fit.learned(0)["penalty"] == (2.0 if first == 0 else 0.5)


def test_noise_from_validation_is_each_members_own():
    """As ``map`` takes it for every member; the penalty is still chosen by the mixture."""
    method = DeepEnsemble(MLP(3), penalty_grid=(1e-3, 10.0), schedule=SHORT, members=2, noise="validation")
    found = method.fit(SPLITS, SEEDS)
    for k, (split, seed) in enumerate(zip(SPLITS, SEEDS, strict=True)):
        apart = [
            [
                Map(MLP(3), penalty_grid=(penalty,), schedule=SHORT, noise="validation").fit([split], [each])
                for each in (seed, derived_seed(seed, 1))
            ]
            for penalty in method.penalty_grid
        ]
        nll = [-mixture_log_prob(fits, split.validation).mean() for fits in apart]
        best = int(np.argmin(nll))
        assert found.learned(k)["penalty"] == method.penalty_grid[best]
        variances = found.predict(split.test.inputs, replicate=k).variances
        expected = [each.learned(0)["noise_scale"] ** 2 for each in apart[best]]
        np.testing.assert_allclose(variances, np.repeat(np.array(expected)[:, None], split.test.n, 1), rtol=1e-7)
        assert np.ptp(variances[:, 0]) > 1e-3


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_grid_on_which_no_mixture_has_a_finite_score_is_an_error(monkeypatch, value):
    """Acceptance case 25: never a silent first choice."""
    monkeypatch.setattr(DeepEnsemble, "_scores", lambda *_: np.full((3, 2), value))
    fit = ensemble(2).fit(SPLITS, SEEDS)
    assert "finite nowhere on the grid" in fit.statuses[0].sentence
    with pytest.raises(SpecError, match="deep_ensemble, seed 5: failed"):
        fit.predict(SPLITS[0].test.inputs)


def test_one_member_has_one_nll():
    """A mixture of one is a Gaussian: both NLLs are one number, to the rounding of two ways to write it."""
    one = ensemble(1).fit(SPLITS, SEEDS)
    for k, split in enumerate(SPLITS):
        mixture = one.predict(split.test.inputs, replicate=k)
        moments = one.moments(split.test.inputs, replicate=k)
        np.testing.assert_array_equal(moments.mean, mixture.mean)
        np.testing.assert_array_equal(moments.variance, mixture.variances[0])
        targets = split.test.targets
        np.testing.assert_allclose(mixture.log_prob(targets), moments.log_prob(targets), rtol=1e-14)
        learned = one.learned(k)
        assert learned["validation_nll"] == pytest.approx(learned["moment_matched_validation_nll"], rel=1e-14)


def test_an_ensemble_has_no_features_of_its_own(fit):
    assert fit.features(SPLITS[0].test.inputs) is None and fit.last_layer(0, SPLITS[0]) is None


def test_an_ensemble_of_nobody_is_refused():
    with pytest.raises(SpecError, match="at least 1 member; got members=0"):
        DeepEnsemble(members=0)


def test_the_protocol_sets_it_up():
    made = DeepEnsemble.from_protocol(Protocol("mine", penalty_grid=(0.5, 2.0), max_steps=9, dtype="float32"), MLP(3))
    assert (made.penalty_grid, made.schedule.max_steps, made.dtype, made.members) == ((0.5, 2.0), 9, "float32", 5)
    assert made.fit(SPLITS, SEEDS).predict(SPLITS[0].test.inputs).means.shape == (5, SPLITS[0].test.n)
