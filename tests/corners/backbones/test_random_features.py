"""Random Fourier features: the kernel they approach, their trained length scale, what is refused."""

import numpy as np
import pytest
import torch

from corners.backbones.random_features import FREQUENCY, LOG_LENGTH, PHASE, RandomFeatures
from corners.errors import SpecError
from tests.support.problems import assert_close, generators, normal, real
from tests.support.statistics import assert_within_se


def test_the_mean_inner_product_is_the_squared_exponential_kernel():
    """``E ψ_h(x) ψ_h(x') = exp(-‖x - x'‖²/2ℓ²)``: 20 000 independent features, in standard errors."""
    backbone = RandomFeatures(count=20_000, length_scale=1.7)
    params = backbone.init(3, generators(1), torch.float64)
    points = normal(2, 1, 4, 3)
    features = backbone.features(params, points)[0].numpy()
    for one in range(4):
        for other in range(4):
            gap = points[0, one].numpy() - points[0, other].numpy()
            assert_within_se(features[one] * features[other], np.exp(-(gap @ gap) / (2.0 * 1.7**2)))


def test_the_length_scale_starts_at_the_root_of_the_columns():
    params = RandomFeatures(4).init(9, generators(1, 2), torch.float64)
    assert_close(params[LOG_LENGTH].exp(), real(3.0, 3.0))


def test_only_the_length_scale_is_trained():
    assert RandomFeatures().frozen == {FREQUENCY, PHASE}
    assert RandomFeatures(learned=False).frozen == {FREQUENCY, PHASE, LOG_LENGTH}


@pytest.mark.parametrize(
    ("options", "message"), [({"count": 0}, "at least 1; got 0"), ({"length_scale": 0.0}, "positive and finite; got 0")]
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(SpecError, match=message):
        RandomFeatures(**options)
