import json
import math

import numpy as np
import pytest

from inference.errors import DataError, SpecError
from inference.truth import HalfNormal, NetworkPrior, Normal
from inference.truth.network_problem import network_problem

INPUTS = np.arange(6.0).reshape(3, 2)
TARGETS = np.array([1.0, -1.0, 2.0])


def problem(**changes):
    given = {"units": 3, "at": INPUTS[:1], "noise_scale": 0.5} | changes
    return network_problem(changes.pop("inputs", INPUTS), TARGETS, **{k: v for k, v in given.items() if k != "inputs"})


def test_the_function_is_that_of_its_formula(generator):
    """Weight by weight, in the order the scales state: W1 input by input, b1, w2, b2."""
    made, at = problem(), generator.normal(size=(4, 2))
    weights = generator.normal(size=(5, 13))
    values = made.function(weights, at)
    for s, w in enumerate(weights):
        hidden, bias, output, shift = w[:6].reshape(2, 3), w[6:9], w[9:12], w[12]
        for m, x in enumerate(at):
            units = [math.tanh(x[0] * hidden[0, u] + x[1] * hidden[1, u] + bias[u]) for u in range(3)]
            expected = sum(output[u] * units[u] for u in range(3)) + shift
            np.testing.assert_allclose(values[s, m], expected, rtol=1e-12)


def test_scales_follow_the_formula_and_the_order():
    prior = NetworkPrior(hidden_scale=4.0, hidden_bias_scale=5.0, output_scale=6.0, output_bias_scale=7.0)
    scales = prior.scales(columns=4, units=9)
    assert scales.tolist() == [2.0] * 36 + [5.0] * 9 + [2.0] * 9 + [7.0]


def test_the_spread_of_the_function_does_not_grow_with_its_size(generator):
    """Prior draws of f at inputs of unit variance: one unit or two hundred, one input or fifty."""
    spreads = []
    for columns, units in ((1, 1), (1, 200), (50, 200)):
        inputs = generator.normal(size=(3, columns))
        inputs /= np.sqrt((inputs**2).mean(axis=1, keepdims=True))
        made = network_problem(inputs, TARGETS, units=units, at=inputs, noise_scale=1.0)
        weights = made.scales * generator.normal(size=(4000, len(made.scales)))
        spreads.append(made.function(weights, inputs).var())
    assert max(spreads) / min(spreads) < 1.15  # each variance has a relative error of about 0.02


def test_the_certificate_says_noise_and_priors():
    fixed, sampled = problem(), problem(noise_scale=HalfNormal(1.0), prior=NetworkPrior(hidden_scale=2.0))
    assert fixed.as_dict()["noise_scale"] == 0.5 and fixed.noise_family is None
    assert sampled.as_dict()["noise_scale"] == {"family": "half_normal", "scale": 1.0}
    weights = json.loads(json.dumps(sampled.as_dict()))["weights"]
    assert weights["hidden_scale"] == 2.0 and weights["output_bias_scale"] == 1.0


def test_the_fingerprint_sees_the_data_alone():
    assert problem().fingerprint() == problem(units=7, noise_scale=2.0).fingerprint()
    assert problem().fingerprint() != problem(inputs=INPUTS + 1.0).fingerprint()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"units": 0}, SpecError, "units is the number of hidden units and must be at least 1; got 0"),
        (
            {"at": np.zeros((2, 3))},
            DataError,
            r"shape \(M, 2\), M >= 1, like the inputs; got shape \(2, 3\)",
        ),
        ({"at": np.zeros((0, 2))}, DataError, r"got shape \(0, 2\)"),
        ({"at": np.full((1, 2), np.nan)}, DataError, "the stated inputs must be finite"),
        ({"noise_scale": 0.0}, SpecError, "noise_scale must be finite and positive, or a density; got 0.0"),
        ({"noise_scale": Normal(0.0, 1.0)}, SpecError, "noise_scale needs a density on the positive numbers"),
        ({"inputs": np.full((3, 2), np.inf)}, DataError, "features must be finite"),
    ],
)
def test_wrong_arguments_are_named(changes, error, message):
    with pytest.raises(error, match=message):
        problem(**changes)


def test_a_scale_that_is_not_positive_is_named():
    with pytest.raises(SpecError, match="NetworkPrior: output_scale must be finite and positive but got 0"):
        NetworkPrior(output_scale=0.0)
