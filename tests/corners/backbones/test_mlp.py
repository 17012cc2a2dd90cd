"""The multilayer perceptron: its formula, its start, and what it refuses."""

import numpy as np
import pytest
import torch

from corners.backbones.mlp import ACTIVATIONS, MLP
from corners.errors import SpecError
from tests.support.problems import assert_close, generators, normal
from tests.support.statistics import assert_within_se


def test_two_layers_are_the_formula():
    backbone = MLP((4, 3))
    params = backbone.init(2, generators(1, 2), torch.float64)
    params = {name: value + 0.2 * normal(k, *value.shape) for k, (name, value) in enumerate(params.items())}
    inputs = normal(9, 2, 5, 2)
    for k in range(2):
        own = {name.removeprefix("backbone."): value[k].numpy() for name, value in params.items()}
        hidden = np.tanh(inputs[k].numpy() @ own["weight_0"] + own["bias_0"])
        assert_close(backbone.features(params, inputs)[k], np.tanh(hidden @ own["weight_1"] + own["bias_1"]))
        weights = sum((own[f"weight_{layer}"] ** 2).sum() for layer in range(2))
        assert_close(backbone.penalty(params)[k], weights)


def test_without_bias_a_tanh_network_is_odd():
    backbone = MLP(6, bias=False)
    params, inputs = backbone.init(3, generators(1), torch.float64), normal(2, 1, 5, 3)
    assert not any("bias" in name for name in params)
    assert_close(backbone.features(params, -inputs), -backbone.features(params, inputs))


def test_there_is_no_bias_column_among_the_features():
    features = MLP(6).features(MLP(6).init(2, generators(1), torch.float64), normal(2, 1, 50, 2))
    assert bool((features.std(1) > 1e-3).all())


def test_weights_start_at_their_stated_spread():
    """``N(0, 1/d_in)``, biases at zero (theory 5.8)."""
    params = MLP(50).init(8, generators(*range(20)), torch.float64)
    draws = params["backbone.weight_0"].numpy().ravel()
    assert_within_se(draws, 0.0)
    assert_within_se(draws**2, 1.0 / 8.0)
    assert not params["backbone.bias_0"].any()


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_activations(activation):
    backbone = MLP(3, activation=activation)
    params, inputs = backbone.init(2, generators(1), torch.float64), normal(1, 1, 4, 2)
    hidden = inputs @ params["backbone.weight_0"]
    assert_close(backbone.features(params, inputs), ACTIVATIONS[activation](hidden))


@pytest.mark.parametrize("widths", [(), 0, (4, 0), (-1,)])
def test_widths_that_are_no_numbers_of_units_are_refused(widths):
    with pytest.raises(SpecError, match="positive numbers of units"):
        MLP(widths)


def test_an_unknown_activation_lists_the_known_ones():
    with pytest.raises(SpecError, match="activation must be one of tanh, relu, silu, gelu; got 'sigmoid'"):
        MLP(4, activation="sigmoid")
