import numpy as np
import pytest

from inference.errors import DataError, SpecError
from inference.truth import Gamma, HalfNormal, Hyperpriors, InverseGamma
from inference.truth.problem import checked_data, last_layer_problem

FEATURES, TARGETS = np.arange(6.0).reshape(3, 2), np.array([0.5, -1.0, 2.0])


def problem(**changes):
    return last_layer_problem(FEATURES, TARGETS, **({"prior_precision": 1.5, "noise_scale": 0.5} | changes))


@pytest.mark.parametrize("shape", [(4,), (3, 2), (1, 3), (3, 1, 1)])
def test_shapes_that_do_not_fit_are_both_named(shape):
    with pytest.raises(DataError, match=r"got \(3, 2\) and \(" + str(shape[0])):
        checked_data(FEATURES, np.ones(shape))


@pytest.mark.parametrize("features", [np.ones((0, 2)), np.ones((3, 0)), np.ones(3)])
def test_empty_or_flat_features_are_refused(features):
    with pytest.raises(DataError, match="N, H >= 1"):
        checked_data(features, np.ones(len(features)))


def test_the_place_of_a_value_that_is_not_finite_is_named():
    broken = FEATURES.copy()
    broken[2, 1] = np.inf
    with pytest.raises(DataError, match=r"features must be finite, but 1 are not \(first inf in row 2, column 1\)"):
        checked_data(broken, TARGETS)
    with pytest.raises(DataError, match=r"targets must be finite, but 2 are not \(first nan in row 0\)"):
        checked_data(FEATURES, [np.nan, 1.0, np.nan])


def test_text_is_refused():
    with pytest.raises(DataError, match="features must be numbers"):
        checked_data([["a", "b"]], [1.0])


def test_integers_and_float32_become_float64():
    matrix, vector = checked_data(FEATURES.astype(np.float32), [1, 2, 3])
    assert matrix.dtype == vector.dtype == np.float64


def test_number_or_density_never_both_never_neither():
    both = Hyperpriors(prior_precision=Gamma(1.0, 1.0))
    with pytest.raises(SpecError, match="prior_precision needs either a number or a density in hyperpriors, but both"):
        problem(hyperpriors=both)
    with pytest.raises(SpecError, match=r"prior_precision needs .* but neither"):
        problem(prior_precision=None)
    mixed = problem(prior_precision=None, hyperpriors=both)
    assert mixed.prior_precision == Gamma(1.0, 1.0) and mixed.noise == 0.5 and not mixed.hyperparameters_known


def test_which_noise_the_density_is_of():
    var = problem(noise_scale=None, hyperpriors=Hyperpriors(noise_var=InverseGamma(1.0, 1.0)))
    scale = problem(noise_scale=None, hyperpriors=Hyperpriors(noise_scale=HalfNormal(1.0)))
    assert var.noise_is_var and not scale.noise_is_var
    assert set(var.as_dict()) == {"prior_precision", "noise_var"}
    assert scale.as_dict()["noise_scale"] == {"family": "half_normal", "scale": 1.0}


def test_fingerprint_sees_values_and_shape():
    assert problem().fingerprint() == problem(prior_precision=2.0).fingerprint()
    moved = last_layer_problem(FEATURES + 1.0, TARGETS, prior_precision=1.0, noise_scale=1.0)
    flat = last_layer_problem(FEATURES.reshape(6, 1), np.ones(6), prior_precision=1.0, noise_scale=1.0)
    assert len({problem().fingerprint(), moved.fingerprint(), flat.fingerprint()}) == 3
