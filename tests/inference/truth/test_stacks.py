"""Case 20: the same tests pass on PyMC 5 + ArviZ 0.23 and on PyMC 6 + ArviZ 1."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from inference.errors import UnavailableError
from inference.truth import last_layer_model, stacks, to_arviz


def test_effective_sizes_of_an_autoregression(generator):
    """AR(1) with coefficient r: the ESS of the mean is S (1-r)/(1+r), that of the variance S (1-r^2)/(1+r^2)."""
    noise, r = generator.normal(size=(4, 10_000, 2)), 0.6
    draws = np.zeros_like(noise)
    for t in range(1, noise.shape[1]):
        draws[:, t] = r * draws[:, t - 1] + noise[:, t]
    total = draws.shape[0] * draws.shape[1]
    np.testing.assert_allclose(stacks.ess(draws, "mean"), total * (1 - r) / (1 + r), rtol=0.15)
    np.testing.assert_allclose(stacks.ess(draws, "bulk"), total * (1 - r) / (1 + r), rtol=0.15)
    np.testing.assert_allclose(stacks.ess(draws, "sd"), total * (1 - r**2) / (1 + r**2), rtol=0.15)
    assert np.all(stacks.ess(draws, "tail") < total)
    assert np.all(np.abs(stacks.rhat(draws) - 1.0) < 0.005)


def test_more_chains_than_draws_are_not_turned_round(generator):
    assert stacks.ess(generator.normal(size=(8, 5, 2)), "mean").shape == (2,)


def test_energy_of_independent_draws(generator):
    found = stacks.bfmi(generator.normal(size=(3, 20_000)))
    np.testing.assert_allclose(found, np.full(3, 2.0), rtol=0.05)


def test_smoothed_weights_sum_to_one_and_find_the_tail(generator):
    """Ratios of a Pareto with tail index 2 have k = 0.5; a bounded ratio has no tail."""
    pareto = -0.5 * np.log(generator.uniform(size=(1, 20_000)))
    bounded = np.log1p(generator.uniform(size=(1, 20_000)))
    weights, k_hat = stacks.pareto_smooth(np.concatenate([pareto, bounded]), 1.0)
    np.testing.assert_allclose(np.exp(weights).sum(axis=1), 1.0, rtol=1e-10)
    assert abs(k_hat[0] - 0.5) < 0.15 and k_hat[1] < 0.1


def test_arviz_reads_the_reference(fixed_run):
    """``arviz.loo`` needs the pointwise log likelihood (case 21); its total is ours."""
    arviz = stacks.load("arviz")
    found = arviz.loo(to_arviz(fixed_run), pointwise=True)
    total = found.elpd_loo if hasattr(found, "elpd_loo") else found.elpd
    np.testing.assert_allclose(float(total), fixed_run.loo.elpd, atol=1e-3)
    np.testing.assert_allclose(np.asarray(found.pareto_k), fixed_run.loo.k_hat, atol=0.02)


def test_pointwise_log_likelihood_is_pymcs(collapsed_run, data, hyperpriors):
    few = replace(
        collapsed_run,
        weights=collapsed_run.weights[:, :5],
        hyperparameters={name: values[:, :5] for name, values in collapsed_run.hyperparameters.items()},
        log_likelihood=collapsed_run.log_likelihood.reshape(4, 1000, 25)[:, :5].reshape(20, 25),
        sample_stats={},
    )
    with stacks.expected_notices():
        found = stacks.pymc().compute_log_likelihood(
            to_arviz(few),
            model=last_layer_model(*data, hyperpriors=hyperpriors),
            extend_inferencedata=False,
            progressbar=False,
            compile_kwargs={"mode": "FAST_COMPILE"},
        )
    np.testing.assert_allclose(found["targets"].values.reshape(20, 25), few.log_likelihood, rtol=1e-10)


def test_what_is_missing_is_named_with_its_remedy():
    with pytest.raises(UnavailableError, match=r"needs no_such_library, which cannot be imported .* `pip install pymc"):
        stacks.load("no_such_library")


SCRIPT = """
import sys, time
import numpy as np
import pytensor
assert not pytensor.config.cxx, pytensor.config.cxx
from inference.truth import sample_last_layer
rng = np.random.default_rng(0)
run = sample_last_layer(rng.normal(size=(30, 3)), rng.normal(size=30), prior_precision=1.0, noise_scale=1.0, seed=1)
run.require()
steps = run.provenance.leapfrog_steps_per_draw * 4 * 1300
print("seconds a step", run.provenance.seconds["sampling"] / steps)
"""


def test_full_speed_where_no_compiler_is_visible(tmp_path):
    """Without Numba a gradient takes milliseconds; with it a whole leapfrog step takes tens of microseconds."""
    environment = {**os.environ, "PATH": str(tmp_path), "PYTENSOR_FLAGS": "cxx="}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 1e-3
