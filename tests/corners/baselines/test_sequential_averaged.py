"""The averaged evidence corner: a mixture of exact predictives over hyperparameter draws. The sampler is stubbed."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from corners.backbones.mlp import MLP
from corners.baselines.sequential_averaged import SequentialAveraged
from corners.beliefs import GammaPrior, InverseGammaPrior
from corners.engine.training import CornerMethod
from corners.errors import ImpossibleCellError, SpecError, TruthError
from corners.method import FitStatus
from corners.protocols import get_protocol, with_options
from corners.study import make_method, method_names
from corners.study.heads import Target
from tests.support import dense_cells as dense
from tests.support.corner_cells import cell
from tests.support.problems import SHORT, tiny_split
from tests.support.truths import Sampler, sampler  # noqa: F401  a fixture

SPLITS = [tiny_split(1), tiny_split(2)]


@pytest.fixture(scope="module")
def host():
    return CornerMethod("sequential", cell("sequential", backbone=MLP(3)), SHORT).fit(SPLITS, [5, 6])


@dataclass(frozen=True)
class TwoPoints:
    """A posterior of hyperparameters that sits on two points."""

    precisions: tuple[float, float] = (0.3, 8.0)
    scales: tuple[float, float] = (0.2, 0.7)

    def prior_precision(self):
        return np.array(self.precisions)

    def noise_scale(self):
        return np.array(self.scales)


def test_draws_that_all_say_the_same_give_the_plug_in_corner(host, sampler: Sampler):  # noqa: F811
    fit = SequentialAveraged(draws=200).fit(SPLITS, [5, 6], host=host)
    for k, split in enumerate(SPLITS):
        averaged, plugged = fit.predict(split.test.inputs, replicate=k), host.predict(split.test.inputs, replicate=k)
        np.testing.assert_allclose(
            averaged.log_prob(split.test.targets), plugged.log_prob(split.test.targets), rtol=1e-8
        )
        for name, value in fit.learned(k).items():
            assert value == pytest.approx(host.learned(k)[name])
        assert fit.last_layer(k, split) is None


def test_the_predictive_is_the_mean_density_over_the_draws(host, monkeypatch):
    """Two hyperparameter values: half the sum of two dense conjugate predictives, in original units."""
    monkeypatch.setattr("corners.baselines._sampling.sample_layer", lambda *_, **__: TwoPoints())
    split = SPLITS[0]
    found = SequentialAveraged().fit([split], [5], host=host).predict(split.test.inputs).log_prob(split.test.targets)
    layer, densities = host.last_layer(0, split), []
    for precision, scale in zip(*(TwoPoints().precisions, TwoPoints().scales), strict=True):
        mean, covariance = dense.posterior(layer.features, layer.targets, precision, scale**2)
        spread = np.sqrt(scale**2 + np.einsum("nh,hk,nk->n", layer.test_features, covariance, layer.test_features))
        densities.append(stats.norm(layer.test_features @ mean, spread).pdf(layer.test_targets) / layer.target_scale)
    np.testing.assert_allclose(found, np.log(np.mean(densities, axis=0)), rtol=1e-9)


def test_the_sampler_is_asked_with_the_methods_own_hyperpriors(host, sampler: Sampler):  # noqa: F811
    method = SequentialAveraged(noise_prior=InverseGammaPrior(1.5, relative_scale=0.02), draws=200)
    method.fit(SPLITS, [5, 6], host=host)
    assert [(asked["seed"], asked["hierarchical"]) for asked in sampler.asked] == [(5, True), (6, True)]
    layer = sampler.asked[0]["layer"]
    assert (layer.precision_prior.first, layer.precision_prior.second) == (2.0, (1.5 + 1.0) / 100.0)
    assert (layer.noise_prior.first, layer.noise_prior.second) == (1.5, pytest.approx(0.02 * layer.targets.var()))


def test_the_hyperpriors_are_those_of_the_protocol():
    default = get_protocol("default")
    changed = with_options(default, precision_shape=3.0, precision_cap=50.0, noise_relative_scale=0.1)
    made = SequentialAveraged.from_protocol(changed, MLP(3))
    assert made.precision_prior == GammaPrior(3.0, cap=50.0) and made.noise_prior == InverseGammaPrior(1.0, 0.1)
    bare = with_options(default, precision_shape=None, noise_shape=None)
    assert SequentialAveraged.from_protocol(bare, MLP(3)) == SequentialAveraged()


def test_a_run_that_fails_its_gate_is_a_failed_replicate_with_the_reason(host, sampler: Sampler):  # noqa: F811
    sampler.failing = TruthError("R-hat 1.3 exceeds 1.01; take more draws")
    fit = SequentialAveraged().fit(SPLITS, [5, 6], host=host)
    with pytest.raises(SpecError, match=r"sequential_averaged, seed 5: failed.*R-hat 1\.3"):
        fit.predict(SPLITS[0].test.inputs)


def test_a_failed_host_replicate_fails_alone(host, sampler: Sampler):  # noqa: F811
    broken = replace(host, statuses=(FitStatus("failed", "at step 0"), host.statuses[1]))
    fit = SequentialAveraged(draws=200).fit(SPLITS, [5, 6], host=broken)
    assert [status.code for status in fit.statuses] == ["failed", "sampled"]


def test_without_a_host_it_says_what_to_pass():
    with pytest.raises(SpecError, match="pass host=, the fit of 'sequential'"):
        SequentialAveraged().fit(SPLITS, [5, 6])


def test_another_head_than_gaussian_noise_leaves_it_out():
    table = Target("regression")
    assert "sequential_averaged" in method_names(table)
    assert "sequential_averaged" not in method_names(table, "student_t")
    with pytest.raises(ImpossibleCellError, match="averages over conjugate posteriors"):
        make_method("sequential_averaged", head="student_t", table=table)
