"""Speed of the engines, as ratios within one run; ``python -m tests.benchmarks.bench_engine``.

Prints the time of twenty seeds in one tensor program against twenty runs one after another, of one training step of the
sequential corner against gpytorch's exact marginal likelihood with its gradient.
"""

import time
from collections.abc import Callable

import gpytorch
import numpy as np
import torch

import corners
from corners.data.split import Split
from corners.engine.corner import Corner
from corners.study import make_method

ROWS, FEATURES, REPEATS = 300, 50, 30


def boston_like(seed: int) -> Split:
    """A split with boston's shape (506 x 13) of random numbers, where the table itself is absent."""
    generator = np.random.default_rng(seed)
    inputs = generator.standard_normal((506, 13))
    targets = np.tanh(inputs[:, 0]) + inputs[:, 1] * inputs[:, 2] + 0.3 * generator.standard_normal(506)
    return corners.random_split(corners.Dataset(inputs, targets, name="boston-like"), seed)


def splits(seeds: range) -> tuple[str, list[Split]]:
    """The real table where it is found, else one of its shape."""
    try:
        table = corners.load("boston", source="folder")
    except Exception as error:  # whatever the reason, the printed line says which data were timed
        return f"random numbers of boston's shape ({type(error).__name__})", [boston_like(seed) for seed in seeds]
    return "boston", [corners.random_split(table, seed) for seed in seeds]


def best_of(function: Callable[[], object], repeats: int = REPEATS) -> float:
    """Shortest of several wall times in seconds: the least disturbed one on a shared machine."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def batch_of_seeds() -> None:
    """Twenty seeds of scroll_dense at once and one after another."""
    seeds = range(5, 25)
    name, cut = splits(seeds)
    method = make_method("scroll_dense")
    together = best_of(lambda: method.fit(cut, list(seeds)), 1)
    alone = best_of(lambda: [method.fit([each], [seed]) for each, seed in zip(cut, seeds, strict=True)], 1)
    print(
        f"scroll_dense on {name}, 20 seeds: together {together:.2f} s, alone {alone:.2f} s, "
        f"ratio {together / alone:.2f}"
    )


class _LinearProcess(gpytorch.models.ExactGP):
    """The same model as a Gaussian process with linear kernel."""

    def __init__(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        super().__init__(inputs, targets, gpytorch.likelihoods.GaussianLikelihood().double())
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.LinearKernel()
        self.double()

    def forward(self, inputs: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(inputs), self.covar_module(inputs))


def training_step() -> None:
    """Value and gradient of the negative log evidence, ours and gpytorch's, on the same numbers."""
    generator = torch.Generator().manual_seed(0)
    features = torch.tanh(torch.randn(ROWS, FEATURES, generator=generator, dtype=torch.float64)).requires_grad_()
    targets = torch.randn(ROWS, generator=generator, dtype=torch.float64)
    corner = Corner("sequential", "closed", "dense", backbone=corners.Identity())
    params = corner.init(features.detach()[None], targets[None], [generator])
    params = {name: value.requires_grad_(name not in corner.frozen) for name, value in params.items()}

    def ours() -> None:
        batch = features[None]
        corner.energy(params, batch, targets[None], corner.route(params, batch, targets[None])).total.sum().backward()

    model = _LinearProcess(features.detach(), targets)
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    model.train()

    def theirs() -> None:
        model.set_train_data(features, targets, strict=False)
        (-marginal(model(features), targets)).backward()

    first, second = best_of(ours), best_of(theirs)
    print(
        f"value and gradient, N={ROWS}, H={FEATURES}: ours {first * 1e3:.2f} ms, gpytorch {second * 1e3:.2f} ms, "
        f"ratio {first / second:.3f}"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    training_step()
    batch_of_seeds()
