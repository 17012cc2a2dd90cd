"""Case 6: noise variance 1e-6 and exact interpolation give a finite answer; a fit at the floor says so."""

import numpy as np
import pytest

from corners.backbones.identity import Identity
from corners.data.split import Part, Split
from corners.engine.cells import CELLS
from corners.engine.corner import Corner
from corners.engine.training import CornerMethod
from corners.likelihoods.gaussian import Gaussian
from corners.optimise import Schedule
from tests.support.corner_cells import cell, energy_at, inputs_of, parameters
from tests.support.strategies import draw_layer

GENERATOR = np.random.default_rng(6)


def exactly_linear(rows: int) -> Part:
    inputs = GENERATOR.normal(size=(rows, 3))
    return Part(inputs, inputs @ np.array([1.0, -2.0, 0.5]) + 4.0)


SPLIT = Split(exactly_linear(20), exactly_linear(8), exactly_linear(8), "line")


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize(("rows", "size"), [(12, 4), (4, 9)])
def test_energies_at_that_noise_are_finite(name, rows, size):
    layer = draw_layer(1, rows, size, 1.3, 1e-6)
    corner = cell(name)
    assert bool(energy_at(corner, parameters(corner, [layer]), *inputs_of([layer])).total.isfinite().all())


@pytest.mark.parametrize("name", ["sequential", "leave_one_out", "scroll_diagonal", "mean_closed_dense"])
def test_a_fit_to_exact_data_is_finite(name):
    likelihood = Gaussian(noise_scale=1e-3, learned=False)
    fit = CornerMethod(name, cell(name, likelihood=likelihood), Schedule(0.05, 60, 20, 1e-6)).fit([SPLIT], [5])
    predictive = fit.predict(SPLIT.test.inputs)
    assert np.isfinite(predictive.log_prob(SPLIT.test.targets)).all()
    assert fit.statuses[0].usable


def test_noise_at_its_floor_is_said_and_the_floor_can_be_moved():
    """A perfect fit wants no noise at all: the default floor holds it, the status says so, a lower floor lets it go."""
    learned = []
    for floor in (-14.0, -20.0):
        corner = Corner(
            "sequential", "closed", "dense", likelihood=Gaussian(log_noise_var_floor=floor), backbone=Identity()
        )
        fit = CornerMethod("sequential", corner, Schedule(0.2, 400, 400, 0.0)).fit([SPLIT], [5])
        learned.append(2.0 * np.log(fit.learned(0)["noise_scale"] / fit.replicates[0].standardiser.target_scale))
        assert "at bound" in fit.statuses[0].sentence and "noise" in fit.statuses[0].sentence
    assert learned == pytest.approx([-14.0, -20.0], abs=1e-6)
