"""What every head is held to: its two formulas against each other, its draws against a dense grid."""

import numpy as np

from inference.truth import stacks
from inference.truth.head_models import head_structure, head_twin
from tests.inference.truth.judging import assert_moments


def compiled(head, parameters):
    """The head's graph and its slope in f as one Numba function of (targets, latent, *parameters)."""
    pytensor, pt = stacks.load("pytensor"), stacks.load("pytensor.tensor")
    targets, latent = pt.dvector("targets"), pt.dvector("latent")
    symbols = {name: pt.dscalar(name) for name in parameters}
    value = head.graph(pt, targets, latent, symbols)
    inputs = [targets, latent, *symbols.values()]
    with stacks.expected_notices():
        function = pytensor.function(
            inputs, [value, pytensor.grad(value.sum(), latent)], on_unused_input="ignore", **stacks.compile_kwargs()
        )

        def call(targets, latent, values):
            return function(np.asarray(targets, float), np.asarray(latent, float), *map(np.float64, values))

        call(np.zeros(1), np.zeros(1), list(parameters.values()))
    return call


def assert_log_joint_is_dense(problem, log_data, log_prior, generator, count=20):
    """PyMC's log density in the sampler's coordinates equals the dense one, constants and Jacobians included."""
    compiled_twin = head_twin(head_structure(problem, "centred"))
    compiled_twin.set_data(problem)
    size = problem.features.shape[1] + compiled_twin.density.scalars
    positions = generator.normal(size=(count, size))
    scalars = compiled_twin.density.scalars
    at = np.concatenate([positions[:, scalars:], positions[:, :scalars]], axis=1)  # the grid puts the weights first
    expected = log_data(at).sum(axis=1) + log_prior(at)
    np.testing.assert_allclose(compiled_twin.density.batch(positions), expected, rtol=1e-10, atol=1e-10)


def assert_posterior(run, grid, *, elpd=0.1):
    """Weights, evidence and leave-one-out; each moment at 4.5 standard errors (3e-5 a run fail by chance)."""
    assert run.passed, str(run.gate)
    assert_moments(run, grid.mean[:2], grid.cov[:2, :2])
    evidence = run.evidence
    assert abs(evidence.log_evidence - grid.log_evidence) <= max(0.05, 4.5 * evidence.se)
    assert_leave_one_out(run.loo, grid.leave_one_out(), elpd)


def assert_leave_one_out(loo, exact, elpd=0.1):
    """Against exact refits, where the importance ratios have a finite variance: a k-hat below one half.

    Between one half and theory's 0.7 the estimate is usable, but no error can be stated for 2000 draws.
    """
    stated = loo.k_hat < 0.5
    assert stated.sum() >= 2 * len(exact) // 3
    difference = (loo.lpd - exact)[stated]
    assert np.abs(difference).max() <= 0.1 and abs(difference.sum()) <= elpd


def assert_coordinate(run, name, mean, sd):
    """A sampled parameter of the head in its coordinate, at 4.5 standard errors."""
    position = run.diagnostics.names.index(name)
    values = run.hyperparameters[name.removeprefix("log_")]
    moved = np.log(values) if name.startswith("log_") else values
    z_mean = (moved.mean() - mean) / sd * np.sqrt(run.diagnostics.ess_mean[position])
    z_sd = (moved.std(ddof=1) / sd - 1.0) * np.sqrt(2.0 * run.diagnostics.ess_sd[position])
    assert max(abs(z_mean), abs(z_sd)) <= 4.5, f"{name}: mean off by {z_mean}, sd by {z_sd} standard errors"
