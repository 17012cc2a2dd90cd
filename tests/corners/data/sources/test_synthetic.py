import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from corners.data.sources.synthetic import TRUTHS, SyntheticSource
from corners.errors import SpecError

NAMES = sorted(TRUTHS)


@pytest.mark.parametrize("name", NAMES)
def test_noise_is_standard_normal_once_the_truth_is_taken_off(name):
    data, truth = SyntheticSource().load(name, n=20000, seed=11), TRUTHS[name]
    noise = (data.targets - truth.mean(data.inputs)) / truth.noise_scale(data.inputs)
    for values, mean, variance in ((noise, 0.0, 1.0), (noise**2, 1.0, 2.0), (noise**4, 3.0, 96.0)):
        assert abs(values.mean() - mean) < 5 * np.sqrt(variance / len(values))
    halves = data.inputs[:, 0] > np.median(data.inputs[:, 0])
    for half in (noise[halves], noise[~halves]):
        assert abs((half**2).mean() - 1.0) < 5 * np.sqrt(2.0 / len(half))


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_and_is_written_down(name):
    source = SyntheticSource()
    first = source.load(name, n=20, seed=4)
    assert first.fingerprint == source.load(name, n=20, seed=4).fingerprint
    assert first.fingerprint != source.load(name, n=20, seed=5).fingerprint
    assert first.source == f"synthetic: {name}(n=20, seed=4)"
    assert first.description == TRUTHS[name].formula


def test_sine_leaves_a_gap_and_covers_both_sides():
    x = SyntheticSource().load("sine", n=5000).inputs[:, 0]
    assert np.abs(x).min() >= 1.0
    assert np.abs(x).max() <= 3.0
    assert abs((x > 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(5000)


def test_noise_of_the_heteroscedastic_sine_grows_with_x():
    truth = TRUTHS["heteroscedastic_sine"]
    np.testing.assert_allclose(truth.noise_scale(np.array([[0.0], [1.0]])), [0.05, 0.5], rtol=1e-15)


def test_friedman1_has_the_mean_function_of_scikit_learn():
    x, mean = make_friedman1(200, n_features=10, noise=0.0, random_state=1)
    np.testing.assert_allclose(TRUTHS["friedman1"].mean(x), mean, rtol=1e-13)


def test_the_linear_table_has_the_coefficients_it_states():
    data = SyntheticSource().load("linear", n=20000, seed=2)
    design = np.column_stack([np.ones(data.n), data.inputs])
    found, _, _, _ = np.linalg.lstsq(design, data.targets, rcond=None)
    np.testing.assert_allclose(found, [0.5, 1.0, -2.0, 0.5, 0.0, 0.0], atol=5 * 0.5 / np.sqrt(data.n))


@pytest.mark.parametrize("options", [{"n": 0}, {"n": -3}, {"seed": -1}])
def test_impossible_options_are_refused(options):
    with pytest.raises(SpecError, match="n must be a whole number from 1, seed one from 0"):
        SyntheticSource().load("sine", **options)
