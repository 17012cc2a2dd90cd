"""Two features of fifteen points for every head; runs are shared within a module."""

import numpy as np
import pytest

SETTINGS = {"draws": 500, "tune": 300, "seed": 11}


@pytest.fixture(scope="session")
def features():
    return np.random.default_rng(31).normal(size=(15, 2))


@pytest.fixture(scope="session")
def latent(features):
    return features @ np.array([1.1, -0.6])
