"""Speed of the closed forms at fixed features: times, and ratios against a reference timed in the same run.

``make bench``, or ``python -m pytest tests/benchmarks/bench_exact.py -n0 -s --benchmark-enable --jaxtyping-packages=``
with ``OMP_NUM_THREADS=1`` (the shape checks of the test suite would be timed otherwise). Nothing is asserted: a shared
machine cannot promise a time. Ratios are of the shortest processor times of one thread.
"""

import time
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch

from corners.exact import Evidence, log_evidence, log_evidence_and_gradient, sequential_predictives

ROWS, WIDTH = 300, 50
PRECISION, NOISE_SCALE = 1.3, 0.3


def draw(rows: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Tanh features and targets that follow them."""
    generator = np.random.default_rng(0)
    features = np.tanh(generator.standard_normal((rows, width)))
    return features, features @ generator.standard_normal(width) + 0.3 * generator.standard_normal(rows)


def shortest(function: Callable[[], object], repeats: int) -> float:
    """Shortest processor time of several calls, in seconds."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)


def test_log_evidence_from_scratch(benchmark):
    """Target: 0.25 ms."""
    features, targets = draw(ROWS, WIDTH)
    benchmark(log_evidence, features, targets, PRECISION, NOISE_SCALE)


def test_log_evidence_once_factorised(benchmark):
    """Target: 20 microseconds."""
    evidence = Evidence(*draw(ROWS, WIDTH))
    evidence.log_evidence(PRECISION, NOISE_SCALE)
    benchmark(evidence.log_evidence, PRECISION, NOISE_SCALE)


def test_factorisation(benchmark):
    """What the first call on an ``Evidence`` pays once."""
    features, targets = draw(ROWS, WIDTH)
    benchmark(lambda: Evidence(features, targets).factorisation)


def gpytorch_step(features: np.ndarray, targets: np.ndarray) -> Callable[[], None]:
    """Value and backward pass of GPyTorch's exact marginal likelihood with a linear kernel, features included."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*torch.jit.script.* is deprecated", DeprecationWarning)
        import gpytorch
    inputs = torch.tensor(features, requires_grad=True)
    outputs = torch.tensor(targets)

    class LinearProcess(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(inputs, outputs, gpytorch.likelihoods.GaussianLikelihood().double())
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.LinearKernel().double()

        def forward(self, rows):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(rows), self.covar_module(rows))

    process = LinearProcess()
    process.likelihood.noise, process.covar_module.variance = NOISE_SCALE**2, 1.0 / PRECISION
    process.train()
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(process.likelihood, process)

    def step() -> None:
        process.zero_grad()
        inputs.grad = None
        marginal(process(inputs), outputs).backward()

    return step


def test_value_and_gradient_against_gpytorch(benchmark):
    """Value, hyperparameter and feature gradients on the same numbers, from scratch."""
    features, targets = draw(ROWS, WIDTH)
    peer = shortest(gpytorch_step(features, targets), 30)
    ours = shortest(lambda: log_evidence_and_gradient(features, targets, PRECISION, NOISE_SCALE), 200)
    benchmark(log_evidence_and_gradient, features, targets, PRECISION, NOISE_SCALE)
    print(f"\nvalue and gradient: {1e3 * ours:.3f} ms, gpytorch {1e3 * peer:.2f} ms, ratio {peer / ours:.0f}")


@pytest.mark.parametrize("width", [20, 50, 100, 200])
def test_all_sequential_predictives(benchmark, width):
    """Target at N = 100,000 and H = 100: ten times the product of the feature matrix with itself."""
    features, targets = draw(100_000, width)
    product = shortest(lambda: features.T @ features, 7)
    ours = shortest(lambda: sequential_predictives(features, targets, PRECISION, NOISE_SCALE), 3)
    some = slice(0, 2000)
    loop = 50 * shortest(
        lambda: sequential_predictives(features[some], targets[some], PRECISION, NOISE_SCALE, method="rank_one"), 2
    )
    steps = benchmark.pedantic(sequential_predictives, (features, targets, PRECISION, NOISE_SCALE), rounds=3)
    print(
        f"\nH={width}: {steps.method} {ours:.2f} s = {ours / product:.1f} products of {1e3 * product:.0f} ms; "
        f"plain rank-one loop {loop:.1f} s = {loop / product:.0f} products; disagreement {steps.disagreement:.0e}"
    )
