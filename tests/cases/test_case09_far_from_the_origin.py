"""Case 9: inputs in [80, 100]: the predictive standard deviation is smallest at the data, not at 0."""

import numpy as np
import pytest

from corners.backbones.identity import Identity
from corners.backbones.mlp import MLP
from corners.backbones.random_features import RandomFeatures
from corners.data.split import Part, Split
from corners.engine.training import CornerMethod
from corners.optimise import Schedule
from tests.support.corner_cells import cell

GENERATOR = np.random.default_rng(9)


def far(rows: int) -> Part:
    inputs = GENERATOR.uniform(80.0, 100.0, rows)
    return Part(inputs, np.sin(inputs / 4.0) + 0.1 * GENERATOR.standard_normal(rows))


SPLIT = Split(far(60), far(20), far(20), "far")


@pytest.mark.parametrize("backbone", [Identity(), RandomFeatures(30), MLP(10)], ids=lambda b: b.name)
@pytest.mark.parametrize("name", ["sequential", "leave_one_out", "shared_closed"])
def test_the_deviation_is_smallest_at_the_data(name, backbone):
    fit = CornerMethod(name, cell(name, backbone=backbone), Schedule(0.05, 60, 20, 1e-6)).fit([SPLIT], [5])
    grid = np.array([-100.0, 0.0, 40.0, 85.0, 90.0, 95.0, 140.0, 200.0])
    deviation = np.sqrt(fit.predict(grid[:, None]).variance)
    assert deviation.argmin() in (3, 4, 5)
    assert deviation[1] > deviation[4]
