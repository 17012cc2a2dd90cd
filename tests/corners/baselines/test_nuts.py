"""NUTS as a method: which layer is sampled, in whose units, what a failed gate does. The sampler is stubbed."""

from dataclasses import replace

import numpy as np
import pytest

from corners.backbones.mlp import MLP
from corners.baselines.nuts import Nuts
from corners.engine.training import CornerMethod
from corners.errors import CornersError, SpecError, TruthError
from corners.method import FitStatus, HyperpriorSpec
from tests.support.corner_cells import cell
from tests.support.problems import SHORT, tiny_split
from tests.support.truths import Sampler, sampler  # noqa: F401  a fixture

SPLITS = [tiny_split(1), tiny_split(2)]


@pytest.fixture(scope="module")
def host():
    return CornerMethod("sequential", cell("sequential", backbone=MLP(3)), SHORT).fit(SPLITS, [5, 6])


def test_each_replicate_samples_its_hosts_last_layer_with_its_own_seed(host, sampler: Sampler):  # noqa: F811
    fit = Nuts(draws=200).fit(SPLITS, [5, 6], host=host)
    assert [status.code for status in fit.statuses] == ["sampled", "sampled"]
    assert [asked["seed"] for asked in sampler.asked] == [5, 6]
    for k, asked in enumerate(sampler.asked):
        expected = host.last_layer(k, SPLITS[k])
        np.testing.assert_array_equal(asked["layer"].features, expected.features)
        assert asked["layer"].noise_var == expected.noise_var and not asked["hierarchical"]


def test_the_predictive_is_the_mixture_over_draws_in_original_units(host, sampler: Sampler):  # noqa: F811
    """Exact draws of the host's own posterior: its predictive within Monte Carlo error."""
    fit = Nuts(draws=2000).fit(SPLITS, [5, 6], host=host)
    for k, split in enumerate(SPLITS):
        mixture, exact = fit.predict(split.test.inputs, replicate=k), host.predict(split.test.inputs, replicate=k)
        noise = host.learned(k)["noise_scale"]
        error = np.sqrt((exact.variance - noise**2) / 400.0)
        assert (np.abs(mixture.mean - exact.mean) < 5.0 * error + 1e-9).all()
        np.testing.assert_allclose(mixture.variance, exact.variance, rtol=0.15)


def test_a_run_that_fails_its_gate_is_a_failed_replicate_with_the_reason(host, sampler: Sampler):  # noqa: F811
    sampler.failing = TruthError("R-hat 1.3 exceeds 1.01; take more draws")
    fit = Nuts().fit(SPLITS, [5, 6], host=host)
    assert not any(status.usable for status in fit.statuses)
    assert "R-hat 1.3 exceeds 1.01" in fit.statuses[0].sentence
    with pytest.raises(SpecError, match=r"nuts, seed 5: failed.*R-hat 1\.3"):
        fit.predict(SPLITS[0].test.inputs)


def test_a_failed_host_replicate_is_a_failed_truth_and_the_other_is_sampled(host, sampler: Sampler):  # noqa: F811
    broken = replace(host, statuses=(FitStatus("failed", "at step 0"), host.statuses[1]))
    fit = Nuts(draws=200).fit(SPLITS, [5, 6], host=broken)
    assert [status.code for status in fit.statuses] == ["failed", "sampled"]
    assert np.isfinite(fit.predict(SPLITS[1].test.inputs, replicate=1).mean).all()
    assert "sequential" in fit.statuses[0].sentence
    with pytest.raises(SpecError):  # not a KeyError of ours
        fit.learned(0)


def test_it_needs_a_host():
    with pytest.raises(SpecError, match=r"pass host=.*'sequential'"):
        Nuts().fit(SPLITS, [5, 6])


def test_features_and_hyperparameters_are_the_hosts(host, sampler: Sampler):  # noqa: F811
    fit = Nuts(draws=200).fit(SPLITS, [5, 6], host=host)
    np.testing.assert_array_equal(fit.features(SPLITS[0].test.inputs), host.features(SPLITS[0].test.inputs))
    for name, value in fit.learned(0).items():
        assert value == host.learned(0)[name]
    assert fit.last_layer(0, SPLITS[0]) is None


def test_hierarchical_truth_needs_the_fits_own_hyperpriors(host):
    from corners.baselines._sampling import sample_layer

    layer = host.last_layer(0, SPLITS[0])
    with pytest.raises(SpecError, match="needs the hyperpriors of the fit it judges, and this fit has none"):
        sample_layer(layer, hierarchical=True)


def test_a_hyperprior_that_is_no_density_is_one_of_our_errors(host):
    """Constant targets scale the noise's hyperprior to zero; a comparison must survive it."""
    from corners.baselines._sampling import sample_layer

    priors = {
        "precision_prior": HyperpriorSpec("gamma", 2.0, 0.1),
        "noise_prior": HyperpriorSpec("inverse_gamma", 1.0, 0.0),
    }
    layer = replace(host.last_layer(0, SPLITS[0]), **priors)
    with pytest.raises(CornersError, match="scale"):
        sample_layer(layer, hierarchical=True)
