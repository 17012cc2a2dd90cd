import numpy as np
import pytest

from inference.errors import SpecError
from inference.truth import stacks
from inference.truth.density import CompiledDensity


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setattr(stacks, "compile_kwargs", lambda: {"mode": "FAST_COMPILE"})


def test_a_scalar_after_a_vector_is_refused():
    pm = stacks.pymc()
    with pm.Model() as model:
        pm.Normal("vector", 0.0, 1.0, shape=2)
        pm.Normal("scalar", 0.0, 1.0)
    with pytest.raises(SpecError, match="declares its scalar variables before"):
        CompiledDensity(model)


def test_batch_is_row_by_row_and_holds_jacobians(generator):
    pm = stacks.pymc()
    with pm.Model() as model:
        # A Python float is a float32 constant in PyTensor, and so would its logarithm be.
        pm.Exponential("rate", np.float64(2.0))
        pm.Normal("vector", 0.0, np.float64(3.0), shape=2)
    density = CompiledDensity(model)
    positions = generator.normal(size=(4, 3))
    log_rate, vector = positions[:, 0], positions[:, 1:]
    exponential = np.log(2.0) - 2.0 * np.exp(log_rate) + log_rate
    normal = (-0.5 * (vector / 3.0) ** 2 - np.log(3.0) - 0.5 * np.log(2.0 * np.pi)).sum(axis=1)
    np.testing.assert_allclose(density.batch(positions), exponential + normal, rtol=1e-12)
