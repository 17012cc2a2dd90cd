"""The last layer of a trained cell with another head, as a sampler wants it: names, parameters, units, predictive."""

import numpy as np
import pytest

from corners.backbones.mlp import MLP
from corners.engine.named import named_cell
from corners.errors import SpecError
from corners.likelihoods.gaussian import Gaussian
from corners.likelihoods.negative_binomial import NegativeBinomial
from corners.likelihoods.one_vs_all import OneVsAll
from corners.likelihoods.ordinal import Ordinal
from corners.likelihoods.poisson import Poisson
from corners.likelihoods.probit import Probit
from corners.likelihoods.student_t import StudentT
from corners.protocols import Protocol
from inference.truth.heads import HEADS
from tests.corners.engine.test_heads import split_of

PROTOCOL = Protocol("short", learning_rate=0.05, max_steps=40, patience=20)
CELLS = {
    "probit": (Probit(), "binary"),
    "ordinal": (Ordinal(classes=3), "ordered"),
    "poisson": (Poisson(), "counts"),
    "negative_binomial": (NegativeBinomial(), "counts"),
    "student_t": (StudentT(df=5.0), "numbers"),
}


def trained(likelihood, kind):
    split = split_of(kind, 1)
    return named_cell("scroll_dense", PROTOCOL, MLP(4), likelihood).fit([split], [5]), split


@pytest.fixture(scope="module", params=CELLS)
def cell(request):
    return request.param, *trained(*CELLS[request.param])


def test_parameters_are_those_of_the_samplers_head(cell):
    """The sampler's numpy formula at the layer's parameters is the likelihood the cell was trained with."""
    import torch

    name, fit, split = cell
    layer, chosen = fit.sampled_layer(0, split), fit.replicates[0]
    assert layer.likelihood == name and np.isnan(layer.noise_var) and fit.last_layer(0, split) is None
    latent = layer.features @ layer.mean
    expected = fit.corner.likelihood.log_prob(chosen.params, torch.tensor(layer.targets), torch.tensor(latent))
    found = HEADS.get(name).log_prob(layer.targets, latent[None], layer.likelihood_params)[0]
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-9)
    HEADS.get(name).from_parameters(layer.likelihood_params).check_targets(layer.targets)


def test_the_test_predictive_is_that_of_the_fit(cell):
    """In the units trained in: the density of a scaled target is larger by the scale."""
    _, fit, split = cell
    layer = fit.sampled_layer(0, split)
    own = fit.predict(split.test.inputs).log_prob(split.test.targets)
    np.testing.assert_allclose(layer.test_log_predictive - np.log(layer.target_scale), own, rtol=1e-6, atol=1e-6)


def test_gaussian_noise_is_the_ordinary_last_layer():
    fit, split = trained(Gaussian(), "numbers")
    sampled, ordinary = fit.sampled_layer(0, split), fit.last_layer(0, split)
    assert sampled.likelihood == "gaussian" and sampled.noise_var == ordinary.noise_var > 0.0
    assert fit.sampled_layer(0, split, latent=0) is None


def test_one_versus_all_is_one_probit_a_class():
    """Its K heads are independent: labels of a class, its own belief and precision; without a class there is none."""
    fit, split = trained(OneVsAll(classes=3), "classes")
    assert fit.sampled_layer(0, split) is None
    belief, chosen = fit.replicates[0].belief, fit.replicates[0]
    for k in range(3):
        layer = fit.sampled_layer(0, split, latent=k)
        assert layer.likelihood == "probit"
        np.testing.assert_array_equal(layer.targets, split.train.targets == k)
        np.testing.assert_allclose(layer.mean, belief.mean[k].detach().numpy())
        np.testing.assert_allclose(layer.prior_precision, float(chosen.params["log_prior_precision"][k].exp()))
        variance = ((layer.test_features @ layer.covariance) * layer.test_features).sum(axis=1)
        from scipy import special

        margin = (2.0 * layer.test_targets - 1.0) * (layer.test_features @ layer.mean) / np.sqrt(1.0 + variance)
        np.testing.assert_allclose(layer.test_log_predictive, special.log_ndtr(margin), rtol=1e-9)
    with pytest.raises(SpecError, match="latent chooses one of 3"):
        fit.sampled_layer(0, split, latent=3)
