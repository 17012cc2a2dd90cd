"""Identity: the last layer is a linear model of the inputs."""

import torch

from corners.backbones.identity import Identity
from tests.support.problems import generators, normal


def test_features_are_the_inputs_themselves():
    inputs = normal(1, 2, 5, 3)
    assert Identity().init(3, generators(1, 2), torch.float64) == {}
    assert Identity().features({}, inputs) is inputs
    assert Identity().penalty({}) == 0.0
