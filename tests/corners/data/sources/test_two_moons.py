"""The two moons lie where their formula says, with the noise they are said to have."""

import numpy as np
import pytest

from corners.data.loading import load
from corners.data.sources.two_moons import TwoMoonsSource
from corners.errors import SpecError, UnknownNameError


def moons(**options):
    return TwoMoonsSource().load("two_moons", **options)


def test_without_noise_every_point_lies_on_its_half_circle():
    data = moons(n=400, noise=0.0, seed=2)
    outer = data.targets == 0
    across, up = data.inputs.T
    np.testing.assert_allclose(np.hypot(across[outer], up[outer]), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.hypot(across[~outer] - 1.0, up[~outer] - 0.5), 1.0, atol=1e-12)
    assert (up[outer] >= -1e-12).all() and (up[~outer] <= 0.5 + 1e-12).all()
    assert outer.sum() == 200 and data.labels == ("outer", "inner")


def test_the_noise_is_gaussian_of_the_scale_that_is_given():
    noise = (moons(n=20000, noise=0.3, seed=5).inputs - moons(n=20000, noise=0.0, seed=5).inputs) / 0.3
    for power, mean, variance in ((1, 0.0, 1.0), (2, 1.0, 2.0), (4, 3.0, 96.0)):
        assert abs((noise**power).mean() - mean) < 5 * np.sqrt(variance / noise.size)


def test_the_seed_decides_and_is_written_down():
    first = moons(n=50, seed=4)
    assert first.fingerprint == moons(n=50, seed=4).fingerprint != moons(n=50, seed=5).fingerprint
    assert first.source == "synthetic: two_moons(n=50, noise=0.2, seed=4)"
    assert load("two_moons").n == 300 and load("two_moons").task == "classification"


@pytest.mark.parametrize("options", [{"n": 1}, {"noise": -0.1}, {"noise": float("nan")}, {"seed": -1}])
def test_what_cannot_be_drawn_is_refused(options):
    with pytest.raises(SpecError, match="n must be a whole number from 2"):
        moons(**options)


def test_another_name_is_refused():
    with pytest.raises(UnknownNameError, match="two_moons"):
        TwoMoonsSource().load("moons")
