"""Each run is sampled once a worker and shared: three weights, enough draws to pass the gate."""

import numpy as np
import pytest

from inference.truth import Gamma, HalfNormal, Hyperpriors, sample_last_layer
from tests.support.golden import as_array, golden


def golden_case(name):
    return next(case for case in golden("nuts_reference")["cases"] if case["id"] == name)


@pytest.fixture(scope="session")
def fixed_case():
    return golden_case("gaussian_fixed_hyper")


@pytest.fixture(scope="session")
def hyper_case():
    return golden_case("gaussian_hyperpriors")


@pytest.fixture(scope="session")
def data(fixed_case):
    """Features and targets of the golden cases: 25 points, three features."""
    return as_array(fixed_case["inputs"]["Psi"]), as_array(fixed_case["inputs"]["y"])


@pytest.fixture(scope="session")
def hyperpriors():
    return Hyperpriors(prior_precision=Gamma(2.0, 1.0), noise_scale=HalfNormal(1.0))


@pytest.fixture(scope="session")
def fixed_run(data, fixed_case):
    inputs = fixed_case["inputs"]
    return sample_last_layer(*data, prior_precision=inputs["alpha"], noise_scale=inputs["sigma2"] ** 0.5, seed=20240)


@pytest.fixture(scope="session")
def collapsed_run(data, hyperpriors):
    return sample_last_layer(*data, hyperpriors=hyperpriors, form="collapsed", seed=20241)


@pytest.fixture
def generator():
    return np.random.default_rng(7)
