"""Speed of the heads' data terms against the Gaussian one, in one run; ``python -m tests.benchmarks.bench_heads``.

Prints the time of ``log_partition`` with its gradients at 10,000 data points, and the ratios to hold: Poisson and
Student-t at most 40, probit at most 3.
"""

import time
from collections.abc import Callable

import torch

from corners.beliefs import Marginals
from corners.likelihoods import LIKELIHOODS
from corners.likelihoods._base import Likelihood

ROWS, ROUNDS, GAUSSIAN_A_ROUND = 10_000, 40, 5
CEILINGS = {"poisson": 40.0, "student_t": 40.0, "probit": 3.0}


def data_term(likelihood: Likelihood) -> Callable[[], None]:
    """One value with its gradients in mean, variance and learned parameters."""
    generator = torch.Generator().manual_seed(0)

    def normal() -> torch.Tensor:
        return torch.randn(ROWS, generator=generator, dtype=torch.float64)

    targets = {
        "regression": normal(),
        "classification": (normal() > 0.0).double(),
        "count": torch.poisson((0.5 * normal() + 1.0).exp(), generator=generator),
    }[likelihood.task]
    mean, variance = normal().requires_grad_(), normal().square().clamp(max=6.0).requires_grad_()
    start = {name: value[0].clone() for name, value in likelihood.init(targets[None]).items()}
    params = {name: value.requires_grad_(name not in likelihood.frozen) for name, value in start.items()}

    def step() -> None:
        likelihood.log_partition(params, targets, Marginals(mean, variance)).sum().backward()

    return step


def ratios() -> dict[str, tuple[float, float]]:
    """Seconds and ratio by head: medians of interleaved rounds, so that a busy machine slows all of them."""
    known = set(LIKELIHOODS.names())
    names = [
        name
        for name in ("gaussian", "probit", "logistic", "poisson", "negative_binomial", "student_t")
        if name in known
    ]
    terms = {name: data_term(LIKELIHOODS.get(name)()) for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name, term in terms.items():
            for _ in range(GAUSSIAN_A_ROUND if name == "gaussian" else 1):
                started = time.process_time()
                term()
                times[name].append(time.process_time() - started)
    medians = {name: sorted(each)[len(each) // 2] for name, each in times.items()}
    return {name: (median, median / medians["gaussian"]) for name, median in medians.items()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    for head, (seconds, ratio) in ratios().items():
        ceiling = f", at most {CEILINGS[head]:g}" if head in CEILINGS else ""
        print(f"{head}: {seconds * 1e3:.2f} ms, {ratio:.1f} times the Gaussian{ceiling}")
